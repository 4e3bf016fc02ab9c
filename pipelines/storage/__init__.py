"""The artefact store, on a disk or in a bucket, with leases, budgets and locks."""
