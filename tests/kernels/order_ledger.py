"""An account kept as cash, order by order, with all fills, sizes, delays and stops: an oracle that shares no code with
the kernels.
"""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd


class OrderLedger:
    """Walks the bars once; every order is booked in cash at its own price."""

    def __init__(self, bars, decided, given, *, fill, delay=0, sizing="contracts", contracts=1, reserve=0.0,
                 rebalance=False, whole=True, multiplier=1.0, fee=0.0, fee_bps=0.0, slip=0.0, capital=1.0, stop=None,
                 profit=None, first=0, tick=None):  # fmt: skip
        self.bars, self.decided, self.given, self.fill, self.delay = bars, decided, given, fill, delay
        self.sizing, self.contracts, self.reserve, self.rebalance = sizing, contracts, reserve, rebalance
        self.whole, self.multiplier, self.fee, self.fee_bps, self.slip = whole, multiplier, fee, fee_bps, slip
        self.stop, self.profit, self.first, self.tick = stop, profit, first, tick
        self.capital = self.cash = capital
        self.position = self.sized = 0.0
        self.levels = (math.nan, math.nan)
        self.blocked = None  # [target at the stop, whether a hold was in force then or seen since]
        self.held = False  # whether the newest decision to arrive was a hold
        self.too_small = 0
        self.fees = self.notional = self.paid_slippage = 0.0
        self.fills, self.trips, self.flow, self.age, self.ages = 0, [], 0.0, 0, []
        self.shares, self.flat_equity = [], capital

    def trade(self, to, price):
        quantity = to - self.position
        if abs(quantity) <= 1e-11 * abs(self.position):
            return  # nothing but rounding
        if self.position * to < 0:
            self.fills -= 1  # a reversal is one fill, booked in two parts
            self.trade(0.0, price)
            self.trade(to, price)
            return
        value = abs(quantity) * abs(price) * self.multiplier
        fee = abs(quantity) * self.fee + value * self.fee_bps / 1e4
        slip = abs(quantity) * self.slip
        self.cash -= quantity * price * self.multiplier + fee + slip
        self.flow -= quantity * price * self.multiplier + fee + slip
        self.fees, self.paid_slippage, self.notional = self.fees + fee, self.paid_slippage + slip, self.notional + value
        self.fills += 1
        if self.position == 0:
            side = 1 if to > 0 else -1
            away = [abs(price) * d if d is not None and d > 0 else math.nan for d in (self.stop, self.profit)]
            self.levels = tuple(self.order(level, side) for level in (price - side * away[0], price + side * away[1]))
        if to == 0:
            self.trips.append(self.flow)
            self.shares.append(self.flow / self.flat_equity)
            self.flat_equity += self.flow
            self.ages.append(self.age)
            self.flow, self.age = 0.0, 0
        self.position = to

    def order(self, level, side):
        """The tick at which an order that ends the position can rest: a sale at most at its level, a purchase at least."""
        if self.tick is None or math.isnan(level):
            return level
        tick = Fraction(str(self.tick))
        ticks = Fraction(level).limit_denominator(10**8) / tick  # a level is a decimal number
        return float(tick * (math.floor(ticks) if side > 0 else math.ceil(ticks)))

    def roll(self, old, opened, to):
        """Out of the old contract whole, into the new one."""
        if self.position * to > 0:
            side = 1 if to > 0 else -1
            self.levels = tuple(self.order(level + (opened - old), side) for level in self.levels)
            levels, keep = self.levels, (self.flow, self.age, len(self.trips), self.flat_equity)
            self.trade(0.0, old)
            self.trade(to, opened)
            self.levels = levels
            del self.trips[keep[2] :], self.ages[keep[2] :], self.shares[keep[2] :]
            self.flow = self.cash_flow_since(keep)
            self.age, self.flat_equity = keep[1], keep[3]
            return
        self.trade(0.0, old)
        self.trade(to, opened)

    def cash_flow_since(self, keep):
        return self.cash - self.cash_before + keep[0]

    def size(self, target, price):
        if self.sizing == "contracts":
            return float(math.trunc(Fraction(str(target)) * self.contracts))
        if self.sizing == "units":
            return target * self.contracts
        if target == self.sized and not self.rebalance:
            return self.position
        if price <= 0:
            return 0.0
        worth = max(self.cash + self.position * price * self.multiplier, 0.0) if self.open_value is None else max(
            self.open_value, 0.0
        )
        size = target * worth * (1 - self.reserve) / (price * self.multiplier)
        return float(math.trunc(Fraction(size).limit_denominator(10**9))) if self.whole else size

    def sized_for(self, target, price, ruined):
        """Contracts wanted; what asks for some and gets none because contracts are whole is counted."""
        to = 0.0 if ruined else self.size(target, price)
        self.too_small += bool(self.whole and self.sizing != "units" and not ruined and target and not to)
        return to

    def arriving(self, bar):
        came_from = bar - self.delay - (0 if self.fill == "close" else 1)
        if came_from < self.first:
            if came_from == self.first - 1 and self.fill == "close" and self.delay == 0:
                return 0.0, True
            return 0.0, True
        return self.decided[came_from], self.given[came_from]

    def wanted(self, bar):
        target, given = self.arriving(bar)
        if self.blocked is not None:
            if target != self.blocked[0] or (given and self.blocked[1]):
                self.blocked = None
            else:
                self.blocked[1] = self.blocked[1] or not given
                target = 0.0
        self.held = not given
        return target

    def stopped(self, row):
        """The price at which the bar ends the position, None where it does not."""
        stop, goal = self.levels
        if self.position > 0:
            if row.low <= stop:
                return min(row.open, stop)
            return goal if row.high >= goal else None
        if self.position < 0:
            if row.high >= stop:
                return max(row.open, stop)
            return goal if row.low <= goal else None
        return None

    def run(self):
        ruined, pending, mark = False, math.nan, 0.0
        equity, positions = [], []
        for bar, row in enumerate(self.bars.itertuples(index=False)):
            if math.isnan(pending) and not math.isnan(row.old_price):
                pending = row.old_price
            live = bar >= self.first + (0 if self.fill == "close" else 1)
            if live:
                self.bar(bar, row, pending, ruined)
            if not row.masked:
                pending, mark = math.nan, row.close
            worth = self.cash + self.position * mark * self.multiplier
            ruined = ruined or worth <= 0
            if bar >= self.first:
                self.age = self.age + 1 if self.position else 0
                equity.append(worth)
                positions.append(self.position)
        return SimpleNamespace(equity=np.array(equity), position=np.array(positions), ledger=self)

    def bar(self, bar, row, pending, ruined):
        rolls = not math.isnan(pending)
        self.cash_before = self.cash
        self.open_value = None
        if self.fill == "next_open":
            target = self.wanted(bar)
            if row.masked:
                return
            if rolls:
                self.open_value = self.cash + self.position * pending * self.multiplier
            to = self.sized_for(target, row.open, ruined)
            if rolls:
                self.roll(pending, row.open, to)
            else:
                self.trade(to, row.open)
            self.sized = target
            self.open_value = None
            self.check(row, target)
            return
        if not row.masked:
            if rolls and self.position:
                self.roll(pending, row.open, self.position)
            self.check(row, self.sized)
        target = self.wanted(bar)
        if row.masked:
            return
        self.trade(self.sized_for(target, row.close, ruined), row.close)
        self.sized = target

    def check(self, row, target):
        price = self.stopped(row)
        if price is not None:
            self.trade(0.0, price)
            self.blocked, self.sized = [target, self.held], 0.0


def ohlc(bars: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The bars with highs and lows around their opens and closes."""
    draw = np.random.default_rng(seed)
    high = np.maximum(bars["open"], bars["close"]) + 0.25 * draw.integers(0, 12, len(bars))
    low = np.minimum(bars["open"], bars["close"]) - 0.25 * draw.integers(0, 12, len(bars))
    return bars.assign(high=high, low=low)
