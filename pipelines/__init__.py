"""The dataflow: configuration, graph, store, runners and command line; the only package that knows Dask."""
