"""Node functions that join two packages: plain functions, no Dask, no configuration objects of the pipeline."""
