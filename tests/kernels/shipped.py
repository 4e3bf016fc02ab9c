"""Sweeps of the strategies that ship, with and without rolls, masks, costs and sessions: what executors agree on."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from kernels.execution import Costs, Execution, Instrument
from kernels.expressions import col, exp, hold, lag, log, param, sign, where
from kernels.indicators import (
    adx,
    bars_since,
    cross_above,
    donchian,
    kalman_level,
    rolling_std,
    rsi,
    seconds,
    sma,
)
from kernels.metrics import METRICS, reads
from kernels.plan import Plan
from kernels.program import Program
from kernels.strategies import STRATEGIES, positions
from kernels.strategy import Strategy
from kernels.sweep import sweep
from tests.kernels.conftest import make_bars
from tests.kernels.order_ledger import ohlc

CONTRACT = Instrument("TEST", tick_size=0.25, multiplier=50.0, fee_per_contract=2.1)
FIVE = ("total_return", "sharpe", "sortino", "max_drawdown", "trades")


def sma_band() -> Strategy:
    """Long above slow + band, short below slow - band, else held: the reference of the benchmarks."""
    fast, slow, band = sma(col("adj_close"), param("fast")), sma(col("adj_close"), param("slow")), param("band")
    target = where(fast > slow + band, 1.0, where(fast < slow - band, -1.0, hold()))
    return Strategy("sma_band", target, constraint=param("fast") < param("slow"))


def kalman_surface() -> Strategy:
    """Short above a filtered level by more than a share of its own decaying memory, long below it."""
    close = col("adj_close")
    gap = close - kalman_level(close, param("noise"), 1.0)
    threshold = param("width") * exp(-bars_since(cross_above(gap, 0.0)) / 20.0)
    return Strategy("kalman_surface", where(gap > threshold, -1.0, where(gap < -threshold, 1.0, hold())))


def oscillators() -> Strategy:
    """Long on an oversold RSI in a trend that ADX confirms, out on the lagged middle of the channel: scans in rows,
    families and windows in time.
    """
    close, high, low = col("adj_close"), col("adj_high"), col("adj_low")
    quiet = rolling_std(close, "10min") < rolling_std(close, seconds(param("wait")))
    enter = (rsi(close, param("window")) < 40.0) & (adx(high, low, close, 4) > 10.0) & quiet
    leave = close > lag(donchian(high, low, param("window")).middle, param("back"))
    return Strategy("oscillators", where(enter, 1.0, where(leave, -sign(log(close / sma(close, 9))), hold())))


GRIDS = {
    "kalman_surface": {"noise": [0.01, 0.1, 1.0], "width": [0.2, 1.0]},
    "oscillators": {"window": [4, 7], "wait": [1200.0, 1800.0], "back": [0, 2]},
    "ema_cross": {"fast": [2, 3, 5, 8], "slow": [4, 7, 12, 20]},
    "zscore_reversion": {"window": [5, 9, 14], "entry": [0.8, 1.3], "exit": [-0.2, 0.4]},
    "donchian_breakout": {"window": [3, 5, 8, 13]},
    "positions": {},
    "sma_band": {"fast": [2, 3, 5], "band": [0.0, 0.5], "slow": [4, 7, 12, 20]},
}


FREE = Costs()
EVERY_COST = Costs(fee_bps=0.5, fee_per_contract=0.3, slippage_bps=0.2, slippage_ticks=1)


@dataclass(frozen=True)
class Case:
    """One sweep: a strategy over bars with some rolls, masks and gaps, some costs, metrics and a kind of returns."""

    name: str
    strategy: str
    rolls: int = 0
    masks: int = 0
    gaps: int = 0
    costs: Costs = FREE
    metrics: Sequence[str] = tuple(METRICS)
    returns: str = "session"
    multiplier: float | None = 50.0
    execution: Execution = field(default_factory=Execution)
    stops: bool = False

    def made(self) -> Strategy:
        made = (positions, sma_band, kalman_surface, oscillators)
        strategy = {**STRATEGIES, **{build.__name__: build for build in made}}[self.strategy]()
        return replace(strategy, stop_loss=param("stop"), take_profit=0.003) if self.stops else strategy

    def bars(self) -> pd.DataFrame:
        return ohlc(make_bars(5, bars=260, rolls=self.rolls, masks=self.masks, gaps=self.gaps), 5)

    def run(self, executor: str = "numpy", **options):
        return sweep(
            self.made(),
            self.bars(),
            instrument=None
            if self.multiplier is None
            else Instrument("TEST", 0.25, self.multiplier, fee_per_contract=2.1),
            grid={**GRIDS[self.strategy], **({"stop": [0.0, 0.0007, 0.002]} if self.stops else {})} or None,
            costs=self.costs,
            capital=150_000.0,
            metrics=self.metrics,
            execution=self.execution,
            returns=self.returns,
            executor=executor,
            **options,
        )

    def plan(self) -> Plan:
        return self.run()._plan

    def program(self) -> Program:
        return self.plan()._account(sorted(reads(self.metrics))).program


CASES = (
    Case("ema_cross_all", "ema_cross"),
    Case("ema_cross_five_by_bar", "ema_cross", metrics=FIVE, returns="bar"),
    Case("ema_cross_rolls_masks_costs", "ema_cross", rolls=3, masks=12, costs=EVERY_COST),
    Case("zscore_reversion_all", "zscore_reversion", gaps=7),
    Case("zscore_reversion_masks", "zscore_reversion", masks=9, costs=Costs(slippage_ticks=1)),
    Case("zscore_reversion_return", "zscore_reversion", metrics=("total_return",), returns="bar", multiplier=1.0),
    Case("donchian_breakout_rolls", "donchian_breakout", rolls=4, costs=Costs(slippage_ticks=1)),
    Case("donchian_breakout_trades", "donchian_breakout", metrics=("trades", "win_rate", "profit_factor")),
    Case("positions_costs", "positions", rolls=2, masks=5, costs=EVERY_COST),
    Case("kalman_surface_masks", "kalman_surface", masks=7, costs=Costs(slippage_ticks=1), metrics=FIVE),
    Case("oscillators_gaps", "oscillators", gaps=5, metrics=FIVE),
    Case("sma_band_five_by_bar", "sma_band", metrics=FIVE, returns="bar"),
    Case("ema_cross_stops", "ema_cross", rolls=2, masks=7, costs=EVERY_COST, stops=True),
    Case("donchian_breakout_stops_five", "donchian_breakout", metrics=FIVE, returns="bar", stops=True),
    Case(
        "zscore_reversion_close_fractions",
        "zscore_reversion",
        gaps=5,
        costs=Costs(fee_bps=1),
        multiplier=None,
        execution=Execution("close", cash_reserve=0.1),
        stops=True,
    ),
    Case(
        "positions_next_close_delayed",
        "positions",
        rolls=3,
        masks=6,
        costs=EVERY_COST,
        metrics=("total_return", "omega", "ulcer_index", "max_drawdown", "fills", "avg_trade", "holding_time", "fees"),
        execution=Execution("next_close", signal_delay=2, sizing="equity", rebalance=True),
        stops=True,
    ),
    Case(
        "sma_band_fractions",
        "sma_band",
        metrics=FIVE,
        returns="bar",
        multiplier=None,
        execution=Execution(signal_delay=1),
    ),
    Case("sma_band_all_by_bar", "sma_band", returns="bar", costs=Costs(slippage_ticks=1)),
)


WRITTEN_OUT = (
    "ema_cross_five_by_bar", "zscore_reversion_return", "donchian_breakout_trades", "donchian_breakout_stops_five",
    "positions_costs", "kalman_surface_masks", "oscillators_gaps", "sma_band_five_by_bar", "sma_band_all_by_bar",
    "sma_band_fractions",
)  # fmt: skip
"""The cases whose program and CUDA text are golden files; digests cover all of them."""


def same_tables(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    """Whether two result tables are equal on bits."""
    left, right = (np.ascontiguousarray(table.to_numpy(dtype=np.float64)).view(np.int64) for table in (a, b))
    return list(a.columns) == list(b.columns) and left.shape == right.shape and bool(np.all(left == right))
