"""The sample's contamination with spreads is taken out to the last record."""

import json
from pathlib import Path

import pytest

from loaders.dbn import read_bars
from loaders.sample import write_sample


@pytest.mark.parametrize("sessions", [15, pytest.param(None, marks=pytest.mark.acceptance)])
def test_the_spread_contamination_is_removed_exactly(tmp_path: Path, sessions: int | None) -> None:
    """What the loaders keep and drop of each file is what truth.json says was written, by definition and by symbol."""
    write_sample(tmp_path / "sample", sessions=sessions)
    truth = json.loads((tmp_path / "sample" / "truth.json").read_text())
    wanted = {kind: number for kind, number in truth["by_kind"].items() if kind != "outright"}
    bar_files = sorted((tmp_path / "sample").glob("*ohlcv*"))
    for places in ([tmp_path / "sample"], bar_files):
        table, report = read_bars(places)
        assert report.records == truth["records"] == len(table) + sum(wanted.values())
        assert report.dropped == wanted
        assert len(table) == truth["by_kind"]["outright"]
        assert table["contract"].str.fullmatch(r"ES[HMUZ]\d").all()
        for loaded, written in zip(report.files, truth["bar_files"], strict=True):
            assert (loaded["file"], loaded["records"]) == (written["name"], written["records"])
            assert loaded["outright"] == written["by_kind"]["outright"]
    spreads = wanted["calendar_spread"] / truth["records"]
    assert 0.15 < spreads < 0.3, "there was something to remove"
