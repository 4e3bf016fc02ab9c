"""Folds, experience, learning and the statistics that judge the result."""
