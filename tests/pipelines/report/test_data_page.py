"""The data page: the same numbers as its content, escaped, self-contained, with the right comparison."""

import copy
import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipelines.report.data_content import data_report_content
from pipelines.report.data_page import against, write_data_report
from pipelines.report.document import ReportContent
from pipelines.report.errors import ReportError
from pipelines.report.formats import number


@pytest.fixture
def page(data_content: ReportContent, dataset: ModuleType, tmp_path: Path):
    """Write a data report, by default the synthetic one without a previous set; return its HTML and JSON text."""

    def write(made: ReportContent = data_content, previous: Any = None, **changes: Any) -> tuple[str, str]:
        path = tmp_path / "data.html"
        write_data_report(made, dataset.run_record() | changes, path, previous)
        return path.read_text(encoding="utf-8"), path.with_suffix(".json").read_text(encoding="utf-8")

    return write


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html, flags=re.DOTALL)
    return [[unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)] for row in rows]


def previous_of(content: ReportContent) -> dict[str, Any]:
    return {"feature_set": "abc" * 20, "run": "20240519T101500Z-11aa", "document": copy.deepcopy(content.document)}


def test_html_shows_the_numbers_of_the_content(page, data_content: ReportContent, dataset: ModuleType) -> None:
    html, _ = page()
    found = cells(html)
    assert "Checked: 5,123 records = 4,600 kept + 523 dropped for a named reason." in html
    assert ["2024-03-12", "60", "50.0%", "2024-03-11 22:00Z", "2024-03-11 22:59Z"] in found
    assert ["2024-03-29", "0", "0.0%", "", ""] in found
    assert ["2024-03-05", "off tick", "2"] in found
    assert ["1", "bar sanity", "4", "0", "0", "0"] in found
    assert not any(row[:2] == ["4", "z-score clamp"] for row in found)
    assert ["log return to the next close", "4,619", "1", "<0.1%"] in found
    drift_rows = [row for row in found if len(row) == 8 and row[0] in dataset.NAMES]
    for entry in data_content.document["features"]:
        (row,) = [row for row in drift_rows if row[0] == entry["name"]]
        both = [entry["drift"][split] for split in ("halves", "train", "alternate")]
        assert row[2:] == [number(value[name], "fine") for value in both for name in ("psi", "ks")]
    psi = [float(row[2]) for row in drift_rows]
    assert psi == sorted(psi, reverse=True) and psi[0] > 1.0


def test_what_stands_out_comes_first(page) -> None:
    html, _ = page()
    box = re.sub(r"<[^>]*>", "", html[html.index('id="summary"') : html.index("</section>")])
    for sentence in (
        "Every record is accounted for",
        "1 weekday without a bar (holiday or missing data): 2024-03-29.",
        "1 trade date with less than 90% of the usual bars: 2024-03-12.",
        "4 records quarantined on 3 trade dates, most on 2024-03-05: 2.",
        "1 bar masked: nothing is traded or learnt on them.",
        "1 feature that never changes: constant.",
        "2 features distributed otherwise after the train rows (PSI above 0.25): drifts, copy.",
        "1 pair of features correlated beyond ±0.8.",
    ):
        assert sentence in box


def test_with_a_calendar_holidays_are_told_from_lost_data(page, dataset: ModuleType) -> None:
    calendar = pd.DataFrame({"session": [20240312, 20240313], "open": [60, 120], "missing": [0, 7]})
    html, _ = page(data_report_content(**dataset.inputs() | {"calendar": calendar}))
    assert ["2024-03-29", "0", "0.0%", "0", "0", "", ""] in cells(html)
    text = re.sub(r"<[^>]*>", "", html)
    assert "1 weekday closed by the calendar: 2024-03-29." in text and "holiday or missing data" not in text
    assert "7 open minutes missing on 1 trade date: 2024-03-13." in text


def test_bars_with_order_flow_are_counted_where_the_features_have_it(page, dataset: ModuleType) -> None:
    measured = np.arange(len(dataset.bars())) % 4 == 0
    html, text = page(data_report_content(**dataset.inputs(), has_flow=measured))
    assert "Bars with order flow 1,155 (25.0%)" in " ".join(re.sub(r"<[^>]*>", " ", html).split())
    assert json.loads(text)["rows"]["has_flow"] == measured.sum() == 1155
    without, _ = page()
    assert "order flow" not in without


def test_without_a_previous_set_halves_are_compared_and_called_that(page) -> None:
    html, text = page()
    assert "Drift, first half against second half" in html
    assert "The store holds no earlier set of this instrument and these features" in html
    assert json.loads(text)["previous"] is None


def test_with_a_previous_set_it_is_compared_and_named(page, data_content: ReportContent) -> None:
    previous = previous_of(data_content)
    days = previous["document"]["days"]
    for name in days:
        days[name] = days[name][1:-1] if isinstance(days[name], list) else days[name]
    days["session"][0] = 20240304  # a date that the new set has, with other bars
    days["session"][3] = 20240309  # one that it has not
    html, text = page(previous=previous)
    found = json.loads(text)["previous"]
    assert found["gone"] == [20240309] and 20240304 in found["revised"]
    assert found["added"] == [20240305, 20240308, 20240426]
    assert "Drift against the previous set" in html and "feature set abcabcabcabc" in html
    assert all(value == {"psi": 0.0, "ks": 0.0} for value in found["drift"].values())
    assert "1 trade date of the previous set gone: " in html


def test_drift_against_the_previous_set_is_that_of_the_features(data_content: ReportContent, dataset: ModuleType) -> None:
    given = dataset.inputs()
    given["features"][:, 2] += 2.0
    now = data_report_content(**given)
    found = against(now.document, previous_of(data_content))["drift"]
    assert found["steady"]["ks"] == pytest.approx(0.6827, abs=0.03)  # N(0, 1) and N(2, 1) part most at 1
    assert found["steady"]["psi"] > 1.0
    assert found["drifts"] == {"psi": 0.0, "ks": 0.0}


def test_json_is_the_content_and_strict(page, data_content: ReportContent, dataset: ModuleType) -> None:
    report = json.loads(page()[1], parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    for name, value in data_content.document.items():
        assert report[name] == value
    assert report["run"] == dataset.run_record()


def test_nothing_is_loaded_from_elsewhere_and_the_page_is_small(page) -> None:
    html, _ = page()
    bare = re.sub(r"data:image/png;base64,[^\"]*", "", html)
    assert "http:" not in html and "https:" not in html and "//" not in bare
    assert not re.search(r"<(script|link|iframe|img|object|embed)\b|@import|\bon\w+=", html)
    outside = re.findall(r'(?:href|src)="([^#"][^"]*)"', html)
    assert outside and all(target.startswith("data:image/png;base64,iVBORw0K") for target in outside)
    assert len(html) < 1_500_000
    identities = re.findall(r'\bid="([^"]*)"', html)
    assert len(identities) == len(set(identities))


def test_the_page_is_well_formed(page) -> None:
    class Nesting(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag != "meta":
                self.open.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            pass

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    parser = Nesting()
    parser.feed(page()[0])
    assert parser.open == []


def test_texts_are_escaped(page, dataset: ModuleType) -> None:
    evil = "<script>alert('x')</script>&\"$1$"
    given = dataset.inputs()
    names = [evil, *given["names"][1:]]
    rules = given["quarantine"].assign(rule=evil)
    made = data_report_content(**given | {"names": names, "edge": evil, "instrument": {"symbol": evil}, "quarantine": rules})
    html, text = page(made, run=evil, previous=previous_of(made) | {"run": evil})
    assert "<script" not in html and "&lt;script&gt;" in html
    assert json.loads(text)["edge"] == evil


def test_the_edge_of_the_data_is_labelled(page, dataset: ModuleType) -> None:
    made = data_report_content(**dataset.inputs() | {"edge": "power check"})
    assert '<p class="badge">power check</p>' in page(made)[0]
    assert 'class="badge"' not in page()[0]


def test_the_same_content_gives_the_same_bytes(page) -> None:
    assert page() == page()


def test_a_run_record_with_a_missing_field_is_refused(data_content, dataset: ModuleType, tmp_path: Path) -> None:
    record = dataset.run_record()
    del record["feature_set"]
    with pytest.raises(ReportError, match="the run record lacks feature_set"):
        write_data_report(data_content, record, tmp_path / "data.html")
    assert list(tmp_path.iterdir()) == []
