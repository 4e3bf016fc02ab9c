"""The roll schedule goes out as text and comes back, edited or not; one that does not fit is refused with its line."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from loaders.errors import DataError
from loaders.roll import RolledBars, RollSettings, rolled_bars
from loaders.sessions import SessionRule
from tests.loaders.rolls import day, followed, part, random_market, rolled

MARKET = part([row for date in pd.bdate_range("2024-03-11", "2024-03-20").strftime("%Y-%m-%d")
               for row in day(date, **({"ESH4": 9} if date <= "2024-03-15" else {}), ESM4=5, ESU4=1)])


def scheduled(tmp_path: Path, text: str, market: Any = MARKET) -> RolledBars:
    path = tmp_path / "rolls.csv"
    path.write_text(text, encoding="utf-8")
    result = rolled_bars([market], SessionRule(), RollSettings(months="HMUZ", schedule=str(path)))
    passed = rolled_bars([market], SessionRule(), RollSettings(months="HMUZ"), schedule_files=(path,))
    pd.testing.assert_frame_equal(passed.schedule, result.schedule)
    return result


def test_a_file_replaces_the_rule(tmp_path: Path) -> None:
    result = scheduled(tmp_path, "session,contract\n2024-03-01,ESH4\n20240313,ESM4\n2024-03-20,ESU4\n")
    assert followed(result) == [(20240311, "ESH4"), (20240312, "ESH4"), (20240313, "ESM4"), (20240314, "ESM4"),
                                (20240315, "ESM4"), (20240318, "ESM4"), (20240319, "ESM4"), (20240320, "ESU4")]
    assert set(result.schedule["reason"]) == {"schedule file"}
    roles = result.bars.groupby(["session", "contract"])["role"].first()
    assert (roles[20240312, "ESM4"], roles[20240313, "ESH4"]) == ("next", "left")


@pytest.mark.parametrize("rule", ["volume", "calendar", "months"])
def test_the_text_of_a_schedule_read_back_makes_the_same_series(tmp_path: Path, rule: str) -> None:
    market = random_market(3)
    settings = {"rule": rule, "expires": "third_friday", "months_before": 0, "month_day": 12}
    made = rolled(market, **settings)
    assert len(made.schedule) > 1
    again = scheduled(tmp_path, "\n".join(made.schedule_text), market)
    pd.testing.assert_frame_equal(again.bars, made.bars)
    pd.testing.assert_frame_equal(again.schedule.drop(columns="reason"), made.schedule.drop(columns="reason"))


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rolls.csv"
    path.write_bytes("session,contract,why\n20240313,ESM4,\xfcber\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"rolls\.csv: is no CSV file in UTF-8"):
        rolled_bars([MARKET], SessionRule(), RollSettings(months="HMUZ", schedule=str(path)))


@pytest.mark.parametrize(("text", "message"), [
    ("date,contract\n20240311,ESH4\n", r"rolls\.csv, line 1: has no column session"),
    ("session,contract\n", r"rolls\.csv: has no rows"),
    ("session,contract\n20240311,ESH4\n2024031,ESM4\n", r"line 3: session '2024031' is no date; write it like 20240314"),
    ("session,contract\n20240311,ESH4\n20241399,ESM4\n", r"line 3: session '20241399' is no date"),
    ("session,contract\n20240311,ESZ9\n", r"line 2: contract 'ESZ9' is not in the data; it has ESH4, ESM4, ESU4"),
    ("session,contract\n20240311,ESM4\n20240313,ESH4\n", r"line 3: goes back from ESM4 to ESH4, which expires earlier"),
    ("session,contract\n20240313,ESH4\n20240313,ESM4\n", r"line 3: session 20240313 does not come after 20240313 of line 2"),
    ("session,contract\n20240312,ESH4\n", r"line 2: begins with session 20240312, but the data begins with 20240311"),
    ("session,contract\n20240311,ESH4\n20240320,ESM4\n",
     r"line 2: ESH4 is followed in session 20240318, in which it is not listed; add a row that moves on by then"),
    ("session,contract\n20240311,ESM4\n20240701,ESM4\n", r"line 3: ESM4 \(month 202406\) has ended before session 20240701"),
])  # fmt: skip
def test_a_schedule_that_does_not_fit_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        scheduled(tmp_path, text)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv: no such file; roll\.schedule names a CSV file"):
        rolled_bars([MARKET], SessionRule(), RollSettings(), schedule_files=(Path("nowhere.csv"),))
