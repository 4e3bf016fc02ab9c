"""Sizes: how many contracts a target means. What is whole but for rounding is whole."""

from kernels.portfolio import Terms, money, whole_contracts
from kernels.values import ROUNDING, Number, Truth, absolute, known, maximum, trunc, where


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
    if whole:
        size = trunc(target * investable / (money(price, terms) * (1.0 - ROUNDING))) + 0.0
    else:
        size = target * investable / money(price, terms)
    return where(price > 0.0, size, 0.0)


def resized(target: Number, sized_for: Number, size: Number, position: Number) -> Number:
    """The size where the target is another one than the position was sized for, else the position as it is."""
    return where(target != sized_for, size, position)


def rebalanced(size: Number, position: Number) -> Number:
    """The size, but the position as it is where the two differ by rounding alone."""
    changed: Truth = absolute(size - position) > absolute(position) * ROUNDING
    return where(changed, size, position)
