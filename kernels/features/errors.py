"""Errors of features: small, picklable, one message each."""


class FeatureError(ValueError):
    """A feature that does not exist, cannot be loaded, or does not give one number a bar."""


class LookAheadError(FeatureError):
    """A feature whose value at a bar changes when later bars are taken away."""
