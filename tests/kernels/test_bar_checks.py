"""The user's table at the door of a sweep: what cannot be what it says is named with its bar, value, limit and remedy."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from kernels import bar_checks
from kernels.bars import BarsError
from kernels.execution import Execution
from kernels.expressions import choice, col, hold, param, where
from kernels.indicators import sma
from kernels.strategies import ema_cross, positions
from kernels.strategy import Strategy
from kernels.sweep import sweep
from kernels.symbols import sweep_symbols
from tests.kernels.order_ledger import ohlc
from tests.kernels.shipped import same_tables

STOPPED = Strategy("stopped", col("target"), stop_loss=0.004)
RANGED = Strategy("ranged", where(col("close") > (col("high") + col("low")) / 2.0, 1.0, -1.0))


@pytest.fixture
def bars(random_bars):
    return ohlc(random_bars(51, bars=60), 51)


def scored(strategy, bars, contract, **options):
    return sweep(strategy, bars, instrument=contract, executor="numpy", **options)


def at(bars, bar, **values):
    """The table with other values at one bar, of whatever type they are."""
    changed = bars.copy()
    for name, value in values.items():
        column = changed[name].astype(object) if isinstance(value, str) else changed[name].copy()
        column.iloc[bar] = value
        changed[name] = column
    return changed


FIVE = "bar 2024-01-02T00:05Z C0: "
WRONG = [
    (positions(), lambda b: at(b, 5, close=np.inf), FIVE + r"close inf is not a finite number \(layer 1\): .*'masked'"),
    (positions(), lambda b: at(b, 5, close=np.nan), FIVE + "close nan is not a finite number"),
    (positions(), lambda b: at(b, 5, open=-np.inf), FIVE + "open -inf is not a finite number"),
    (positions(), lambda b: at(b, 5, old_price=np.inf), FIVE + "old_price inf is not a finite number"),
    (positions(), lambda b: at(b, 5, close="4000.25"), r"bar 2024-01-02T00:05Z: close '4000\.25' is a str, not a number"),
    (positions(), lambda b: b.assign(open=b["open"].astype(str)), r"T00:00Z: open '\d+\.\d+' is a str.*pandas\.to_numeric"),
    (positions(), lambda b: b.assign(target=b["ts_event"]), "T00:00Z: target .* is a Timestamp, not a number"),
    (positions(), lambda b: b.assign(masked=b["masked"].astype(str)), "T00:00Z: masked 'False' is a str, not True or False"),
    (positions(), lambda b: b.assign(masked=2), "T00:00Z: masked 2 is not True or False"),
    (positions(), lambda b: pd.concat([b, b[["close"]]], axis=1), "2 columns 'close': rename or drop all but one"),
    (positions(), lambda b: pd.concat([b, b[["volume"]]], axis=1), "the bars have 2 columns 'volume'"),
    (positions(), lambda b: b.assign(target=[1.0, "up"] * 30), "T00:01Z: target 'up' is a str, not a number"),
    (positions(), lambda b: b.assign(target=b["target"] + 0j), "T00:00Z: target .* is a complex128, not a number"),
    (positions(), lambda b: b.assign(session=20240230), r"T00:00Z: session 20240230 is no trade date yyyymmdd"),
    (positions(), lambda b: b.assign(session="20240102"), "T00:00Z: session '20240102' is a str, not a number"),
    (positions(), lambda b: pd.concat({"ES": b}, axis=1), r"columns of 2 levels, such as \('ES', 'ts_event'\): .*droplevel"),
    (STOPPED, lambda b: at(b, 5, high=3900.0), FIVE + r"high 3900 < low 3999.25"),
    (STOPPED, lambda b: at(b, 5, high=np.nan), FIVE + "high nan is not a finite number"),
    (STOPPED, lambda b: at(b, 5, low=np.nan), FIVE + "low nan is not a finite number"),
    (STOPPED, lambda b: at(b, 5, low=np.inf, high=np.inf), FIVE + "high inf is not a finite number"),
    (STOPPED, lambda b: at(b, 5, open=9000.0), FIVE + r"open 9000 > high 4"),
    (STOPPED, lambda b: at(b, 5, open=1.0), FIVE + r"open 1 < low 3999.25"),
    (STOPPED, lambda b: at(b, 5, close=9000.0), FIVE + r"close 9000 > high 4"),
    (STOPPED, lambda b: at(b, 5, close=1.0), FIVE + r"close 1 < low 3999.25"),
    (RANGED, lambda b: at(b, 5, high=3900.0), FIVE + r"high 3900 < low 3999.25"),
]


@pytest.mark.parametrize(("strategy", "change", "message"), WRONG)
def test_a_table_that_cannot_be_what_it_says_is_refused(strategy, change, message, bars, contract):
    with pytest.raises(BarsError, match=message):
        scored(strategy, change(bars.assign(volume=1.0)), contract)


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("kind", [np.int64, "datetime64[ns]", "datetime64[ns, UTC]"])
def test_times_that_were_read_in_the_wrong_unit_are_refused(unit, kind, bars, contract):
    """Milliseconds that counted as nanoseconds gave a Sharpe ratio of -122 where -39 is right."""
    since = bars["ts_event"].astype("int64") // {"s": 10**9, "ms": 10**6, "us": 10**3}[unit]
    with pytest.raises(BarsError, match=r"'ts_event' ends at 1970-01-\d\dT.*read as nanoseconds; .*unit='ms', utc=True"):
        scored(positions(), bars.assign(ts_event=since.astype(kind)), contract, returns="bar")


def test_times_beyond_nanoseconds_are_refused(bars, contract):
    late = bars["ts_event"].dt.tz_localize(None).astype("datetime64[s]") + np.timedelta64(400 * 365, "D")
    with pytest.raises(BarsError, match="holds times that nanoseconds since 1970 cannot"):
        scored(positions(), bars.assign(ts_event=late), contract, returns="bar")


def test_nanoseconds_and_bars_of_the_sixties_are_times(bars, contract):
    expected = scored(positions(), bars, contract).table
    for times in (bars["ts_event"].astype("int64"), bars["ts_event"].astype("int64").astype("Int64")):
        assert same_tables(scored(positions(), bars.assign(ts_event=times), contract).table, expected)
    early = bars.drop(columns="session").assign(ts_event=pd.date_range("1969-11-03", periods=60, tz="UTC"))
    assert len(scored(positions(), early, contract).table) == 1


def test_what_means_something_stays_legal(bars, contract):
    """Masked bars without any price, NaN in a strategy's columns and no roll, numbers of any kind: the same numbers."""
    masked = bars.assign(masked=bars.index == 5)
    expected = scored(STOPPED, masked, contract).table
    poisoned = at(masked, 5, open=np.nan, high=1.0, low=9000.0, close=np.inf)
    assert same_tables(scored(STOPPED, poisoned, contract).table, expected)
    for kind in (object, int, float, "boolean", "Int8"):
        assert same_tables(scored(STOPPED, masked.assign(masked=masked["masked"].astype(kind)), contract).table, expected)
    for kind in (object, "Float64"):
        other = masked.assign(**{name: masked[name].astype(kind) for name in ("open", "high", "low", "close", "target")})
        assert same_tables(scored(STOPPED, other, contract).table, expected)
    mixed = {"close": [Decimal(str(x)) if n % 2 else x for n, x in enumerate(masked["close"])], "masked": [False, 0] * 30}
    mixed["masked"][5] = True
    assert same_tables(scored(STOPPED, masked.assign(**mixed), contract).table, expected)
    for name in ("close", "target", "masked", "session", "contract"):
        other = masked.assign(**{name: masked[name].astype("category")})
        assert same_tables(scored(STOPPED, other, contract).table, expected)
    gaps = at(bars, 5, adj_close=np.nan).assign(bench=np.where(bars.index < 30, np.nan, np.inf), unread="text", high=0.0)
    exogenous = Strategy("exogenous", where(sma(col("adj_close"), 3) > col("bench"), 1.0, hold()))
    assert len(scored(exogenous, gaps, contract).table) == 1


def test_a_close_that_was_not_read_is_not_judged(bars, contract):
    """Without a stop, and without reading them, highs and lows do not touch the account."""
    expected = scored(positions(), bars, contract).table
    assert same_tables(scored(positions(), bars.assign(high=np.nan, low="none"), contract).table, expected)


def test_a_table_is_checked_once_whatever_runs_on_it(bars, contract, monkeypatch):
    seen = []
    check = bar_checks.checked_bars
    monkeypatch.setattr(bar_checks, "checked_bars", lambda *given: seen.append(given) or check(*given))
    signal = choice("signal", {"fast": sma(col("close"), param("n")), "slow": col("close")})
    many = Strategy("many", where(signal > param("level"), 1.0, -1.0))
    assert len(scored(many, bars, contract, grid={"n": [2, 3], "level": [4000.0]}).parts) == 2 and len(seen) == 1
    sweep(ema_cross(), bars, grid={"fast": [2, 3], "slow": [9]}, top=1, executor="numpy", windows=[(10, 30), (30, 60)])
    assert len(seen) == 2


def test_an_option_that_is_chosen_later_is_checked_too(bars, contract):
    stop = choice("stop", {"none": 0.0, "tight": 0.002})
    with pytest.raises(BarsError, match="high nan is not a finite number"):
        scored(Strategy("s", col("target"), stop_loss=stop), at(bars, 5, high=np.nan), contract)
    shown = choice("read", {"close": col("close"), "text": col("text")})
    with pytest.raises(BarsError, match="text 'x' is a str, not a number"):
        scored(Strategy("s", where(shown > 0.0, 1.0, 0.0)), bars.assign(text="x"), contract)


class OnDevice:
    """A table that lies on a device: it gives its columns' names, and a table of pandas when asked."""

    def __init__(self, table: pd.DataFrame) -> None:
        self._table = table
        self.columns, self.iloc = table.columns, None

    def to_pandas(self) -> pd.DataFrame:
        return self._table


def test_a_table_on_a_device_is_fetched_and_checked(bars, contract):
    expected = scored(positions(), bars, contract)
    found = scored(positions(), OnDevice(bars), contract)
    assert same_tables(found.table, expected.table) and found.trace(0).equals(expected.trace(0))
    with pytest.raises(BarsError, match=FIVE + "close inf is not a finite number"):
        scored(positions(), OnDevice(at(bars, 5, close=np.inf)), contract)
    own = sweep_symbols(positions(), OnDevice(bars.assign(symbol="T")), instruments={"T": contract}, executor="numpy")
    assert same_tables(own["T"].table, expected.table)


@pytest.mark.gpu
def test_a_cudf_table_gets_the_same_words(bars, contract):
    cudf = pytest.importorskip("cudf", reason="cudf is not installed; it comes with the [gpu] extra")
    given = bars.drop(columns="contract").assign(ts_event=bars["ts_event"].dt.tz_localize(None))
    assert same_tables(
        scored(positions(), cudf.from_pandas(given), contract).table, scored(positions(), given, contract).table
    )
    with pytest.raises(BarsError, match="bar 2024-01-02T00:05Z: close inf is not a finite number"):
        scored(positions(), cudf.from_pandas(at(given, 5, close=np.inf)), contract)


def test_times_in_messages_are_utc(bars, contract):
    for times in (bars["ts_event"].dt.tz_convert("America/Chicago"), bars["ts_event"].astype("int64")):
        with pytest.raises(BarsError, match=FIVE + "close inf"):
            scored(positions(), at(bars, 5, close=np.inf).assign(ts_event=times), contract, execution=Execution("close"))
