"""The errors that training raises."""


class FoldError(ValueError):
    """A fold that cannot be cut from these bars, or that does not exist."""


class TrainingError(ValueError):
    """Inputs that no model can be trained on or evaluated with."""
