import json
import math
import re
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from pipelines.report.canvas import Shape
from pipelines.report.content import report_content
from pipelines.report.document import ReportContent
from pipelines.report.errors import ReportError
from pipelines.report.figure_data import heat_map
from pipelines.report.formats import number
from pipelines.report.overfitting import overfitting
from pipelines.report.sections import first_findings, ranking_section
from pipelines.report.types import Evaluation
from training.bootstrap import mean_interval


def _model(content: ReportContent, name: str) -> dict[str, object]:
    return next(entry for entry in content.document["models"] if entry["model"] == name)


def test_the_document_is_strict_json(content: ReportContent) -> None:
    text = json.dumps(content.document, allow_nan=False)
    assert json.loads(text) == content.document


def test_numbers_are_those_given(content: ReportContent, synthetic: ModuleType) -> None:
    for given in synthetic.evaluations():
        shown = _model(content, given.model)
        for name, value in given.metrics.items():
            assert shown["metrics"][name] == (value if math.isfinite(value) else None)
            assert (name in shown["undefined"]) == (not math.isfinite(value))
        assert shown["sessions"]["profit"] == given.sessions["profit"].tolist()
        assert shown["curve"]["profit"][-1] == given.curve["equity"].iloc[-1] - synthetic.CAPITAL
        assert shown["share_of_hindsight"] == pytest.approx(given.metrics["net_profit"] / 410_000.0, abs=1e-12)
    assert content.document["findings"]["quarantined"] == 15
    assert content.document["rolls"][0] == {
        "session": 20240229,
        "left": "ESH4",
        "entered": "ESM4",
        "volume_left": 401_223,
        "volume_entered": 512_034,
    }


def test_intervals_are_the_bootstraps_of_the_sessions(content: ReportContent, synthetic: ModuleType) -> None:
    given = {entry.model: entry.sessions["profit"].to_numpy() for entry in synthetic.evaluations()}
    shown = _model(content, "linear")["intervals"]
    expected = mean_interval(given["linear"], 0.95, 0, 4_999)
    assert (shown["net_a_session"]["low"], shown["net_a_session"]["high"]) == (expected.low, expected.high)
    above = mean_interval(given["linear"] - given["buy_and_hold"], 0.95, 0, 4_999)
    assert shown["above_reference_a_session"]["low"] == above.low
    assert "above_reference_a_session" not in _model(content, "buy_and_hold")["intervals"]
    assert shown["sharpe"]["low"] < shown["sharpe"]["estimate"] < shown["sharpe"]["high"]
    assert shown["sharpe"]["estimate"] == pytest.approx(_model(content, "linear")["metrics"]["sharpe"])


def test_what_is_undefined_has_a_reason(content: ReportContent) -> None:
    flat = _model(content, "flat")
    assert flat["undefined"] == {
        "sharpe": "session returns do not vary",
        "win_rate": "no closed trade",
        "profit_factor": "no closed trade",
        "expectancy": "no closed trade",
    }
    assert flat["intervals"]["sharpe"]["estimate"] is None
    assert flat["intervals"]["sharpe"]["reason"] == "session returns do not vary"
    assert flat["intervals"]["net_a_session"]["reason"] is None


def test_findings_are_counted_and_told(content: ReportContent) -> None:
    findings = content.document["findings"]
    assert sum(entry["findings"] for entry in findings["counts"]) == findings["total"] == 5
    assert (
        findings["first"][0]
        == "2024-03-15T09:31Z ESM4 high_below_low: high 5101.25 < low 5102.00 (layer 1, rejected)"
    )
    assert findings["first"][1].startswith("2024-03-15T10:02Z ESM4 undefined_price: close has no defined price (")
    assert findings["first"][3].endswith("return_clamp: return 0.139762 > 0.10 (layer 2, masked)")


def test_finding_lines_are_words_and_short_numbers() -> None:
    nan, when = float("nan"), pd.Timestamp("2024-03-15T09:31Z")
    rows = [
        (when, "ESH4", 1, "off_tick", "close", 4987.1, 0.25, "rejected", 7),
        (when, "ESH4", 1, "backwards_time", "ts_event", nan, nan, "noted", 9),
        (when, "", 4, "zscore_clamp", "amihud_60", 23.4123456789123, 20.0, "altered", -1),
    ]
    names = ["ts_event", "contract", "layer", "rule", "column", "value", "limit", "action", "source_row"]
    assert first_findings(pd.DataFrame(rows, columns=names)) == [
        "2024-03-15T09:31Z ESH4 off_tick: close 4987.10 is no multiple of the tick 0.25 (layer 1, rejected)",
        "2024-03-15T09:31Z ESH4 backwards_time: stands after a later bar in its file (layer 1, noted)",
        "2024-03-15T09:31Z zscore_clamp: amihud_60 23.41234568 > 20.00 (layer 4, altered)",
    ]


def test_the_heat_map_takes_the_best_over_other_parameters(content: ReportContent, synthetic: ModuleType) -> None:
    table = synthetic.sweeps()["ema_cross"]
    section = content.document["rankings"][0]
    chart = section["heat_map"]
    expected = table.groupby(["slow", "fast"])["sharpe"].max().unstack()
    np.testing.assert_array_equal(np.array(chart["values"], dtype=float), expected.to_numpy())
    x, y = chart["best"]
    best = table.loc[table["sharpe"].idxmax()]
    assert (chart["x"]["values"][x], chart["y"]["values"][y]) == (best["fast"], best["slow"])
    assert section["best_rows"][0]["sharpe"] == best["sharpe"]
    assert (section["combinations"], section["undefined"]) == (len(table), 1)


def test_a_cell_without_any_value_is_null(content: ReportContent) -> None:
    chart = content.document["rankings"][2]["heat_map"]
    assert len(chart["values"]) == 1 and chart["values"][0][0] is None and chart["values"][0][1] is not None


def test_t14_the_report_says_what_never_lost(synthetic: ModuleType) -> None:
    table = pd.DataFrame({"fast": [1.0, 2.0, 3.0], "profit_factor": [0.5, math.inf, math.nan], "net_profit": [-1.0, 2.0, 0.0]})
    section = ranking_section("ema_cross", synthetic.ranking(table, ("fast",), "profit_factor"))
    assert section["heat_map"]["values"] == [[0.5, "Infinity", None]] and section["heat_map"]["best"] == [1, 0]
    assert [row["profit_factor"] for row in section["best_rows"]] == ["Infinity", 0.5]
    assert (section["median"], section["positive"], section["undefined"]) == ("Infinity", 2, 1)
    json.dumps(section, allow_nan=False)
    assert number("Infinity", "ratio") == "infinite"
    drawn = heat_map(section, "a map", Shape("wide", 600.0, 11.0))
    assert drawn.startswith("<svg") or "<svg" in drawn


def test_trials_spread_is_that_of_all_combinations_a_session(content: ReportContent, synthetic: ModuleType) -> None:
    every = pd.concat([table["sharpe"] for table in synthetic.sweeps().values()]).std() / math.sqrt(synthetic.SWEEP_YEAR)
    assert content.document["trial_sharpe_deviation"] == pytest.approx(every, rel=1e-3)


def test_every_annual_sharpe_of_a_model_is_the_metric(content: ReportContent, synthetic: ModuleType) -> None:
    assert content.document["sessions_per_year"] == synthetic.YEAR
    shown = {entry["model"]: entry for entry in content.document["models"]}
    deflated = overfitting(content.document, {"test_looks": 9, "validation_trials": 991, "test_trials": 9})["models"]
    for entry in deflated:
        metric = shown[entry["model"]]["metrics"]["sharpe"]
        assert entry["sharpe"] == pytest.approx(metric, rel=1e-12)
        assert shown[entry["model"]]["intervals"]["sharpe"]["estimate"] == pytest.approx(metric, rel=1e-12)


def test_models_annualised_apart_are_refused(synthetic: ModuleType) -> None:
    first, second = synthetic.evaluations()[:2]
    apart = [first, replace(second, sessions_per_year=252.0)]
    with pytest.raises(ReportError, match=r"different sessions a year, \{'ema_cross': 258.4, 'zscore_reversion': 252.0\}"):
        report_content(**synthetic.small_inputs() | {"evaluations": apart})


def test_the_chosen_step_is_marked_on_the_learning_curves(synthetic: ModuleType) -> None:
    training = synthetic.training()[:1]
    without = [training[0] | {"chosen_step": -1}]
    made, bare = (report_content(**synthetic.small_inputs() | {"training": given}) for given in (training, without))
    assert made.document["training"][0]["chosen_step"] == 4_000
    marks = [one.figures["learning"]["wide"].count("<use") for one in (made, bare)]
    assert marks[0] == marks[1] + 2  # one on the loss, one on the validation profit


def test_the_same_inputs_give_the_same_bytes(content: ReportContent, synthetic: ModuleType) -> None:
    again = report_content(**synthetic.inputs())
    assert again.document == content.document
    assert again.figures == content.figures


def test_figures_are_inline_and_coloured_by_the_page(content: ReportContent) -> None:
    assert set(content.figures) == {
        "funnel",
        "folds",
        "equity",
        "intervals",
        "learning",
        "information",
        "heat_map_0",
        "heat_map_1",
        "heat_map_2",
    }
    for shapes in content.figures.values():
        for svg in shapes.values():
            assert svg.startswith("<svg viewBox=") and svg.endswith("</svg>")
            assert "http" not in svg and "DejaVu" not in svg and "xlink" not in svg
    assert "var(--orange)" in content.figures["equity"]["wide"]
    assert "dqn seed 0" in content.figures["equity"]["wide"]


def test_ids_of_all_figures_differ(content: ReportContent) -> None:
    svgs = [svg for shapes in content.figures.values() for svg in shapes.values()]
    ids = [found for svg in svgs for found in re.findall(r'\bid="([^"]*)"', svg)]
    assert len(ids) == len(set(ids)) > 0
    used = {found for svg in svgs for found in re.findall(r'(?:url\(#|href="#)([^")]*)', svg)}
    assert used <= set(ids)


def test_a_report_with_nothing_learnt_or_swept(synthetic: ModuleType) -> None:
    made = report_content(**synthetic.small_inputs() | {"evaluations": []})
    assert set(made.figures) == {"funnel", "folds"}
    assert made.document["trial_sharpe_deviation"] is None


def test_too_few_sessions_leave_intervals_undefined_with_the_reason(synthetic: ModuleType) -> None:
    whole = synthetic.evaluations()[0]
    short = Evaluation(whole.model, whole.kind, {}, whole.metrics, whole.sessions.iloc[:3], whole.curve, 252.0)
    made = report_content(**synthetic.small_inputs() | {"evaluations": [short]})
    for interval in made.document["models"][0]["intervals"].values():
        assert interval["low"] is None and interval["reason"] == "fewer than 5 sessions"


def test_a_ruined_account_has_no_returns(synthetic: ModuleType) -> None:
    whole = synthetic.evaluations()[0]
    sessions = whole.sessions.assign(equity=whole.sessions["equity"] - 200_000.0)
    ruined = Evaluation(whole.model, whole.kind, {}, whole.metrics, sessions, whole.curve, 252.0)
    made = report_content(**synthetic.small_inputs() | {"evaluations": [ruined]})
    assert made.document["models"][0]["session_returns"] is None
    assert "sharpe" not in made.document["models"][0]["intervals"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fold": 9}, r"report of fold 9: the folds given are \[0, 1, 2, 3\]"),
        ({"capital": 0.0}, "capital = 0.0 must be a positive amount"),
        ({"funnel": {"records": 9, "stages": [{"name": "outrights", "rows": 1, "dropped": {}}]}}, "8 unaccounted for"),
    ],
)
def test_contradictions_are_refused(synthetic: ModuleType, change: dict[str, object], message: str) -> None:
    with pytest.raises(ReportError, match=message):
        report_content(**synthetic.small_inputs() | change)


def test_a_model_named_twice_is_refused(synthetic: ModuleType) -> None:
    twice = [*synthetic.evaluations(), synthetic.evaluations()[0]]
    with pytest.raises(ReportError, match=r"\['ema_cross'\] occur twice"):
        report_content(**synthetic.small_inputs() | {"evaluations": twice})


def test_a_ranking_without_its_metric_is_refused(synthetic: ModuleType) -> None:
    bad = replace(synthetic.rankings()["ema_cross"], metric="calmar")
    with pytest.raises(ReportError, match=r"ranking of ema_cross: columns \['calmar'\]"):
        report_content(**synthetic.small_inputs() | {"rankings": {"ema_cross": bad}})


def test_an_unknown_kind_of_model_is_refused(synthetic: ModuleType) -> None:
    whole = synthetic.evaluations()[0]
    with pytest.raises(ValueError, match="kind 'guess' is unknown; use one of strategy, policy, linear, benchmark"):
        Evaluation(whole.model, "guess", {}, whole.metrics, whole.sessions, whole.curve, 252.0)
