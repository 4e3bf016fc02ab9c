"""An expression as it was some bars before: lags are handed down to what has a past of its own."""

from kernels.opcodes import OPCODES
from kernels.values import ExpressionError, Value, apply


def lagged(value: Value, bars: int, done: dict[int, Value] | None = None) -> Value:
    """The expression ``bars`` >= 1 bars before; raises ``ExpressionError`` for a state, of which one bar alone is kept.

    ``done``: what was lagged already, by ``id`` of the node.
    """
    done = {} if done is None else done
    if id(value) in done:
        return done[id(value)]
    if value.op in ("constant", "param"):
        found = value
    elif value.op == "state":
        raise ExpressionError("prev(hold()): only the target of the bar before is kept; write hold() alone")
    elif value.op == "carried":
        raise ExpressionError("prev of a scan's state: only the state of the bar before is kept; carry another state")
    elif value.op == "lag":
        found = Value("lag", value.operands, value.type, value.detail + bars)
    elif value.op in OPCODES:  # an operation at the bar before is the operation over the operands at the bar before
        found = apply(value.op, *(lagged(operand, bars, done) for operand in value.operands))
    else:
        for option in value.operands if value.op == "choice" else ():
            lagged(option, bars, done)  # raises where one of them has no past
        found = Value("lag", (value,), value.type, bars)
    done[id(value)] = found
    return found
