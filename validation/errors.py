"""Errors of the validation layers: small, picklable, one message each."""


class ValidationError(ValueError):
    """Data broke a rule. The message names the thing, the value, the limit and the remedy."""


class SchemaError(ValidationError):
    """A table at a boundary does not have the columns, types or values its schema demands."""


class GateError(ValidationError):
    """Layer 5: values that are missing or out of bounds would have reached a model or the store."""


class TargetGateError(GateError):
    """Targets contradict the bars they were made from, or each other."""
