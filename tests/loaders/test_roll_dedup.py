"""The per-minute dedup, kept by name, shows what the roll rules are for."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from kernels.features.returns import log_returns
from loaders.continuous import continuous_bars
from loaders.outrights import OutrightBars, outright_bars
from loaders.roll import RollSettings, rolled_bars
from loaders.sessions import SessionRule
from tests.loaders.rolls import accepted, part, rolled

ROWS = [
    ("2024-03-04 15:00", "ESH4", 5000.0, 9), ("2024-03-04 15:00", "ESM4", 5050.0, 4),
    ("2024-03-04 15:01", "ESH4", 5001.0, 5), ("2024-03-04 15:01", "ESM4", 5051.0, 8),
    ("2024-03-04 15:02", "ESH4", 5002.0, 7), ("2024-03-04 15:02", "ESM4", 5052.0, 7),
    ("2024-03-04 15:03", "ESM4", 5053.0, 1),
]


def test_it_follows_the_busiest_contract_of_each_minute_and_of_equals_the_nearest() -> None:
    result = rolled(part(ROWS), rule="per_timestamp_volume")
    bars = continuous_bars(accepted(result.bars))
    assert bars["contract"].tolist() == ["ESH4", "ESM4", "ESH4", "ESM4"]
    np.testing.assert_array_equal(bars["old_price"], [np.nan, 5001.0, 5052.0, 5002.0])
    assert bars["adj_close"].tolist() == [5000.0, 5001.0, 5002.0, 5003.0]
    assert result.schedule[["contract", "volume", "volume_left", "reason"]].to_numpy().tolist() == [
        ["ESH4", 0, 0, "first session"], ["ESM4", 8, 5, "per_timestamp_volume"],
        ["ESH4", 7, 7, "per_timestamp_volume"], ["ESM4", 1, 0, "per_timestamp_volume"]]
    assert result.report == {"outright": 7, "followed": 4, "left": 3, "next": 0, "not_followed": 0,
                             "sessions": 1, "rolls": 3}


def test_months_outside_the_cycle_do_not_count() -> None:
    result = rolled(part(ROWS), rule="per_timestamp_volume", months="M")
    assert set(result.bars["contract"]) == {"ESM4"}
    assert result.report["not_followed"] == 3


def real_day(loaded: OutrightBars, date: str, roll: RollSettings) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """The series of a UTC day of real minutes under ``roll``, and which of its bars but the first switch the contract."""
    bars = continuous_bars(accepted(rolled_bars([loaded], SessionRule(), roll).bars))
    day = bars[bars["ts_event"].dt.strftime("%Y-%m-%d") == date]
    return day, day["contract"].ne(day["contract"].shift()).to_numpy()[1:]


@pytest.fixture(scope="module")
def real_es(shared_data: Path) -> OutrightBars:
    return outright_bars(shared_data / "dbn/derived-lean/es-2013-2020.ohlcv-1m.dbn.zst", [], "ES", 0)


@pytest.mark.parametrize(("date", "flips"), [("2013-12-18", 122), ("2013-12-20", 86)])
def test_a_real_day_flips_and_each_flip_looks_like_a_return(real_es: OutrightBars, date: str, flips: int) -> None:
    day, switched = real_day(real_es, date, RollSettings("per_timestamp_volume"))
    assert int(switched.sum()) == flips  # dbn.md §5.3
    raw = np.diff(np.log(day["close"]))
    assert np.median(np.abs(raw[switched])) > 30e-4
    assert (raw[switched] ** 2).sum() / (raw**2).sum() > 0.9
    inside = np.diff(np.log(day["adj_close"]))
    assert (np.abs(inside[switched]) < 25e-4).all()
    assert np.isnan(log_returns(day)[1:][switched]).all()


@pytest.mark.parametrize("date", ["2013-12-18", "2013-12-20"])
@pytest.mark.parametrize("roll", [
    RollSettings("volume", "HMUZ"), RollSettings("calendar", "HMUZ", expires="third_friday", days_before=1),
    RollSettings("calendar", "HMUZ", "ratio", expires="third_friday", days_before=2),
    RollSettings("months", "HMUZ", months_before=0, month_day=18),
])  # fmt: skip
def test_every_other_rule_switches_once_without_a_return(real_es: OutrightBars, date: str, roll: RollSettings) -> None:
    day, switched = real_day(real_es, date, roll)  # dbn.md §8.6
    assert switched.sum() <= 1
    assert (np.abs(np.diff(np.log(day["adj_close"])))[switched] < 25e-4).all()
    assert np.isnan(log_returns(day)[1:][switched]).all()
