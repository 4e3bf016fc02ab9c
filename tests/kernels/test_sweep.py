"""Sweeps: equal on bits over executors, chunks and single runs; nothing from the future; errors that teach."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.bars import BarsError
from kernels.execution import Costs, Instrument
from kernels.expressions import col, hold, param, where
from kernels.grid import GridError, combinations
from kernels.indicators import ema, sma
from kernels.metrics import STANDARD, MetricError
from kernels.rows import WindowError
from kernels.strategies import STRATEGIES, donchian_breakout, ema_cross, positions, zscore_reversion
from kernels.strategy import Strategy
from kernels.sweep import SweepError, sweep, warm_up

GRIDS = {
    "ema_cross": {"fast": [2, 3, 5, 8], "slow": [4, 7, 12, 20]},
    "zscore_reversion": {"window": [5, 9, 14], "entry": [0.8, 1.3], "exit": [-0.2, 0.4]},
    "donchian_breakout": {"window": [3, 5, 8, 13]},
    "positions": {},
}
MADE = {**STRATEGIES, "positions": positions}
RECORDED = ["target", "position", "equity", "profit", "costs"]
COSTS = Costs(fee_per_contract=0.3, slippage_ticks=1)


def scored(strategy, bars, contract, **options):
    return sweep(strategy, bars, instrument=contract, costs=COSTS, capital=200_000.0, **options)


@pytest.mark.parametrize("name", GRIDS)
def test_cpu_equals_numpy_on_bits(name, random_bars, contract, program_cache, same_bits):
    # one compilation a strategy, then data of many shapes through it: gaps, rolls, masks, odd session ends
    strategy = MADE[name]()
    for seed in range(4):
        bars = random_bars(
            seed, bars=150 + 7 * seed, session_bars=17 + seed, rolls=1 + seed, masks=1 + 2 * seed, gaps=seed
        )
        options = {"grid": GRIDS[name], "windows": [(40, 120), (90, 150)]}
        expected = scored(strategy, bars, contract, executor="numpy", **options)
        for threads in (1, 2):
            found = scored(strategy, bars, contract, executor="cpu", threads=threads, cache=program_cache, **options)
            for column in STANDARD:
                assert same_bits(found.table[column], expected.table[column]), (column, seed)
    assert found.profile["executor"] == "cpu" and expected.profile["executor"] == "numpy"
    assert found.profile["fallback_reason"] is None


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    bars=st.integers(30, 120),
    session=st.integers(1, 50),
    rolls=st.integers(1, 5),
    masks=st.integers(1, 20),
    gaps=st.integers(0, 10),
    capital=st.sampled_from([3_000.0, 100_000.0, 1e9]),
    fee=st.sampled_from([0.01, 2.5, 400.0]),
)
def test_any_data_gives_the_same_bits(
    random_bars, contract, program_cache, same_bits, seed, bars, session, rolls, masks, gaps, capital, fee
):
    table = random_bars(seed, bars=bars, session_bars=session, rolls=rolls, masks=masks, gaps=gaps)
    both = [
        sweep(
            zscore_reversion(),
            table,
            instrument=contract,
            costs=Costs(fee_per_contract=fee, slippage_ticks=1),
            capital=capital,
            grid=GRIDS["zscore_reversion"],
            executor=executor,
            cache=program_cache,
            threads=1,
        ).table
        for executor in ("numpy", "cpu")
    ]
    assert same_bits(both[0], both[1])


@pytest.mark.parametrize("executor", ["numpy", "cpu"])
def test_a_single_run_equals_its_lane(executor, random_bars, contract, program_cache, same_bits):
    bars = random_bars(11, bars=160, rolls=2, masks=6)
    options = {"windows": [(30, 150)], "executor": executor, "cache": program_cache}
    swept = scored(ema_cross(), bars, contract, grid=GRIDS["ema_cross"], **options)
    for row in (0, 5, len(swept.table) - 1):
        alone = scored(
            ema_cross(), bars, contract, grid=swept.table.loc[[row], ["fast", "slow"]], start=swept.start, **options
        )
        assert same_bits(alone.table, swept.table.iloc[[row]])
        trace = swept.trace(row)
        assert same_bits(trace[RECORDED], alone.trace(0)[RECORDED])
        last = trace.iloc[-1]
        final = [last["profit"], last["profit"] - last["costs"], last["equity"]]
        assert same_bits(final, swept.table.loc[row, ["gross_profit", "net_profit", "final_equity"]])


def test_traces_of_both_executors_are_equal(random_bars, contract, program_cache, same_bits):
    bars = random_bars(12, bars=160, rolls=2, masks=6, gaps=5)
    traces = [
        scored(
            zscore_reversion(), bars, contract, grid=GRIDS["zscore_reversion"], executor=e, cache=program_cache
        ).trace(3)
        for e in ("numpy", "cpu")
    ]
    assert len(traces[0]) == 160
    assert same_bits(traces[0][RECORDED], traces[1][RECORDED])


@pytest.mark.parametrize("name", GRIDS)
def test_chunks_change_no_bits(name, random_bars, contract, same_bits):
    bars = random_bars(13, bars=120, rolls=1, masks=3)
    grid = combinations(GRIDS[name], MADE[name]())
    whole = scored(MADE[name](), bars, contract, grid=grid, executor="numpy")
    small = scored(MADE[name](), bars, contract, grid=grid, executor="numpy", row_bytes=1500)
    assert same_bits(small.table, whole.table)
    assert whole.profile["chunks"] == 1 and (small.profile["chunks"] > 1 or not GRIDS[name])
    assert whole.profile["row_bytes"] >= small.profile["row_bytes"] > 0 and whole.profile["row_bytes"] % (8 * 120) == 0
    start = warm_up(MADE[name](), grid)
    parts = [
        scored(MADE[name](), bars, contract, grid=grid.iloc[rows], executor="numpy", start=start).table
        for rows in np.array_split(np.arange(len(grid)), min(3, len(grid)))
    ]
    assert same_bits(pd.concat(parts), whole.table)


def test_rows_that_other_rows_are_built_from_count_as_memory(random_bars, contract):
    # 3 spans of an average of the close, under it 3 × 4 means of it: 15 rows of 100 bars
    bars = random_bars(11, bars=100)
    inner = ema(col("adj_close"), param("span"))
    nested = Strategy("nested", where(col("adj_close") > sma(inner, param("window")), 1.0, 0.0))
    grid = {"span": [2, 3, 4], "window": [5, 6, 7, 8]}
    options = {"instrument": contract, "executor": "numpy", "metrics": ["trades"], "grid": grid}
    whole = sweep(nested, bars, **options)
    families, rows = whole._plan.shared(["trades"])
    assert whole._plan.family_bytes(families, whole._lanes) == 15 * 100 * 8
    assert whole.profile["row_bytes"] == rows + 15 * 100 * 8
    assert sweep(nested, bars, row_bytes=rows + 15 * 100 * 8, **options).profile["chunks"] == 1
    assert sweep(nested, bars, row_bytes=rows + 15 * 100 * 8 - 1, **options).profile["chunks"] > 1


@pytest.mark.parametrize("name", GRIDS)
def test_the_future_changes_nothing_earlier(name, random_bars, contract, same_bits):
    # the prefix property: cut the data, or change every later bar, and no earlier position or equity moves
    bars = random_bars(14, bars=140, rolls=3, masks=5)
    row = {parameter: values[-1:] for parameter, values in GRIDS[name].items()}
    whole = scored(MADE[name](), bars, contract, grid=row, executor="numpy").trace(0)[RECORDED]
    for cut in (45, 77, 139):
        changed = bars.copy()
        later = changed.index >= cut
        changed.loc[later, ["open", "close", "adj_close", "adj_high", "adj_low"]] *= 1.5
        changed.loc[later, "masked"] = ~changed.loc[later, "masked"]
        changed.loc[later, "target"] = 1.0
        for other in (bars.iloc[:cut], changed):
            found = scored(MADE[name](), other, contract, grid=row, executor="numpy").trace(0)[RECORDED]
            assert same_bits(found[:cut], whole[:cut])


def test_no_return_into_the_bar_of_the_signal(contract):
    # case B14: open[t] = close[t-1]; long for bar t+1 after a rise. By hand: long on bars 2 and 4, each 104 → 100
    close = np.array([100.0, 104, 100, 104, 100, 104])
    bars = pd.DataFrame(
        {
            "ts_event": pd.date_range("2024-01-02", periods=6, freq="min", tz="UTC").as_unit("ns"),
            "open": np.concatenate([[100.0], close[:-1]]),
            "close": close,
            "target": np.concatenate([[0.0], (close[1:] > close[:-1]).astype(float)]),
        }
    )
    trace = sweep(positions(), bars, instrument=Instrument("B14", 0.25, 1.0), executor="numpy").trace(0)
    assert trace["position"].tolist() == [0, 0, 1, 0, 1, 0]
    assert trace["profit"].iloc[-1] == -8.0
    growth = np.prod(1 + trace["position"] * (close / bars["open"] - 1))
    assert growth - 1 == pytest.approx(-0.07544378698224852, abs=1e-15)


def test_higher_fees_never_raise_the_result(random_bars, contract):
    bars = random_bars(15, bars=200, rolls=2, masks=4)
    results = [
        sweep(
            donchian_breakout(),
            bars,
            instrument=contract,
            grid=GRIDS["donchian_breakout"],
            costs=Costs(fee_per_contract=fee),
            metrics=["net_profit", "gross_profit", "trades"],
            capital=1e6,
            executor="numpy",
        ).table
        for fee in (0.0, 1.0, 7.5)
    ]
    for cheap, dear in itertools.pairwise(results):
        assert (dear["net_profit"] < cheap["net_profit"]).all()
        assert (dear["gross_profit"] == cheap["gross_profit"]).all() and (dear["trades"] == cheap["trades"]).all()


def test_mirrored_prices_give_the_mirrored_account(random_bars, contract):
    # P' = K - P swaps long and short: the same profit, fill by fill
    bars = random_bars(16, bars=120, rolls=2, masks=4)
    mirrored = bars.copy()
    for column in ("open", "close", "old_price"):
        mirrored[column] = 9000.0 - bars[column]
    mirrored["target"] = -bars["target"]
    one, other = (sweep(positions(), b, instrument=contract, executor="numpy").trace(0) for b in (bars, mirrored))
    np.testing.assert_allclose(one["profit"], other["profit"], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(one["position"], -other["position"])


def test_buy_and_hold_over_a_roll_has_no_basis_step(random_bars, contract):
    bars = random_bars(17, bars=100, rolls=3)
    always = sweep(Strategy("hold", where(col("close") > 0, 1.0, 1.0)), bars, instrument=contract, executor="numpy")
    # the adjusted series of these bars has no gap at a roll: in at the open of bar 1, out at the last close
    entry = bars["open"].iloc[1] - (bars["close"] - bars["adj_close"]).iloc[1]
    assert bars["old_price"].notna().sum() == 3
    assert always.table["gross_profit"][0] == pytest.approx((bars["adj_close"].iloc[-1] - entry) * 50.0)


def test_windows_start_flat_and_know_the_target_held_before(contract):
    close = np.array([10.0, 11, 12, 13, 14, 15, 16, 17])
    bars = pd.DataFrame(
        {
            "ts_event": pd.date_range("2024-01-02", periods=8, freq="min", tz="UTC").as_unit("ns"),
            "open": close,
            "close": close,
        }
    )
    entered = Strategy("once", where(col("close") > param("level"), 0.0, where(col("close") == 11.0, 1.0, hold())))
    result = sweep(
        entered,
        bars,
        instrument=Instrument("W", 0.25, 1.0),
        grid={"level": [14.0]},
        windows=[(3, 6), (0, 3)],
        executor="numpy",
    )
    # decided at bar 1 and held: the window from bar 3 enters at bar 4 and sees the exit, of bar 5's close, too late
    assert result.trace(0)["position"].tolist() == [0, 0, 0, 0, 1, 1]
    assert result.table[["window", "net_profit"]].to_numpy().tolist() == [[0, 1.0], [1, 0.0]]
    assert result.windows == ((3, 6), (0, 3))


def test_start_is_the_longest_warm_up_and_shared(random_bars, contract):
    bars = random_bars(18, bars=90)
    result = scored(ema_cross(), bars, contract, grid=GRIDS["ema_cross"], executor="numpy")
    assert result.start == 19 == warm_up(ema_cross(), GRIDS["ema_cross"])
    assert result.windows == ((19, 90),)
    assert result.trace(0)["target"].isna().sum() == 19
    later = scored(ema_cross(), bars, contract, grid=GRIDS["ema_cross"], executor="numpy", start=33)
    assert later.windows == ((33, 90),)
    assert warm_up(donchian_breakout(), {"window": [5, 9]}) == 9  # the channel of the bars before


def test_sessions_add_up_to_the_net_profit(random_bars, contract):
    result = scored(ema_cross(), random_bars(19, bars=150), contract, grid=GRIDS["ema_cross"], executor="numpy")
    sessions = result.sessions(2)
    assert sessions["profit"].sum() == pytest.approx(result.table["net_profit"][2])
    assert len(sessions) == 4 and sessions["session"].is_monotonic_increasing


def test_best_says_how_many_accounts_were_ruined(random_bars, contract):
    bars = random_bars(20, bars=80)
    bars["low"] = bars["close"] = bars["open"] = np.linspace(5_000.0, 4_000.0, 80)
    bars["high"] = bars["open"]
    side = Strategy("side", where(col("close") < param("level"), 1.0, 0.0))
    options = {"instrument": contract, "capital": 10.0, "executor": "numpy", "metrics": ["sharpe"]}
    always = sweep(side, bars, grid={"level": [1e9, 2e9]}, **options)
    with pytest.raises(MetricError, match=r"2 of 2 accounts fell to zero or below: give more capital or"):
        always.best("sharpe")
    some = sweep(side, bars, grid={"level": [-1.0, 1e9, -2.0]}, windows=[(5, 40), (40, 80)], **options)
    with pytest.raises(MetricError, match=r"NaN for: ruined account, .*; 2 of 6 accounts fell .* contracts\)"):
        some.best("sharpe")


def test_best_breaks_ties_by_order_and_skips_nan(random_bars, contract):
    bars = random_bars(20, bars=80)
    flat = Strategy("never", where(col("close") < param("level"), 1.0, 0.0))
    result = sweep(flat, bars, instrument=contract, grid={"level": [-3.0, -2.0, 1e9]}, executor="numpy")
    assert result.best("max_drawdown").name == 0  # two combinations never trade and tie at 0
    assert result.best("sharpe").name == 2 and result.ranking("sharpe").tolist() == [2]
    alone = sweep(flat, bars, instrument=contract, grid={"level": [-3.0, -2.0]}, executor="numpy")
    with pytest.raises(MetricError, match="no best sharpe: it is NaN for all 2 combinations"):
        alone.best("sharpe")
    with pytest.raises(
        MetricError, match=r"\(NaN for: ruined account, fewer than 2 periods, constant returns\); score"
    ):
        alone.best("sharpe")
    with pytest.raises(MetricError, match=r"\(NaN for: neither a gain nor a loss\)"):
        alone.best("profit_factor")
    with pytest.raises(MetricError, match="metric 'nonsense' is not in the table"):
        alone.best("nonsense")
    with pytest.raises(IndexError, match="row 2: the table has rows 0 to 1"):
        alone.trace(2)


def test_a_target_beyond_one_is_clipped(random_bars, contract):
    bars = random_bars(21, bars=40)
    bars["target"] = np.linspace(-3, 3, 40)
    trace = sweep(positions(), bars, instrument=contract, executor="numpy").trace(0)
    assert trace["target"].min() == -1.0 and trace["target"].max() == 1.0


def test_combinations_in_order_within_the_constraint():
    table = combinations({"slow": [3, 9], "fast": [2, 3, 4], "window": [1]}, ema_cross())
    assert table.to_dict("list") == {"slow": [3, 9, 9, 9], "fast": [2, 2, 3, 4]}
    assert table.dtypes.tolist() == [np.int64, np.int64]
    assert len(combinations({}, positions())) == 1


def test_strategies_travel_between_processes(random_bars, contract, same_bits):
    bars = random_bars(22, bars=60)
    for name, grid in GRIDS.items():
        sent = pickle.loads(pickle.dumps(MADE[name]()))
        assert repr(sent.target) == repr(MADE[name]().target)
        both = [scored(s, bars, contract, grid=grid, executor="numpy").table for s in (sent, MADE[name]())]
        assert same_bits(both[0], both[1])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"executor": "gpu"}, SweepError, r"executor='gpu' is unknown: use one of 'auto', 'cpu', 'cuda', 'numpy'"),
        ({"precision": "fp16"}, SweepError, r"precision='fp16' is unknown: use one of 'fp64', 'fp32', 'mixed'"),
        ({"precision": "mixed"}, SweepError, r"precision='mixed' runs on the GPU alone: use executor='cuda'"),
        ({"returns": "day"}, SweepError, r"returns='day' is unknown"),
        ({"capital": 0.0}, SweepError, r"capital=0.0: must be finite and > 0"),
        ({"metrics": ["sharp"]}, MetricError, r"metric 'sharp' is unknown"),
        ({"start": 3}, SweepError, r"start=3: the grid's longest warm-up is 8 bars"),
        ({"windows": [(0, 99)]}, SweepError, r"window \(0, 99\): must lie within the bars, 0 <= start < end <= 60"),
        ({"windows": [(0, 9)]}, SweepError, r"window \(0, 9\): targets start at bar 8"),
        ({"windows": []}, SweepError, r"windows=\[\]: give at least one"),
        ({"grid": {"fast": [2]}}, GridError, r"parameter 'slow' has no values in the grid"),
        ({"grid": {"fast": [2], "slow": [9], "slwo": [3]}}, GridError, r"sweeps 'slwo', .* did you mean 'slow'\?"),
        (
            {"grid": {"fast": [9], "slow": [3]}},
            GridError,
            r"no combination fulfils \(param\('fast'\) < param\('slow'\)\)",
        ),
        ({"grid": {"fast": [], "slow": [3]}}, GridError, r"axis 'fast' is empty"),
        ({"grid": {"fast": [2, 2], "slow": [3]}}, GridError, r"axis 'fast' holds a value twice"),
        ({"grid": {"fast": [2, np.nan], "slow": [3]}}, GridError, r"'fast' holds a value that is not finite"),
        ({"grid": {"fast": ["a"], "slow": [3]}}, GridError, r"'fast' holds .* values; parameters are numbers"),
        ({"grid": {"fast": [2.5], "slow": [3]}}, WindowError, r"ema: window param\('fast'\) = 2.5"),
        (
            {"grid": pd.DataFrame({"fast": [2, 9], "slow": [9, 3]})},
            GridError,
            r"combination 1 \(fast=9, slow=3\) breaks",
        ),
        ({"grid": pd.DataFrame({"fast": [2], "slow": [9], "x": [1]})}, GridError, r"sweeps 'x'"),
    ],
)
def test_a_sweep_that_cannot_run_says_why(options, error, message, random_bars, contract):
    arguments = {"grid": {"fast": [2], "slow": [9]}, "executor": "numpy", **options}
    with pytest.raises(error, match=message):
        sweep(ema_cross(), random_bars(23, bars=60), instrument=contract, **arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b.drop(columns="adj_close"), r"reads the column 'adj_close', which the bars lack"),
        (lambda b: b.rename(columns={"adj_close": "adj_clos"}), r"did you mean 'adj_clos'\?"),
        (lambda b: b.assign(adj_close="x"), r"bar 2024-01-02T00:00Z: adj_close 'x' is a str, not a number"),
        (lambda b: b.drop(columns="open"), r"the bars have no column 'open'"),
        (lambda b: b.drop(columns="ts_event"), r"the bars have no column 'ts_event'"),
        (lambda b: b.iloc[[0, 2, 1, 3]], r"bar 2024-01-02T00:01Z is not later than the one before it"),
        (lambda b: b.drop(columns="session").assign(returns="session"), r"returns='session' needs a column 'session'"),
    ],
)
def test_bars_that_do_not_fit_are_named(change, message, random_bars, contract):
    bars = change(random_bars(24, bars=60))
    with pytest.raises(BarsError, match=message):
        sweep(
            ema_cross(),
            bars,
            instrument=contract,
            grid={"fast": [2], "slow": [9]},
            executor="numpy",
            returns="session" if "returns" in bars.columns else None,
        )


def test_without_sessions_returns_are_by_bar(random_bars, contract):
    bars = random_bars(25, bars=60).drop(columns="session")
    result = sweep(positions(), bars, instrument=contract, executor="numpy")
    assert result.profile["returns"] == "bar"
    with pytest.raises(MetricError, match="no column 'session'"):
        result.sessions(0)
