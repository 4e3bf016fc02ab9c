"""Every record is an outright bar or counted by the kind for which it is dropped."""

from pathlib import Path

import databento_dbn as dbn
import numpy as np
import pandas as pd
import pytest

from loaders.errors import DataError
from loaders.grammar import KINDS
from loaders.outrights import OutrightBars
from loaders.types import OUTRIGHT_COLUMNS, UNDEF_PRICE
from tests.loaders.dbn_builder import (
    POINT,
    bar,
    bars,
    definition,
    load,
    mapping,
    metadata,
    ns,
    write,
    write_definitions,
)

MARCH = ("2024-03-01", "2024-04-01")
NOON = "2024-03-04 12:00"


def mapped(path: Path, symbols: list[str], rows: bytes, **changes: object) -> Path:
    """File whose symbols have the ids 1, 2, 3 … all March."""
    return write(path, metadata([mapping(s, (*MARCH, i + 1)) for i, s in enumerate(symbols)], **changes), rows)


def fate(loaded: OutrightBars) -> dict[str, int]:
    report = loaded.report
    assert report["records"] == report["outright"] + sum(report["dropped"].values())
    assert report["outright"] == len(loaded.bars)
    assert set(report["dropped"]) <= set(KINDS)
    return dict(report["dropped"])


def test_dropped_records_are_counted_by_kind(path: Path) -> None:  # dbn.md §8.3
    symbols = ["ESH4", "ESH4-ESM4", "ES:BF H4-M4-U4", "UD:1V: VT 2893249", "ESM4 C5000", "ESTM4", "SR3:CF M6U6Z6H7",
               "BAC-L", "FDAX.S.JUN25.SEP25.SPD", "ESM4"]
    rows = bars((NOON, number, 5000) for number in (*range(1, 11), 2, 77, 1))
    loaded = load(mapped(path, symbols, rows))
    assert fate(loaded) == {
        "other_root": 1, "calendar_spread": 2, "butterfly": 1, "user_defined": 1, "option": 1, "other_spread": 2,
        "other": 1, "unmapped": 1,
    }
    assert loaded.bars["contract"].tolist() == ["ESH4", "ESM4", "ESH4"]
    assert loaded.report["unmapped_ids"] == [77]
    assert loaded.report["contracts"] == ["ESH4", "ESM4"]


def test_the_table_has_the_agreed_columns_and_values(path: Path) -> None:  # cases C02, C07, C10
    rows = [bar("2026-01-02 14:30", 5602, 0, volume, open=5199750000000, high=7250000000, low=3750000000,
                close=-39970000000).tobytes() for volume in (5, 3, 4_000_000_000, 4_000_000_000)]
    head = metadata([mapping("ESH6", ("2026-01-02", "2026-01-03", 5602))])
    table = load(write(path, head, b"".join(rows)), ordinal=3).bars
    assert {name: str(dtype) for name, dtype in table.dtypes.items()} == OUTRIGHT_COLUMNS
    assert table["ts_event"].astype("int64").unique().tolist() == [1767364200000000000]
    first = table.iloc[0]
    assert [first[p] / POINT for p in ("open", "high", "low", "close")] == [5199.75, 7.25, 3.75, -39.97]
    assert table["volume"].diff().iloc[1] == -2
    assert table["volume"].cumsum().iloc[-1] == 8_000_000_008
    assert table["source_row"].tolist() == [(3 << 40) + i for i in range(4)]
    assert (table["expiry"] == 202603).all()


def test_sentinel_zero_and_negative_prices_are_kept_for_the_sanitiser(path: Path) -> None:  # case C01, dbn.md §8.8
    rows = b"".join([
        bar(NOON, 1, 5199.75).tobytes(),
        bar(NOON, 1, 5199.75, close=UNDEF_PRICE).tobytes(),
        bar(NOON, 1, -37.63).tobytes(),
        bar(NOON, 1, 0).tobytes(),
    ])
    closes = load(mapped(path, ["ESH4"], rows)).bars["close"]
    assert closes.tolist() == [5199750000000, dbn.UNDEF_PRICE, -37630000000, 0]
    assert closes.dtype == np.int64


def test_an_undefined_timestamp_is_counted_and_never_a_bar_of_1969(path: Path) -> None:  # case C09
    rows = bars([(2**64 - 1, 1, 5000), (NOON, 1, 5000), (2**63, 1, 5000)])
    loaded = load(mapped(path, ["ESH4"], rows))
    assert fate(loaded) == {"undefined_timestamp": 2}
    assert loaded.bars["ts_event"].tolist() == [pd.Timestamp(NOON, tz="UTC")]
    assert not loaded.bars["backwards"].any()


def test_an_undefined_volume_is_counted(path: Path) -> None:
    rows = bar(NOON, 1, 5000, volume=2**64 - 1).tobytes() + bar(NOON, 1, 5000).tobytes()
    assert fate(load(mapped(path, ["ESH4"], rows))) == {"undefined_volume": 1}


def test_nanoseconds_are_kept_exactly(path: Path) -> None:  # case C08
    moments = [1767364200011617669, 1767364200011617672]
    head = metadata([mapping("ESH6", ("2026-01-02", "2026-01-03", 1))])
    table = load(write(path, head, bars((moment, 1, 5000) for moment in moments))).bars
    assert table["ts_event"].astype("int64").tolist() == moments


def test_equal_and_differing_duplicates_pass_through(path: Path) -> None:  # case C04: layer 1 decides
    rows = [("2024-03-05 14:30", 1, 5000.0, 100), ("2024-03-05 14:31", 1, 5001.0, 120),
            ("2024-03-05 14:31", 1, 5001.5, 130), ("2024-03-05 14:31", 2, 5040.0, 7),
            ("2024-03-05 14:32", 1, 5002.0, 90)]
    table = load(mapped(path, ["ESH4", "ESM4"], bars(rows))).bars
    assert table["volume"].tolist() == [100, 120, 130, 7, 90]
    assert table["contract"].tolist() == ["ESH4", "ESH4", "ESH4", "ESM4", "ESH4"]


def test_rows_that_step_back_in_time_are_marked(path: Path) -> None:
    rows = bars((f"2024-03-05 14:3{m}", 1, 5000) for m in (0, 1, 1, 3, 2, 3, 4))
    table = load(mapped(path, ["ESH4", "ESH4-ESM4"], rows)).bars
    assert table["backwards"].tolist() == [False, False, False, False, True, False, False]


@pytest.mark.parametrize("number", [1, 2])
def test_a_time_in_another_century_makes_no_other_record_late(path: Path, number: int) -> None:
    late = 9_223_286_400_000_000_000  # 2262-04-11, in an outright and in a spread
    rows = bars([("2024-03-05 14:30", 1, 5000), (late, number, 5000), ("2024-03-05 14:31", 1, 5001),
                 ("1999-01-01", number, 5000), ("2024-03-05 14:32", 1, 5001)])
    loaded = load(mapped(path, ["ESH4", "ESH4-ESM4"], rows))
    assert not loaded.bars["backwards"].any()
    assert len(loaded.bars) == 3
    assert sum(loaded.report["dropped"].values()) == 2
    assert loaded.report["last"] == "2024-03-05T14:32:00+00:00"


def test_a_mapped_time_outside_of_the_request_is_dropped_under_its_own_name(path: Path) -> None:
    rows = bars([("2024-02-28", 1, 5000), ("2024-02-29", 1, 5000), ("2024-04-02", 1, 5000), ("2024-04-02 00:01", 1, 5000)])
    head = metadata([mapping("ESH4", ("2000-01-01", "2100-01-01", 1))], start=ns("2024-03-01"), end=ns("2024-04-01"))
    loaded = load(write(path, head, rows))
    assert loaded.report["dropped"] == {"outside_request": 2}, "requested for March; a day on each side is let through"
    assert loaded.report["records"] == 4
    with pytest.raises(DataError, match=r"'outside_request': 1\}; it was requested for 2024-03-01T00:00:00\+00:00 to 2024-04"):
        load(write(path, head, rows[:56]))


def test_a_step_back_is_seen_across_chunks(path: Path) -> None:
    start = ns("2024-03-05")
    order = np.arange(140_000)
    order[70_000] = 10
    rows = np.repeat(bar(start, 1, 5000), len(order))
    rows["ts_event"] = start + order * 1_000_000_000
    table = load(mapped(path, ["ESH4"], rows.tobytes())).bars
    assert np.flatnonzero(table["backwards"]).tolist() == [70_000]
    assert table["source_row"].tolist() == list(range(140_000))


def test_an_id_reused_for_another_symbol_is_judged_by_date(path: Path) -> None:  # dbn.md §8.5
    head = metadata([mapping("ESH4-ESM4", ("2024-03-01", "2024-03-10", 7)),
                     mapping("ESM4", ("2024-03-10", "2024-04-01", 7))])
    rows = bars([("2024-03-09 23:59", 7, 50), ("2024-03-10 00:00", 7, 5100)])
    loaded = load(write(path, head, rows))
    assert fate(loaded) == {"calendar_spread": 1}
    assert loaded.bars["close"].tolist() == [5100 * POINT]


def test_one_symbol_of_two_decades_is_two_contracts(path: Path) -> None:  # dbn.md §8.4
    head = metadata([mapping("ESH4", ("2014-01-01", "2014-03-22", 7), ("2024-01-01", "2024-03-16", 9))])
    loaded = load(write(path, head, bars([("2014-03-03 15:00", 7, 1850), ("2024-03-04 15:00", 9, 5100)])))
    assert loaded.bars["expiry"].tolist() == [201403, 202403]
    assert loaded.listed.to_numpy().tolist() == [
        [201403, "ESH4", 20140101, 20140321], [202403, "ESH4", 20240101, 20240315]]


def test_one_and_two_digit_years_are_the_same_contract(path: Path) -> None:
    loaded = load(mapped(path, ["ESM4", "ESM24"], bars([(NOON, 1, 5000), (NOON, 2, 5000)])))
    assert loaded.bars["expiry"].tolist() == [202406, 202406]


def test_a_mapping_interval_without_a_day_counts_as_unmapped(path: Path) -> None:  # case C14
    head = metadata([mapping("ESM4", ("2024-05-09", "2024-05-09", 5602)),
                     mapping("ESU4", ("2024-05-09", "2024-05-10", 2))])
    loaded = load(write(path, head, bars([("2024-05-09 10:00", 5602, 5200), ("2024-05-09 10:00", 2, 5260)])))
    assert fate(loaded) == {"unmapped": 1}
    assert loaded.report["unmapped_ids"] == [5602]


def test_an_empty_day_gives_an_empty_table_of_the_same_types(path: Path) -> None:  # cases C13; dbn.md §8.9
    loaded = load(mapped(path, ["ESH4"], b""))
    assert {name: str(dtype) for name, dtype in loaded.bars.dtypes.items()} == OUTRIGHT_COLUMNS
    assert (len(loaded.bars), loaded.report["records"], loaded.report["first"]) == (0, 0, None)
    normal = load(mapped(path, ["ESH4"], bars([(NOON, 1, 5000)]))).bars
    together = pd.concat([loaded.bars, normal, loaded.bars], ignore_index=True)
    pd.testing.assert_frame_equal(together, normal)


def test_a_file_without_the_root_is_an_error_that_names_what_is_there(path: Path) -> None:
    rows = bars([(NOON, 1, 5000), (NOON, 2, 50), (NOON, 3, 18000)])
    found = r"es\.ohlcv.*none of its 3 records.*'CL'; outright roots seen: ES, NQ;.*ESH4-ESM4"
    with pytest.raises(DataError, match=found):
        load(mapped(path, ["ESH4", "ESH4-ESM4", "NQH4"], rows), root="CL")


def test_a_request_without_end_or_with_an_undefined_start_is_reported_as_none(path: Path) -> None:
    loaded = load(mapped(path, ["ESH4"], bars([(NOON, 1, 5000)]), start=2**64 - 1, end=None))
    assert loaded.report["requested"] == [None, None]


def test_a_dataset_without_a_symbol_rule_needs_definitions(path: Path, tmp_path: Path) -> None:
    bars_file = mapped(path, ["BRN FMJ0024!"], bars([(NOON, 1, 80)]), dataset="XSES.NEW")
    with pytest.raises(DataError, match=r"dataset XSES\.NEW \(known: GLBX\.MDP3, .*\); put its definition files"):
        load(bars_file, root="BRN")
    record = definition("2024-03-04", 1, "BRN FMJ0024!", "BRN", "F", maturity_year=2024, maturity_month=4)
    loaded = load(bars_file, "BRN", [write_definitions(tmp_path / "d.dbn.zst", record)])
    assert loaded.bars[["contract", "expiry"]].to_numpy().tolist() == [["BRN FMJ0024!", 202404]]


def test_a_definition_file_given_as_bars_is_refused(tmp_path: Path) -> None:
    record = definition("2024-03-04", 1, "ESH4", "ES", "F")
    with pytest.raises(DataError, match="has schema definition where bars were expected"):
        load(write_definitions(tmp_path / "d.dbn.zst", record))


def test_a_file_without_end_believes_no_time_in_another_century(path: Path) -> None:
    head = metadata(end=None, start=2**64 - 1, stype_in=dbn.SType.CONTINUOUS, symbols=["ES.v.0"])
    late = 9_223_286_400_000_000_000
    loaded = load(write(path, head, bars([("2024-03-05 14:30", 1, 5000), (late, 1, 5000), ("2024-03-05 14:31", 1, 5001)])))
    assert len(loaded.bars) == 2 and not loaded.bars["backwards"].any()
    assert loaded.report["dropped"] == {"outside_request": 1}


def test_definitions_of_other_dates_are_named_where_they_leave_nothing(path: Path) -> None:
    write(path, metadata([]), bars([("2024-03-05 15:00", 7, 5000.0)]))
    for date, kept in (("2024-03-05", 1), ("2024-03-01", 0), ("2019-03-05", 0)):
        file = write_definitions(path.with_name("d.dbn"), definition(date, 7, "ESH4", "ES", "F"))
        if kept:
            assert len(load(path, definitions=[file]).bars) == 1
        else:
            with pytest.raises(DataError, match="ids 7 have no symbol in the file and no definition on their dates"):
                load(path, definitions=[file])
