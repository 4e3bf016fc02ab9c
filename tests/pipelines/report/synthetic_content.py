"""Inputs of a report that look like a real run's, from a seed: for tests and for looking at the page."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pipelines.report.types import Evaluation
from pipelines.steps.selecting import SelectionOverfitting
from pipelines.steps.sweep_summary import NUMBER, median, summary
from pipelines.steps.sweeping import StrategyRanking

MINUTE = 60_000_000_000
START = int(pd.Timestamp("2024-01-02T23:00Z").value)
CAPITAL = 100_000.0
YEAR, SWEEP_YEAR = 258.4, 256.1  # sessions, of the test rows' and of the validation rows' calendar


def ranking(table: pd.DataFrame, parameters: tuple[str, ...], metric: str = "sharpe") -> StrategyRanking:
    """What a sweep keeps of all combinations of the table, a row each."""
    axes = [tuple(table[name].unique()) for name in parameters]
    numbered = table.rename_axis(NUMBER).reset_index()
    found = summary(numbered, parameters, axes, metric, keep=100)
    sums = np.random.default_rng(9).normal(size=(len(table), 8))
    return StrategyRanking(
        found.best, parameters, metric, True, {}, 0, found.combinations, found.undefined, found.positive,
        median(found.values), found.sharpes, found.cells, sums, np.abs(sums) + 10.0, np.full(8, 5), SWEEP_YEAR,
        "every combination of the grid that the strategy allows, of 999",
    )  # fmt: skip


def selections() -> dict[str, SelectionOverfitting]:
    judged = SelectionOverfitting(0.42, 0.31, 16, 40, 12_870, 2_000, 200_000, "a grid", None)
    few = SelectionOverfitting(None, None, 0, 0, 0, 60, 60, "a grid", "the validation rows hold fewer than 12 sessions")
    return {"ema_cross": judged, "zscore_reversion": replace(judged, judged=200_000), "donchian_breakout": few}


def funnel() -> dict[str, Any]:
    return {
        "records": 412_345,
        "stages": [
            {
                "name": "outrights",
                "rows": 318_204,
                "dropped": {"calendar_spread": 91_020, "butterfly": 2_011, "user_defined": 1_110},
            },
            {"name": "followed", "rows": 262_000, "dropped": {"not_followed": 56_204}},
            {
                "name": "accepted",
                "rows": 261_985,
                "dropped": {
                    "high_below_low": 4,
                    "undefined_price": 3,
                    "nonpositive_price": 2,
                    "close_ratio": 3,
                    "duplicate_row": 2,
                    "duplicate_key": 1,
                },
            },
            {"name": "with features", "rows": 261_731, "dropped": {"warm_up": 254}},
        ],
    }


def findings() -> pd.DataFrame:
    rows = [
        ("2024-03-15T09:31Z", "ESM4", 1, "high_below_low", "high", 5101.25, 5102.0, "rejected", 91),
        ("2024-03-15T10:02Z", "ESM4", 1, "undefined_price", "close", float("nan"), float("nan"), "rejected", 130),
        ("2024-03-18T14:30Z", "ESM4", 1, "close_ratio", "close", 9690.5, 2.0, "rejected", 700),
        ("2024-03-19T14:30Z", "ESM4", 2, "return_clamp", "return", 0.139762, 0.1, "masked", 910),
        ("2024-03-19T14:31Z", "ESM4", 4, "zscore_clamp", "amihud_60", 23.4, 20.0, "altered", -1),
    ]
    names = ["ts_event", "contract", "layer", "rule", "column", "value", "limit", "action", "source_row"]
    table = pd.DataFrame(rows, columns=names).astype({"layer": "int8", "source_row": "int64"})
    table["ts_event"] = pd.to_datetime(table["ts_event"], utc=True).astype("datetime64[ns, UTC]")
    return table


def folds() -> list[dict[str, Any]]:
    def part(first: int, bars: int) -> dict[str, Any]:
        times = np.array([START + first * MINUTE, START + (first + bars - 1) * MINUTE]).view("datetime64[ns]")
        first_bar, last_bar = (f"{time.astype('datetime64[s]')}Z" for time in times)
        return {"start_row": first, "stop_row": first + bars, "bars": bars, "first": first_bar, "last": last_bar}

    return [
        {
            "index": fold,
            "mode": "rolling",
            "train": part(fold * 20_000, 60_000),
            "validation": part(60_315 + fold * 20_000, 19_685),
            "test": part(80_315 + fold * 20_000, 19_685),
            "purge_bars": 61,
            "embargo_bars": 254,
        }
        for fold in range(4)
    ]


def rolls() -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "session": [20240229, 20240314],
            "left": ["ESH4", "ESM4"],
            "entered": ["ESM4", "ESU4"],
            "volume_left": [401_223, 388_120],
            "volume_entered": [512_034, 420_500],
        }
    )
    return table.astype({"session": "int32"})


def rankings() -> dict[str, StrategyRanking]:
    return {
        strategy: ranking(table, tuple(name for name in table.columns if name not in ("sharpe", "net_profit")))
        for strategy, table in sweeps().items()
    }


def sweeps(seed: int = 3) -> dict[str, pd.DataFrame]:
    """Of each strategy a row a combination: parameters, then metrics."""
    generator = np.random.default_rng(seed)
    grids = {
        "ema_cross": {"fast": range(5, 50, 5), "slow": range(20, 200, 20), "stop": (0.01, 0.02)},
        "zscore_reversion": {"window": range(20, 260, 20), "entry": (1.0, 1.5, 2.0, 2.5, 3.0)},
        "donchian_breakout": {"length": range(20, 500, 40)},
    }
    result = {}
    for strategy, grid in grids.items():
        table = pd.MultiIndex.from_product(list(grid.values()), names=list(grid)).to_frame(index=False)
        slope = np.linspace(-1.0, 1.0, len(table))
        table["sharpe"] = generator.normal(size=len(table)) * 0.5 + slope
        table["net_profit"] = table["sharpe"] * 4_000.0
        table.loc[0, "sharpe"] = np.nan
        result[strategy] = table
    return result


def evaluation(model: str, kind: str, mean: float, spread: float, seed: int, **parameters: float) -> Evaluation:
    """A model whose sessions' net profits have this mean and spread (money); spread 0 and mean 0: always flat."""
    generator = np.random.default_rng(seed)
    sessions, bars = 20, 400
    steps = generator.normal(size=sessions * bars)
    steps = (steps - steps.mean()) / steps.std() * spread / np.sqrt(bars) + mean / bars
    equity = CAPITAL + np.cumsum(steps)
    days = pd.bdate_range("2024-02-28", periods=sessions)
    ends = equity[bars - 1 :: bars]
    profit = np.diff(ends, prepend=CAPITAL)
    traded = spread > 0.0
    times = pd.DatetimeIndex(
        np.concatenate(
            [day.value + (np.arange(bars) + 14 * 60) * MINUTE for day in days.tz_localize("UTC").as_unit("ns")]
        ),
        tz="UTC",
    )
    returns = profit / (ends - profit)
    metrics = {
        "net_profit": float(profit.sum()),
        "gross_profit": float(profit.sum()) + 500.0 * traded,
        "fees": 71.9 * traded,
        "slippage": 428.1 * traded,
        "costs": 500.0 * traded,
        "total_return": float(profit.sum()) / CAPITAL,
        "sharpe": float(returns.mean() / returns.std(ddof=1) * np.sqrt(YEAR)) if traded else float("nan"),
        "max_drawdown": float((equity / np.maximum.accumulate(np.maximum(equity, CAPITAL)) - 1.0).min()),
        "trades": 118.0 * traded,
        "win_rate": 0.512 if traded else float("nan"),
        "profit_factor": 1.08 if traded else float("nan"),
        "expectancy": 12.345 if traded else float("nan"),
        "exposure": 0.8 * traded,
        "turnover": 210.5 * traded,
        "final_equity": float(equity[-1]),
    }
    return Evaluation(
        model,
        kind,
        dict(parameters),
        metrics,
        pd.DataFrame(
            {
                "session": days.strftime("%Y%m%d").astype("int32"),
                "profit": profit,
                "gross": profit + 25.0 * traded,
                "equity": ends,
            }
        ),
        pd.DataFrame(
            {
                "ts_event": times,
                "equity": equity,
                "position": np.repeat(generator.integers(-1, 2, size=sessions), bars) * float(traded),
            }
        ),
        YEAR,
    )


def evaluations() -> list[Evaluation]:
    best = {name: table.loc[table["sharpe"].idxmax()] for name, table in sweeps().items()}
    chosen = {name: {key: float(best[name][key]) for key in ranking.parameters} for name, ranking in rankings().items()}
    return [
        evaluation("ema_cross", "strategy", -120.0, 900.0, 1, **chosen["ema_cross"]),
        evaluation("zscore_reversion", "strategy", 160.0, 1100.0, 2, **chosen["zscore_reversion"]),
        evaluation("donchian_breakout", "strategy", -20.0, 700.0, 3, **chosen["donchian_breakout"]),
        evaluation("dqn seed 0", "policy", 900.0, 800.0, 4, hidden=64),
        evaluation("dqn seed 1", "policy", 60.0, 850.0, 5, hidden=64),
        evaluation("dqn seed 2", "policy", -260.0, 950.0, 6, hidden=64),
        evaluation("linear", "linear", 80.0, 500.0, 7, ridge=1.0),
        evaluation("buy_and_hold", "benchmark", 210.0, 1500.0, 8),
        evaluation("flat", "benchmark", 0.0, 0.0, 9),
    ]


def training() -> list[dict[str, Any]]:
    generator = np.random.default_rng(11)
    steps = np.arange(0, 20_001, 1_000)
    return [
        {
            "seed": seed,
            "chosen_step": 4_000 + 3_000 * seed,
            "history": [
                {
                    "step": int(step),
                    "loss": float("nan")
                    if step == 0
                    else float(0.4 * np.exp(-step / 6_000) + 0.05 * generator.random()),
                    "validation_profit": float(generator.normal() * 900 + step / 10),
                }
                for step in steps
            ],
        }
        for seed in range(3)
    ]


def information() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "horizon": [1, 5, 15, 60],
            "ic": [0.021, 0.012, 0.004, float("nan")],
            "low": [0.003, -0.008, -0.02, float("nan")],
            "high": [0.039, 0.031, 0.028, float("nan")],
        }
    )


def inputs() -> dict[str, Any]:
    """Keyword arguments of `report_content` for a complete report."""
    return {
        "funnel": funnel(),
        "findings": findings(),
        "quarantined": 15,
        "folds": folds(),
        "fold": 0,
        "rolls": rolls(),
        "rankings": rankings(),
        "selections": selections(),
        "evaluations": evaluations(),
        "training": training(),
        "information": information(),
        "hindsight": 410_000.0,
        "capital": CAPITAL,
        "currency": "USD",
        "instrument": {
            "symbol": "ES",
            "tick_size": 0.25,
            "multiplier": 50.0,
            "currency": "USD",
            "fee_per_contract": 2.1,
        },
        "costs": {"fee_bps": 0.0, "fee_per_contract": 0.4, "slippage_bps": 0.0, "slippage_ticks": 1.0},
        "execution": {"fill": "next_open", "contracts": 1},
        "edge": None,
    }


def small_inputs() -> dict[str, Any]:
    """The same without sweeps, training and information: quick to compute."""
    return inputs() | {"rankings": {}, "selections": {}, "training": [], "information": information().iloc[:0]}


def run_record() -> dict[str, Any]:
    """The `run` argument of `write_report`."""
    return {
        "run": "20240520-101500-fold0-3f9a1c",
        "created": "2024-05-20T10:15:00Z",
        "command": "pipeline run fold=0 sweep.grid.fast=5:50:5",
        "configuration": {
            "data": {"directory": "data/sample", "root": "ES"},
            "sweep": {"metric": "sharpe", "grid": {"fast": [5, 10, 15]}},
        },
        "nodes": [
            {"name": "outrights[0]", "key": "outrights-5a0b2c4d9e", "seconds": 1.234, "cached": False},
            {"name": "features", "key": "features-77ab02cd41", "seconds": 3.5, "cached": False},
            {"name": "learn[seed=0]", "key": "learn-90ab1c2d3e", "seconds": 0.02, "cached": True},
        ],
        "executor": "cpu",
        "fallback_reason": None,
        "versions": {"walkfold": "0.1.0", "python": "3.11.9", "numpy": "2.4.6", "torch": "2.13.0"},
        "seeds": {"sample": 7, "dqn": [0, 1, 2], "bootstrap": 0},
        "ledger": {"test_looks": 12, "validation_trials": 2_345, "test_trials": 12},
        "data_report": "../data.html",
    }
