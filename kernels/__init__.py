"""Features, strategies traced to programs, and the executors that run them."""
