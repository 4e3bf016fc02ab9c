"""What is traded and what trading costs: instrument, costs, fills."""

import math
from dataclasses import dataclass

FILLS = ("next_open",)


def _require(value: float, field: str, lowest: float, *, strictly: bool = False) -> None:
    if not math.isfinite(value) or value < lowest or (strictly and value == lowest):
        raise ValueError(f"{field}={value!r}: must be finite and {'>' if strictly else '>='} {lowest}")


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

    ``fill="next_open"``: a target decided at a bar's close is filled at the open of the next bar that can execute.
    A target in [-1, 1] means target × ``contracts``, rounded toward zero to whole contracts.
    """

    fill: str = "next_open"
    contracts: int = 1

    def __post_init__(self) -> None:
        """Raises ``ValueError`` for an unknown fill (listing the known ones) or fewer than one contract."""
        if self.fill not in FILLS:
            raise ValueError(f"Execution.fill={self.fill!r} is unknown: use one of {', '.join(map(repr, FILLS))}")
        if self.contracts < 1 or self.contracts != int(self.contracts):
            raise ValueError(f"Execution.contracts={self.contracts!r}: must be a whole number >= 1")
