import json
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from pipelines.report.content import report_content
from pipelines.report.document import ReportContent
from pipelines.report.errors import ReportError
from pipelines.report.formats import number
from pipelines.report.page import write_report
from pipelines.report.palette import line_styles
from pipelines.report.view_models import interval_notes

Page = Callable[..., tuple[str, str]]


class _Nesting(HTMLParser):
    """Fails on a closing tag that closes another element than the innermost."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag not in {"meta"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()


def _cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html, flags=re.DOTALL)
    return [[unescape(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)] for row in rows]


def test_html_shows_the_numbers_given(page: Page, synthetic: ModuleType) -> None:
    html, _ = page()
    rows = {row[0]: row for row in reversed(_cells(html)) if row}
    for given in synthetic.evaluations():
        metrics = given.metrics
        assert rows[given.model][1:4] == [
            number(metrics["net_profit"], "signed_cents"),
            number(metrics["sharpe"], "ratio"),
            number(metrics["max_drawdown"], "fraction"),
        ]
    assert "Checked: 412,345 records = 261,731 kept + 150,614 dropped for a named reason." in html
    assert ["outrights", "calendar spread", "91,020", "22.1%"] in _cells(html)
    assert ["2024-02-29", "ESH4", "ESM4", "401,223", "512,034"] in _cells(html)
    assert ["train", "2024-01-02 23:00Z", "2024-02-13 14:59Z", "60,000"] in _cells(html)
    assert ["sweep.grid.fast", "[5, 10, 15]"] in _cells(html)
    assert ["1", "bar sanity", "3", "0", "0", "0"] in _cells(html)


def test_json_holds_the_same_content(page: Page, content: ReportContent, synthetic: ModuleType) -> None:
    _, text = page()
    report = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    for name, value in content.document.items():
        assert report[name] == value
    record = synthetic.run_record()
    assert report["ledger"] == record["ledger"]
    assert report["run"] == {name: value for name, value in record.items() if name != "ledger"}
    assert report["verdict"]["headline"] in page()[0]


def test_the_page_is_well_formed(page: Page) -> None:
    parser = _Nesting()
    parser.feed(page()[0])
    assert parser.open == []
    assert {"svg", "table", "details", "figure"} <= parser.seen


def test_nothing_is_loaded_from_elsewhere(page: Page) -> None:
    html, _ = page()
    assert (
        "http:" not in html and "https:" not in html and "//" not in re.sub(r"data:image/png;base64,[^\"]*", "", html)
    )
    assert not re.search(r"<(script|link|iframe|img|object|embed)\b|@import|\bon\w+=", html)
    outside = re.findall(r'(?:href|src)="([^#"][^"]*)"', html)
    assert "../data.html" in outside
    images = [target for target in outside if target != "../data.html"]
    assert images and all(target.startswith("data:image/png;base64,iVBORw0K") for target in images)


def test_texts_are_escaped(page: Page, synthetic: ModuleType) -> None:
    evil = "<script>alert('x')</script>&\"$1$"
    model = synthetic.evaluation(evil, "strategy", 1.0, 2.0, 1, **{evil: 3})
    made = report_content(**synthetic.small_inputs() | {"evaluations": [model], "edge": evil})
    html, text = page(made, command=evil, fallback_reason=evil, configuration={evil: evil})
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert json.loads(text)["edge"] == evil


def test_undefined_is_a_word_with_its_reason_and_not_zero(page: Page) -> None:
    html, _ = page()
    (flat,) = [row for row in _cells(html) if row[0] == "flat" and len(row) == 8]
    assert flat[2] == "undefined" and flat[5] == "undefined"
    assert "flat: Sharpe (annual) undefined (session returns do not vary)" in html
    assert "flat: interval of Sharpe (annual) undefined (session returns do not vary)." in html
    assert "Undefined: too few rows for the method, or a forecast that does not vary." in html
    assert "NaN" not in html and ">nan<" not in html


def test_a_model_that_does_not_beat_flat_is_called_that(page: Page, synthetic: ModuleType) -> None:
    losing = [entry for entry in synthetic.evaluations() if entry.model in ("ema_cross", "linear", "flat")]
    html, _ = page(report_content(**synthetic.small_inputs() | {"evaluations": losing}))
    box = html[html.index('class="verdict"') : html.index("</section>")]
    plain = box.replace("\N{NO-BREAK SPACE}", " ")
    assert "No model beats flat after costs." in box
    assert re.search(r"<dt>ema_cross \(p = 0\.\d+\)</dt><dd>does not beat flat after costs</dd>", plain)
    assert re.search(r"<dt>linear \(p = 0\.\d+\)</dt><dd>not distinguishable from flat on this much data</dd>", plain)


def test_the_edge_of_the_data_is_labelled(page: Page, synthetic: ModuleType) -> None:
    label = "generated data, no price is real: a power check: learnable edge, not realistic"
    html, _ = page(report_content(**synthetic.small_inputs() | {"edge": label}))
    assert f'<p class="badge">{label}</p>' in html
    assert 'class="badge"' not in page()[0]


def test_gross_less_costs_is_net_as_shown(page: Page, synthetic: ModuleType) -> None:
    html, _ = page()
    rows = _cells(html[html.index("From gross to net") : html.index("Confidence intervals")])
    assert rows[0] == ["Model", "Gross profit", "Fees", "Slippage", "Costs", "Net profit"]
    assert [row[0] for row in rows[1:]] == [entry.model for entry in synthetic.evaluations()]
    for row in rows[1:]:
        gross, fees, slippage, costs, net = (
            Decimal(cell.replace("\N{MINUS SIGN}", "-").translate(dict.fromkeys(map(ord, "$,+")))) for cell in row[1:]
        )
        assert costs == fees + slippage
        assert gross - costs == net


def test_the_terms_are_words_and_money(page: Page) -> None:
    rows = _cells(page()[0])
    for row in (
        ["Capital", "$100,000.00"],
        ["Instrument", "ES, in USD"],
        ["Contracts", "1 at most, long or short"],
        ["Multiplier", "$50.00 a point"],
        ["Tick", "0.25 points = $12.50 a contract"],
        ["Fee", "$2.50 a contract and side"],
        ["Slippage", "1 tick = $12.50 a contract and side"],
        ["Fill", "decided at a bar's close, filled at the open of the next bar that trades"],
    ):
        assert row in rows


def test_the_sessions_of_a_year_are_said_with_their_source(page: Page) -> None:
    html, _ = page()
    assert "A year is 258.4 sessions in every annual figure of the models; the sweeps, of the data" in html
    assert "row, 256.1. The number is counted from the calendar of the data" in html
    assert "The test rows are 20 sessions, 0.077 years; a session that they cut" in html


def test_triangles_are_named_only_where_a_roll_is_in_view(page: Page, synthetic: ModuleType) -> None:
    assert "Triangles: rolls." in page()[0]
    outside = synthetic.rolls().assign(session=np.array([20230102, 20250102], np.int32))
    assert "Triangles" not in page(report_content(**synthetic.small_inputs() | {"rolls": outside}))[0]


def test_shares_of_a_sweep_are_of_all_combinations(page: Page, synthetic: ModuleType) -> None:
    table = synthetic.sweeps()["donchian_breakout"].iloc[:4].assign(sharpe=[float("nan"), 1.0, -1.0, 2.0])
    ranking = synthetic.ranking(table, ("length",))
    html, _ = page(report_content(**synthetic.small_inputs() | {"rankings": {"donchian_breakout": ranking}}))
    assert "4 combinations, every combination of the grid that the strategy allows, of 999; 1 undefined" in html
    assert "1 undefined and never ranked; 50.0% of all above zero; median Sharpe (annual) 1.00." in html


def test_the_choice_is_judged_beside_the_deflated_sharpe(page: Page) -> None:
    html, text = page()
    rows = [row for row in _cells(html) if row and row[0] in ("ema_cross", "donchian_breakout") and len(row) == 6]
    assert ["ema_cross", "42.0%", "31.0%", "16", "40", "12,870"] in rows
    assert "2,000 of the 200,000 combinations that were tried are judged, drawn at random" in html
    assert "zscore_reversion: all 200,000 combinations that were tried are judged." in html
    assert "donchian_breakout: PBO undefined (the validation rows hold fewer than 12 sessions)." in html
    assert json.loads(text)["selections"][0]["probability"] == 0.42


def test_no_table_of_metrics_has_more_models_than_fit(page: Page) -> None:
    heads = [row for row in _cells(page()[0]) if row and row[0] == "Metric"]
    assert [len(row) for row in heads] == [5, 6]


def test_seeds_have_hues_and_dashes_of_their_own() -> None:
    styles = line_styles([(f"dqn seed {seed}", "policy") for seed in range(3)])
    assert len({style.colour for style in styles.values()}) == len({style.dash for style in styles.values()}) == 3


def test_looks_and_fallback_are_said(page: Page) -> None:
    html, _ = page()
    assert "looked at 12 times" in html
    assert "nothing fell back" in html
    assert "fell back: no GPU: cupy is not installed" in page(fallback_reason="no GPU: cupy is not installed")[0]


def test_the_same_content_gives_the_same_bytes(page: Page) -> None:
    assert page() == page()


def test_a_bare_report_says_what_is_missing(page: Page, synthetic: ModuleType) -> None:
    bare = {"evaluations": [], "findings": synthetic.findings().iloc[:0], "rolls": synthetic.rolls().iloc[:0]}
    html, _ = page(report_content(**synthetic.small_inputs() | bare))
    for sentence in ("No model was evaluated.", "No strategy was swept.", "No policy was trained.", "never changed."):
        assert sentence in html


def test_a_run_record_with_a_missing_field_is_refused(
    content: ReportContent, synthetic: ModuleType, tmp_path: Path
) -> None:
    record = synthetic.run_record()
    del record["versions"]
    with pytest.raises(ReportError, match="the run record lacks versions"):
        write_report(content, record, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_report(
    content: ReportContent, synthetic: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_report(content, synthetic.run_record(), path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_writing_imports_nothing_slow(content: ReportContent, synthetic: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "inputs.json"
    source.write_text(json.dumps([content.document, content.figures, synthetic.run_record()]))
    code = f"""
import json, sys
from pathlib import Path
from pipelines.report.document import ReportContent
from pipelines.report.page import write_report
document, figures, run = json.loads(Path({str(source)!r}).read_text())
write_report(ReportContent(document, figures), run, Path({str(tmp_path / "report.html")!r}))
print(sorted({{"pandas", "matplotlib", "torch", "pandera", "scipy", "numba", "dask", "pyarrow"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_seeds_may_be_named_or_listed(page: Page) -> None:
    assert ["seed.dqn", "[0, 1, 2]"] in _cells(page()[0])
    assert ["seed", "[4, 5]"] in _cells(page(seeds=[4, 5])[0])


@pytest.mark.parametrize(("sessions", "said"), [(19, True), (60, False)])
def test_few_sessions_are_told_what_an_interval_covers(sessions: int, said: bool) -> None:
    interval = {"reason": None, "method": "m", "observations": sessions}
    notes = interval_notes([{"model": "dqn seed 0", "intervals": {"net_a_session": interval}}])
    assert any("holds the truth in 91 to 93 of 100" in note for note in notes) is said
