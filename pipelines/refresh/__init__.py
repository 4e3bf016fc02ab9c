"""The scheduled refresh: deliveries, downloads, the published set."""
