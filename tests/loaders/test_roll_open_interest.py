"""Open interest out of statistics files of every DBN version; everything else counted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loaders.errors import DataError
from loaders.roll_open_interest import OPEN_INTEREST_COLUMNS, known_open_interest, open_interest
from tests.loaders.dbn_builder import bars, metadata, ns, write
from tests.loaders.rolls import known
from tests.loaders.statistics_builder import HEAD, statistic, write_statistics


def rows(result: Any) -> list[list[Any]]:
    table = result.values.assign(ts_recv=result.values["ts_recv"].dt.strftime("%m-%d %H:%M"))
    return table.to_numpy().tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_values_come_with_arrival_and_day_and_all_else_is_counted(tmp_path: Path, version: int) -> None:
    undefined = 2**31 - 1 if version < 3 else 2**63 - 1
    day = {"ts_ref": ns("2024-03-01")}
    path = write_statistics(
        tmp_path / "es.statistics.dbn.zst",
        statistic("2024-03-03 20:00", 102, 700, version, stat_flags=1, **day),
        statistic("2024-03-03 18:00", 101, 900, version, **day),
        statistic("2024-03-03 19:00", 101, 5, version, stat_type=6),
        statistic("2024-03-03 19:00", 103, 5, version),
        statistic("2024-03-03 19:00", 101, undefined, version),
        statistic("2024-03-04 21:00", 101, undefined, version, update_action=2),
        version=version,
    )
    result = open_interest([path], [], "ES")
    assert rows(result) == [
        ["03-03 18:00", 19783, 202403, 900, False], ["03-03 20:00", 19783, 202406, 700, True],
        ["03-04 21:00", 19786, 202403, -1, True]]  # no day stated: the day of arrival
    assert {name: str(dtype) for name, dtype in result.values.dtypes.items()} == OPEN_INTEREST_COLUMNS
    assert result.report == {"files": 1, "records": 6, "open_interest": 3, "other_statistics": 1,
                             "other_instruments": 1, "undefined": 1}


def test_order_of_files_and_records_does_not_matter(tmp_path: Path) -> None:
    one = [statistic(f"2024-03-0{day} 20:00", number, 100 * day + number) for day in (4, 5) for number in (101, 102)]
    first = write_statistics(tmp_path / "a.dbn", *one[:2]), write_statistics(tmp_path / "b.dbn", *one[2:])
    other = write_statistics(tmp_path / "c.dbn", *one[::-1])
    assert rows(open_interest(first[::-1], [], "ES")) == rows(open_interest([other], [], "ES"))


def test_no_file_is_no_open_interest_and_another_schema_is_refused(tmp_path: Path) -> None:
    assert open_interest([], [], "ES").values.empty
    path = write(tmp_path / "es.dbn", metadata(HEAD), bars([("2024-03-04 15:00", 101, 5000)]))
    with pytest.raises(DataError, match="has schema ohlcv-1m where statistics were expected"):
        open_interest([path], [], "ES")


def test_known_is_what_had_arrived_before_the_moment() -> None:
    values = known(("2024-03-03 20:00", "2024-03-01", 202403, 900, False),
                   ("2024-03-04 15:00", "2024-03-01", 202403, 910, True),
                   ("2024-03-05 02:00", "2024-03-04", 202403, 800, False),
                   ("2024-03-05 03:00", "2024-03-01", 202403, 1, True))
    moments = np.array([ns(f"2024-03-0{text}") for text in ("3 20:00", "3 20:01", "4 15:01", "5 02:01", "5 03:01")])
    found = known_open_interest(values, moments, np.array([202403, 202406], dtype=np.int32))
    assert found.tolist() == [[-1, -1], [900, -1], [910, -1], [800, -1], [800, -1]]


def test_real_statistics_are_read(shared_data: Path) -> None:
    files = [shared_data / "dbn/databento-python/GLBX.MDP3/test_data.statistics.dbn.zst"]
    result = open_interest(files, [], "ES")
    assert result.report == {"files": 1, "records": 4, "open_interest": 0, "other_statistics": 4,
                             "other_instruments": 0, "undefined": 0}
    files = sorted(shared_data.glob("dbn/dbn/test_data.statistics.v*.dbn.zst"))
    definition = shared_data / "dbn/nautilus/definition-glbx-es-fut.dbn.zst"
    assert open_interest(files, [definition], "ES").report["records"] == 6
