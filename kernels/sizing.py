"""Sizes: how many contracts a target means."""

from kernels.portfolio import Terms, money, whole_contracts
from kernels.values import Number, Truth, known, maximum, trunc, where


def whole(target: Number, terms: Terms) -> Number:
    """Target × contracts in whole contracts, toward zero."""
    return whole_contracts(target, terms.contracts)


def units(target: Number, terms: Terms) -> Number:
    """Target × contracts, fractions included."""
    return target if known(terms.contracts, 1) else target * terms.contracts


def of_equity(target: Number, equity: Number, price: Number, terms: Terms, *, whole: bool) -> Number:
    """The contracts whose notional at ``price`` is that fraction of the investable equity (0 of none); 0 where the
    price is not above 0, for no number of contracts has a notional then.
    """
    investable = maximum(equity, 0.0)
    if not known(terms.investable, 1.0):
        investable = investable * terms.investable
    size = target * investable / money(price, terms)
    counted = trunc(size) + 0.0 if whole else size
    return where(price > 0.0, counted, 0.0)


def resized(target: Number, sized_for: Number, size: Number, position: Number, *, always: bool) -> Number:
    """The size where the target is another one than the position was sized for, else the position as it is."""
    changed: Truth = True if always else target != sized_for
    return where(changed, size, position)
