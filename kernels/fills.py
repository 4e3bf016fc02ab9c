"""Fills: what changes hands at one moment of a bar, at which price and at what cost.

A bar is a sequence of at most three fills. At the next open: the open (a roll included), then a stop. At a close: a
roll, a stop, then the close.
"""

from typing import NamedTuple

from kernels.portfolio import (
    BarInputs,
    PortfolioState,
    Terms,
    exit_price,
    money,
    traded_contracts,
    traded_notional,
    trades,
    trading_costs,
)
from kernels.values import Number, Truth, known, logical_and, where


class Fill(NamedTuple):
    """From ``before.position`` to ``desired`` at ``bar.open``, on a roll the old position at ``bar.old_price``.

    ``bar`` is the moment as a bar of its own: its open is the fill's price, ``executable`` whether the moment exists.
    """

    before: PortfolioState
    desired: Number
    bar: BarInputs

    @property
    def happens(self) -> Truth:
        """Whether anything changes hands."""
        return trades(self.before.position, self.desired, self.bar)

    @property
    def closes(self) -> Truth:
        """Whether a round trip ends: from a position to flat or to the other side."""
        position = self.before.position
        if known(self.desired, 0.0):
            return self.happens
        return logical_and(self.happens, (position != 0.0) & (position * self.desired <= 0.0))

    @property
    def opens(self) -> Truth:
        """Whether a round trip begins: from flat or from the other side to a position."""
        return logical_and(self.happens, (self.desired != 0.0) & (self.before.position * self.desired <= 0.0))

    @property
    def contracts(self) -> Number:
        """Contracts that change hands, where anything does."""
        return traded_contracts(self.before.position, self.desired, self.bar.rolled)

    def notional(self, terms: Terms) -> Number:
        """Money value of what changes hands, where anything does."""
        return traded_notional(self.before.position, self.desired, self.bar, terms)

    def profit(self, terms: Terms) -> Number:
        """Gross profit since the start with the position held before valued at this fill."""
        if self.bar.open is self.before.mark:
            return self.before.profit
        return self.before.profit + money(self.before.position * (exit_price(self.bar) - self.before.mark), terms)


def settled(fill: Fill, terms: Terms) -> PortfolioState:
    """The state right after a fill at the price that ``fill.before`` is marked to."""
    paid = trading_costs(fill.contracts, fill.notional(terms), terms)
    costs = fill.before.costs
    return PortfolioState(
        position=where(fill.bar.executable, fill.desired, fill.before.position),
        mark=fill.before.mark,
        profit=fill.before.profit,
        costs=costs if known(paid, 0.0) else where(fill.happens, costs + paid, costs),
    )


def moment(price: Number, happens: Truth) -> BarInputs:
    """A moment inside a bar at that price."""
    return BarInputs(price, price, price, False, happens)
