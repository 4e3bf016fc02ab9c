"""A strategy: a target position as an expression, and what its parameters must fulfil."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace as copied
from typing import Any

from kernels.choice_nodes import Choice, check_axes, choices_in, substituted
from kernels.expressions import nodes, parameters
from kernels.opcodes import BOOL, F64
from kernels.values import ExpressionError, Value, constant

FIELDS = ("target", "constraint", "stop_loss", "take_profit")
"""The expressions of a strategy."""


@dataclass(frozen=True, eq=False)
class Strategy:
    """``target``: fraction of the contracts wanted, in [-1, 1] (clipped), decided at each bar's close; NaN holds.

    ``constraint``: a condition over parameters alone; combinations that break it are never generated.
    ``stop_loss`` and ``take_profit``: fractions of the entry price (0.02 is 2 %), numbers or expressions over parameters
    alone; 0 and below arm nothing. After one of them the account is flat until the target differs from the one at
    the stop, or is given explicitly after a hold. ``choice(axis, options)`` may stand in any of them: an axis of a sweep.
    """

    name: str
    target: Value
    constraint: Value | None = None
    stop_loss: Value | None = None
    take_profit: Value | None = None

    def __post_init__(self) -> None:
        """Raises ``ExpressionError`` for a target that is no number, a constraint that reads anything but parameters, or an
        axis of choices that stands for two things.
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
        try:
            check_axes(*self._expressions.values())
        except ExpressionError as error:
            raise ExpressionError(f"strategy {self.name}: {error}") from None

    def __str__(self) -> str:
        """The expressions a line each, then the options of each choice."""
        choices = choices_in(*self._expressions.values())
        named: dict[str, str | Value] = {
            axis: Value("choice", (), node.type, Choice(axis, ())) for axis, node in choices.items()
        }
        fields = zip(self._expressions, substituted(list(self._expressions.values()), named), strict=True)
        lines = [self.name, *(f"  {field.replace('_', ' ')}: {value!r}" for field, value in fields)]
        for axis, node in choices.items():
            options = zip(node.detail.names, substituted(node.operands, named), strict=True)
            lines += [f"  {named[axis]!r}:", *(f"    {name}: {option!r}" for name, option in options)]
        return "\n".join(lines)

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
        """Names of the swept parameters, those of all options of choices included, in the order of first appearance in
        target, constraint, stop and profit.
        """
        return parameters(*self._expressions.values())

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """By axis the names of the options of each choice, in the order of first appearance; empty without choices."""
        return {axis: node.detail.names for axis, node in choices_in(*self._expressions.values()).items()}

    def chosen(self, names: Mapping[str, str]) -> "Strategy":
        """The strategy with one option of each of these axes in the place of the choice: ``{"signal": "rsi"}``.

        Raises ``ExpressionError`` for an axis or an option that it does not have.
        """
        choices = self.choices
        for axis, name in names.items():
            if axis not in choices:
                raise ExpressionError(f"strategy {self.name} has no choice {axis!r}{nearest(axis, choices)}")
            if name not in choices[axis]:
                raise ExpressionError(
                    f"strategy {self.name}: {axis!r} has no option {name!r}{nearest(name, choices[axis])}"
                )
        return replaced(self, names)

    @property
    def _expressions(self) -> dict[str, Value]:
        given = {field: getattr(self, field) for field in FIELDS}
        return {field: value for field, value in given.items() if value is not None}


def replaced(strategy: Strategy, chosen: Mapping[str, str | Value]) -> Strategy:
    """The strategy with the option of that name, or that expression, in the place of each choice of these axes."""
    given: dict[str, Value] = {f: getattr(strategy, f) for f in FIELDS if getattr(strategy, f) is not None}
    changed: dict[str, Any] = dict(zip(given, substituted(list(given.values()), chosen), strict=True))
    return copied(strategy, **changed)


def nearest(name: object, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """What a wrong name was meant to be, and what there is, as the end of a message."""
    near = difflib.get_close_matches(str(name), list(known), n=1)
    meant = f", did you mean {near[0]!r}?" if near else ""
    return f"{meant} (it has: {', '.join(known) or 'none'})"
