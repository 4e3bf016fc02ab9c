"""Content keys: which code, configuration and content a task stands for."""
