"""What is traded and what trading costs: instrument, costs, fills, sizes."""

import math
import numbers
from dataclasses import dataclass

FILLS = ("next_open", "next_close", "close")
SIZINGS = ("contracts", "units", "equity")


def _require(value: float, field: str, lowest: float, *, strictly: bool = False) -> None:
    if not isinstance(value, numbers.Real):
        raise ValueError(f"{field}={value!r}: must be a number")
    if not math.isfinite(value) or value < lowest or (strictly and value == lowest):
        raise ValueError(f"{field}={value!r}: must be finite and {'>' if strictly else '>='} {lowest}")


def _whole(value: object, least: int) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value) and float(value).is_integer() and float(value) >= least


@dataclass(frozen=True)
class Instrument:
    """A futures contract: ``tick_size`` in points, ``multiplier`` in money a point, ``fee_per_contract`` in money a
    side.
    """

    symbol: str
    tick_size: float
    multiplier: float
    currency: str = "USD"
    fee_per_contract: float = 0.0

    def __post_init__(self) -> None:
        """Raises ``ValueError`` naming the field, its value and its limit."""
        _require(self.tick_size, "Instrument.tick_size", 0.0, strictly=True)
        _require(self.multiplier, "Instrument.multiplier", 0.0, strictly=True)
        _require(self.fee_per_contract, "Instrument.fee_per_contract", 0.0)


@dataclass(frozen=True)
class Costs:
    """Costs a side, all of them added: basis points of the traded notional, money and ticks a contract.

    ``fee_per_contract`` is added to the instrument's own fee.
    """

    fee_bps: float = 0.0
    fee_per_contract: float = 0.0
    slippage_bps: float = 0.0
    slippage_ticks: float = 0.0

    def __post_init__(self) -> None:
        """Raises ``ValueError`` naming the field, its value and its limit."""
        for field in ("fee_bps", "fee_per_contract", "slippage_bps", "slippage_ticks"):
            _require(getattr(self, field), f"Costs.{field}", 0.0)


@dataclass(frozen=True)
class Execution:
    """How a target becomes a position.

    ``fill``: a target decided at a bar's close is filled at the next bar's open ("next_open"), at the next bar's close
    ("next_close"), or, only when asked by name, at the very close it was decided at ("close"). A bar that cannot execute
    lets it wait. ``signal_delay`` waits so many bars more: "next_open" with 1 fills at the open of t + 2.

    ``sizing``: "contracts" is target × ``contracts`` rounded toward zero to whole contracts; "units" the same, not
    rounded; "equity" is target × (1 - ``cash_reserve``) × equity at the fill / (price × multiplier), whole contracts of
    an instrument, fractions without one. None is "contracts" with an instrument and "equity" without. A size is
    computed when the target changes and then kept; ``rebalance`` computes it anew at every bar.
    """

    fill: str = "next_open"
    contracts: int = 1
    signal_delay: int = 0
    sizing: str | None = None
    cash_reserve: float = 0.0
    rebalance: bool = False

    def __post_init__(self) -> None:
        """Raises ``ValueError`` naming the field, its value, its limit and the remedy."""
        if self.fill not in FILLS:
            raise ValueError(f"Execution.fill={self.fill!r} is unknown: use one of {', '.join(map(repr, FILLS))}")
        if not _whole(self.contracts, 1):
            raise ValueError(f"Execution.contracts={self.contracts!r}: must be a whole number >= 1")
        if not _whole(self.signal_delay, 0):
            raise ValueError(f"Execution.signal_delay={self.signal_delay!r}: must be a whole number of bars >= 0")
        if self.sizing is not None and self.sizing not in SIZINGS:
            raise ValueError(f"Execution.sizing={self.sizing!r} is unknown: use one of {', '.join(map(repr, SIZINGS))}")
        if not 0.0 <= self.cash_reserve < 1.0:
            raise ValueError(f"Execution.cash_reserve={self.cash_reserve!r}: must be a fraction in [0, 1)")
        if self.sizing in ("contracts", "units") and (self.cash_reserve or self.rebalance):
            raise ValueError(
                f"Execution.sizing={self.sizing!r} is a fixed size: cash_reserve and rebalance go with sizing='equity'"
            )

    def sizing_for(self, instrument: Instrument | None) -> str:
        """The sizing in force with that instrument; raises ``ValueError`` for whole contracts of nothing."""
        if self.sizing == "contracts" and instrument is None:
            raise ValueError("Execution.sizing='contracts' needs an instrument: use sizing='units', or give one")
        sizing = self.sizing or ("equity" if instrument is None else "contracts")
        if sizing == "contracts" and (self.cash_reserve or self.rebalance):
            raise ValueError("Execution: cash_reserve and rebalance go with sizing='equity'; set it")
        return sizing

    @property
    def is_plain(self) -> bool:
        """Whether this is ``kernels.portfolio.portfolio_step`` alone: whole contracts at the next open, no delay."""
        fixed = self.sizing in (None, "contracts") and not (self.cash_reserve or self.rebalance)
        return self.fill == "next_open" and self.signal_delay == 0 and fixed
