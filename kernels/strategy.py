"""A strategy: a target position as an expression, and what its parameters must fulfil."""

from dataclasses import dataclass

from kernels.expressions import nodes, parameters
from kernels.opcodes import BOOL, F64
from kernels.values import ExpressionError, Value, constant


@dataclass(frozen=True, eq=False)
class Strategy:
    """``target``: fraction of the contracts wanted, in [-1, 1] (clipped), decided at each bar's close; NaN holds.

    ``constraint``: a condition over parameters alone; combinations that break it are never generated.
    ``stop_loss`` and ``take_profit``: fractions of the entry price (0.02 is 2 %), numbers or expressions over parameters
    alone; 0 and below arm nothing. After one of them the account is flat until the target differs from the one at
    the stop, or is given explicitly after a hold.
    """

    name: str
    target: Value
    constraint: Value | None = None
    stop_loss: Value | None = None
    take_profit: Value | None = None

    def __post_init__(self) -> None:
        """Raises ``ExpressionError`` for a target that is no number or a constraint that reads anything but
        parameters.
        """
        object.__setattr__(self, "target", constant(self.target))
        if self.target.type != F64:
            raise ExpressionError(
                f"strategy {self.name}: the target {self.target!r} is a condition; write where(condition, 1.0, 0.0)"
            )
        for field in ("stop_loss", "take_profit"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, constant(getattr(self, field)))
                self._require_parameters_alone(field, F64, "number")
        if self.constraint is not None:
            self._require_parameters_alone("constraint", BOOL, "condition")

    def _require_parameters_alone(self, field: str, type_: str, kind: str) -> None:
        value = getattr(self, field)
        label = field.replace("_", " ")
        if not isinstance(value, Value) or value.type != type_:
            raise ExpressionError(f"strategy {self.name}: the {label} {value!r} is no {kind}")
        for node in nodes(value):
            if not node.operands and node.op not in ("param", "constant"):
                raise ExpressionError(
                    f"strategy {self.name}: the {label} reads {node!r}; only parameters and numbers may stand in it"
                )

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the swept parameters, in the order of first appearance in target, constraint, stop and profit."""
        parts = (self.target, self.constraint, self.stop_loss, self.take_profit)
        return parameters(*(part for part in parts if part is not None))
