"""What programs read beside the columns of the user's table: an operation of its own, which ``col()`` cannot reach.

A column is named by the user, an input by ``Input``, and the two are different leaves of an expression: whatever a
column is called, it never stands for an input, nor an input for it.
"""

from enum import Enum

from kernels.opcodes import BOOL, F64
from kernels.values import Value

INPUT = "input"
"""The operation of a leaf that holds an ``Input``."""

DATA = ("col", INPUT)
"""The operations of leaves that hold a value a bar."""


class Input(Enum):
    """Everything that programs read of bars and settings; the value is the text it prints as."""

    OPEN = "bar.open"
    CLOSE = "bar.close"
    HIGH = "bar.high"
    LOW = "bar.low"
    OLD_PRICE = "bar.old_price"
    MARK = "bar.mark"
    LEVEL = "bar.buy_and_hold"
    BUY_AND_HOLD = "bar.buy_and_hold_return"
    TIME = "bar.time"
    ROLLED = "bar.rolled"
    MASKED = "bar.masked"
    PERIOD_END = "bar.period_end"
    CAPITAL = "account.capital"
    CONTRACTS = "terms.contracts"
    MULTIPLIER = "terms.multiplier"
    FEE_PER_CONTRACT = "terms.fee_per_contract"
    SLIPPAGE_PER_CONTRACT = "terms.slippage_per_contract"
    FEE_RATE = "terms.fee_rate"
    SLIPPAGE_RATE = "terms.slippage_rate"
    INVESTABLE = "terms.investable"
    TICK = "terms.tick"
    TICK_PARTS = "terms.tick_parts"
    ROUNDING = "terms.rounding"

    def __repr__(self) -> str:
        return self.value

    @property
    def is_event(self) -> bool:
        """Whether it is a truth value that is rarely true."""
        return self in (Input.ROLLED, Input.MASKED, Input.PERIOD_END)

    @property
    def is_setting(self) -> bool:
        """Whether it holds one number at all bars: executors may read it once."""
        return self.value.startswith(("account.", "terms."))

    @classmethod
    def of_term(cls, name: str) -> "Input":
        """The input that holds a field of ``kernels.portfolio.Terms``."""
        return cls(f"terms.{name}")


def read(source: Input) -> Value:
    """The input as a leaf of an expression: a bool for an event, else float64 (of ``TIME`` int64 nanoseconds)."""
    return Value(INPUT, (), BOOL if source.is_event else F64, source)
