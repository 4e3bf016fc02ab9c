"""A strategy: a target position as an expression, and what its parameters must fulfil."""

from dataclasses import dataclass

from kernels.expressions import nodes, parameters
from kernels.opcodes import BOOL, F64
from kernels.values import ExpressionError, Value, constant


@dataclass(frozen=True, eq=False)
class Strategy:
    """``target``: fraction of the contracts wanted, in [-1, 1] (clipped), decided at each bar's close; NaN holds.

    ``constraint``: a condition over parameters alone; combinations that break it are never generated.
    """

    name: str
    target: Value
    constraint: Value | None = None

    def __post_init__(self) -> None:
        """Raises ``ExpressionError`` for a target that is no number or a constraint that reads anything but
        parameters.
        """
        object.__setattr__(self, "target", constant(self.target))
        if self.target.type != F64:
            raise ExpressionError(
                f"strategy {self.name}: the target {self.target!r} is a condition; write where(condition, 1.0, 0.0)"
            )
        if self.constraint is None:
            return
        if not isinstance(self.constraint, Value) or self.constraint.type != BOOL:
            raise ExpressionError(f"strategy {self.name}: the constraint {self.constraint!r} is no condition")
        for node in nodes(self.constraint):
            if not node.operands and node.op not in ("param", "constant"):
                raise ExpressionError(
                    f"strategy {self.name}: the constraint reads {node!r}; only parameters and numbers may stand in it"
                )

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the swept parameters, in the order of first appearance in target, then constraint."""
        return parameters(*([self.target] if self.constraint is None else [self.target, self.constraint]))
