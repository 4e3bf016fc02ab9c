"""Real trades, quotes, books and definitions; the same is shown on generated data in test_ticks and test_trade_bars."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from loaders.bar_making import TimeBars, VolumeBars
from loaders.dbn import bars_from_trades, read_bars, read_book, read_definitions, read_quotes, read_trades
from loaders.errors import DataError
from loaders.files import describe
from loaders.layouts import READABLE_SCHEMAS
from loaders.partitions import partitions
from tests.loaders.tick_builder import client_frame

CATALOG = "nautilus/historical_bars_catalog/databento"
TRADES = f"{CATALOG}/futures_trades_2024-07-01T23-58_2024-07-02T00-02.dbn.zst"
QUOTES = f"{CATALOG}/futures_mbp-1_2024-07-01T23-58_2024-07-02T00-02.dbn.zst"
MINUTES = f"{CATALOG}/futures_ohlcv-1m_2024-07-01T23-40_2024-07-02T00-10.dbn.zst"
VALUES = ["ts_event", "contract", "expiry", "instrument_id", "publisher_id", "open", "high", "low", "close", "volume"]


@pytest.fixture(scope="module")
def real(shared_data: Path) -> Path:
    return shared_data / "dbn"


@pytest.mark.parametrize("source", [TRADES, QUOTES])
def test_bars_from_real_trades_are_the_exchanges_own(real: Path, source: str) -> None:
    bars, report = bars_from_trades(real / source, "ES")
    trades = report.files[0]["trades"]
    theirs, minutes = read_bars(real / MINUTES, "ES")
    assert (trades, minutes.records) == (120, 60)
    overlap = theirs[theirs["ts_event"].isin(bars["ts_event"])].reset_index(drop=True)
    assert overlap["ts_event"].dt.strftime("%H:%M").tolist() == ["23:58", "23:59", "00:00", "00:01"]
    pd.testing.assert_frame_equal(bars[VALUES], overlap[VALUES])
    assert bars["volume"].sum() == 18 + 23 + 175 + 37


def test_real_volume_bars_hold_all_trades(real: Path) -> None:
    bars, report = bars_from_trades(real / TRADES, "ES", VolumeBars(25))
    trades, _ = read_trades(real / TRADES, "ES")
    unfinished = trades["size"].iloc[len(trades) - report.dropped["unfinished_bar"]:].sum()
    assert bars["volume"].sum() + unfinished == trades["size"].sum() == 253
    assert (bars["volume"] >= 25).all()


def test_real_hours_from_real_seconds_of_trades(real: Path) -> None:
    hour, _ = bars_from_trades(real / TRADES, "ES", TimeBars("1h"))
    second, _ = bars_from_trades(real / TRADES, "ES", TimeBars("1s"))
    assert second["volume"].sum() == hour["volume"].sum() == 253
    assert (hour["high"].max(), hour["low"].min()) == (second["high"].max(), second["low"].min())


@pytest.mark.parametrize(
    ("name", "root", "read"),
    [(TRADES, "ES", read_trades), (QUOTES, "ES", read_quotes), (QUOTES, "ES", read_trades),
     *((f"dbn/test_data.{schema}.v{version}.dbn.zst", "ES", read) for version in (1, 2, 3)
       for schema, read in (("trades", read_trades), ("tbbo", read_quotes), ("mbp-1", read_quotes),
                            ("mbp-10", read_book))),
     ("databento-python/IFEU.IMPACT/test_data.mbp-10.dbn.zst", "BRN", read_book),
     ("databento-python/IFEU.IMPACT/test_data.trades.dbn.zst", "BRN", read_trades)],
)
def test_real_ticks_equal_the_clients(real: Path, name: str, root: str, read: object) -> None:
    theirs = client_frame(real / name)
    theirs = theirs[theirs["flags"] & 32 == 0]
    if read is read_trades:
        theirs = theirs[theirs["action"] == "T"]
    assert callable(read)
    ours, report = read(real / name, root)
    assert report.records == len(ours) + sum(report.dropped.values())
    assert ours["contract"].tolist() == theirs["symbol"].tolist()
    for column in set(ours.columns) & set(theirs.columns) - {"side", "symbol"}:
        np.testing.assert_array_equal(ours[column].to_numpy(), theirs[column].to_numpy(), err_msg=column)


def test_real_snapshots_at_midnight_are_dropped(real: Path) -> None:  # dbn.md §8.12
    quotes, report = read_quotes(real / QUOTES, "ES")
    theirs = client_frame(real / QUOTES)
    snapshot = theirs["flags"] & 32 != 0
    assert report.records == 2288
    assert report.dropped == {"snapshot": int(snapshot.sum())} and snapshot.sum() > 0
    assert (quotes["ts_recv"] - quotes["ts_event"] < pd.Timedelta("1s")).all()
    assert report.files[0]["order"]["late"] == 0


@pytest.mark.parametrize(("name", "root", "expiry"), [("IFEU.IMPACT", "BRN", 202404), ("NDEX.IMPACT", "TFM", 202403)])
def test_real_ice_contracts_by_symbol_and_by_definition(real: Path, name: str, root: str, expiry: int) -> None:
    folder = real / "databento-python" / name
    definition = folder / "test_data.definition.dbn.zst"
    bars = folder / "test_data.ohlcv-1m.dbn.zst"
    for places in ([bars], [bars, definition]):
        table, report = read_bars(places)
        assert (report.root, len(table), set(table["expiry"])) == (root, 4, {expiry})
    assert read_definitions(definition)[["asset", "instrument_class"]].to_numpy().tolist() == [[root, "F"]]


def test_real_equities_are_left_alone(real: Path) -> None:
    table, report = read_bars(real / "databento-python/EQUS.MINI/test_data.ohlcv-1m.dbn.zst")
    assert set(table["contract"]) == {"QQQ"} and len(table) == 4
    assert report.files[0]["unfiltered"] == "dataset EQUS.MINI holds equities"


def test_every_real_file_of_a_readable_schema_is_read_or_refused_by_name(real: Path) -> None:
    read = 0
    for path in sorted([*real.glob("*/*.dbn"), *real.glob("**/*.dbn.zst")]):
        try:
            schema = describe(path).schema
            if schema in READABLE_SCHEMAS:
                assert partitions(path)[0].path == str(path)
                read += 1
        except DataError as error:
            assert path.name in str(error)
    assert read > 60
