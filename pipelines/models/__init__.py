"""The promoted model and its position for the newest bar."""
