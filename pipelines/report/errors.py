"""Errors of the report: what cannot be reported honestly is refused."""


class ReportError(ValueError):
    """An input of the report contradicts itself or lacks something the report must state."""
