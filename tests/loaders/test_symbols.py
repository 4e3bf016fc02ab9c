"""An instrument id means a symbol on a date, never by itself."""

from pathlib import Path

import databento_dbn as dbn
import numpy as np
import pytest

from loaders.errors import DataError
from loaders.metadata import read_metadata
from loaders.symbols import Interval, symbol_map
from tests.loaders.dbn_builder import mapping, metadata, write


def names(intervals: list[Interval], *asked: tuple[int, int]) -> list[str | None]:
    mapped = symbol_map(intervals)
    ids, days = np.array(asked, dtype=np.int64).T
    return [mapped.symbols[code] if code >= 0 else None for code in mapped.lookup(ids, days)]


def test_an_id_is_looked_up_by_date() -> None:
    reused = [Interval(7, 100, 110, "ESH4-ESM4"), Interval(7, 110, 120, "ESU4"), Interval(8, 105, 106, "ESZ4")]
    asked = [(7, 99), (7, 100), (7, 109), (7, 110), (7, 119), (7, 120), (8, 105), (8, 106), (6, 105), (9, 105)]
    expected = [None, "ESH4-ESM4", "ESH4-ESM4", "ESU4", "ESU4", None, "ESZ4", None, None, None]
    assert names(reused, *asked) == expected
    assert names(reused[::-1], *asked) == expected


def test_largest_ids_do_not_collide() -> None:
    assert names([Interval(2**32 - 1, 100, 200, "A"), Interval(2**31, 100, 200, "B")],
                 (2**32 - 1, 150), (2**31, 150), (2**31 - 1, 150)) == ["A", "B", None]


def test_of_overlapping_intervals_the_latest_start_wins_and_the_older_is_not_resumed() -> None:
    overlapping = [Interval(7, 100, 130, "OLD"), Interval(7, 110, 120, "NEW")]
    assert names(overlapping, (7, 105), (7, 115), (7, 125)) == ["OLD", "NEW", None]


def test_an_interval_without_a_day_maps_nothing() -> None:  # case C14
    assert names([Interval(5602, 100, 100, "ESM4")], (5602, 100)) == [None]


def test_dates_before_1970_and_far_ahead_do_not_spill_into_other_ids() -> None:
    wide = [Interval(7, -400_000, 2_900_000, "EVER"), Interval(8, 2_000_000, 2_900_000, "LATE")]
    assert names(wide, (7, 0), (7, 20_000), (8, 20_000), (6, 20_000), (9, 0)) == ["EVER", "EVER", None, None, None]


def test_two_symbols_for_one_id_and_day_are_refused() -> None:
    with pytest.raises(DataError, match="id 7 is mapped to both A and B from 1970-01-02"):
        symbol_map([Interval(7, 1, 5, "B"), Interval(7, 1, 9, "A")])


def test_mappings_from_ids_to_symbols_are_read_too(path: Path) -> None:
    reverse = mapping("101", ("2024-03-01", "2024-03-16", "ESH4"))
    head = metadata([reverse], stype_in=dbn.SType.INSTRUMENT_ID, stype_out=dbn.SType.RAW_SYMBOL)
    mapped = read_metadata(write(path, head)).mappings
    day = np.array([np.datetime64("2024-03-15")]).astype(np.int64)
    assert [mapped.symbols[code] for code in mapped.lookup(np.array([101]), day)] == ["ESH4"]
