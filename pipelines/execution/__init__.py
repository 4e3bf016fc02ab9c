"""Running a graph: serial or on a Dask cluster, with retries, timeouts and lost workers."""
