"""The full sample data set: size, time and the structure that only nine months show."""

import json
import time
from pathlib import Path
from zoneinfo import ZoneInfo

import databento
import numpy as np
import pandas as pd
import pytest

from loaders.sample import write_sample

CARRY = {"ESH4": 0.0, "ESM4": 50.5, "ESU4": 102.5, "ESZ4": 155.5, "ESH5": 208.0}
CHICAGO = ZoneInfo("America/Chicago")

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def read_outrights(folder: Path, names: list[str]) -> pd.DataFrame:
    parts = []
    for name in names:
        table = databento.DBNStore.from_file(folder / name).to_df(price_type="fixed", pretty_ts=False).reset_index()
        parts.append(table[table["symbol"].isin(list(CARRY))])
    bars = pd.concat(parts, ignore_index=True)
    moment = pd.to_datetime(bars["ts_event"].astype("int64"), utc=True).dt.tz_convert(CHICAGO)
    trade_date = (moment + pd.Timedelta(hours=7)).dt.strftime("%Y%m%d").astype(int)
    return bars.assign(moment=moment, session=trade_date, volume=bars["volume"].astype("int64"))


@pytest.mark.parametrize("edge", ["real", "power", "0"])
def test_full_set(tmp_path: Path, edge: str) -> None:
    started = time.perf_counter()
    report = write_sample(tmp_path / "sample", edge=edge)
    assert time.perf_counter() - started < 30.0
    truth = json.loads((tmp_path / "sample" / "truth.json").read_text())
    assert 0.20 <= report.by_kind["calendar_spread"] / report.records <= 0.25
    assert len(truth["faults"]) == 65
    assert [one["session"] for one in truth["rolls"]] == [20240312, 20240618, 20240917]
    assert truth["clock_changes"] == [20240311, 20241104] and truth["holidays"] == [20240329]

    bars = read_outrights(tmp_path / "sample", [one["name"] for one in truth["bar_files"]])
    assert set(bars["symbol"]) == set(CARRY)
    volume = bars.pivot_table("volume", "session", "symbol", "sum", fill_value=0)[list(CARRY)]
    leader = volume.idxmax(axis=1).shift().fillna("ESH4")
    assert leader.to_dict() == {one["session"]: one["contract"] for one in truth["schedule"]}
    front = bars[bars["symbol"] == bars["session"].map(leader)]
    assert front["ts_event"].nunique() == truth["front_minutes"] >= 250_000

    last = front.groupby("session")["moment"].max()
    assert last[20240527].hour == 11 and last[20240703].hour == 12 and last[20240528].hour == 15
    assert 20240329 not in last.index
    # An expired contract never trades again, though its id does.
    assert bars[bars["symbol"] == "ESH4"]["session"].max() == 20240315

    faulty = {(one["ts_event"], one["contract"]) for one in truth["faults"]}
    keys = pd.MultiIndex.from_arrays([bars["ts_event"].astype("int64"), bars["symbol"]])
    sound = bars[~keys.isin(list(faulty))]
    level = sound["close"] / 1e9 - sound["symbol"].map(CARRY)
    spread = level.groupby(sound["ts_event"]).agg(["min", "max"])
    # Contracts of one minute differ by carry (within 4 % of 208 points) and by when in the minute they last traded.
    assert np.percentile(spread["max"] - spread["min"], 99) < 0.04 * 208.0 + 15.0
