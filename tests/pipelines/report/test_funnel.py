import pytest

from pipelines.report.errors import ReportError
from pipelines.report.funnel import checked_funnel


def test_every_stage_states_its_loss() -> None:
    stages = [
        {"name": "outrights", "rows": 70, "dropped": {"butterfly": 5, "calendar_spread": 25}},
        {"name": "accepted", "rows": 69, "dropped": {"off_tick": 1}},
    ]
    result = checked_funnel({"records": 100, "stages": stages})
    assert [stage["lost"] for stage in result["stages"]] == [30, 1]
    assert list(result["stages"][0]["dropped"]) == ["calendar_spread", "butterfly"]


def test_a_row_without_a_reason_is_refused() -> None:
    stages = [{"name": "outrights", "rows": 70, "dropped": {"calendar_spread": 29}}]
    with pytest.raises(ReportError, match=r"100 records != 70 outrights \+ 29 dropped \(\+1 unaccounted for\)"):
        checked_funnel({"records": 100, "stages": stages})


def test_a_later_stage_is_checked_against_the_one_before_it() -> None:
    stages = [{"name": "outrights", "rows": 100, "dropped": {}}, {"name": "accepted", "rows": 101, "dropped": {}}]
    with pytest.raises(ReportError, match=r"100 outrights != 101 accepted \+ 0 dropped \(-1 unaccounted for\)"):
        checked_funnel({"records": 100, "stages": stages})


def test_negative_counts_that_cancel_are_refused() -> None:
    with pytest.raises(ReportError, match="negative"):
        checked_funnel({"records": 10, "stages": [{"name": "outrights", "rows": 12, "dropped": {"option": -2}}]})
