"""All folds together: sessions pooled by hand, looks counted once, and nothing pooled that overlaps."""

import json
import math

import numpy as np
import pytest

from pipelines.record.ledger import Ledger, Look, data_name
from pipelines.report.pooled import pooled_report, write_pooled
from pipelines.steps.pooling import pooled_folds
from pipelines.storage.store import Store
from training.bootstrap import VALUES_AT_ONCE, mean_interval, studentised_resamples
from training.statistics import deflated_sharpe, probabilistic_sharpe
from training.verdict import BEATS, LOSES, verdict

HOUR = 3_600_000_000_000
RUN = {"run": "r1", "created": "2024-05-20T10:15:00Z"}


def document(fold: int, first: int, models: dict[str, list[float]], days: list[int]) -> dict:
    """What the pool reads of a fold's report: test rows of 100 hours from `first` on, and profits by session."""
    rows = {
        "first": f"2024-03-{fold + 1:02d}T00:00Z",
        "last": f"2024-03-{fold + 1:02d}T23:00Z",
        "first_ns": first * HOUR,
        "last_ns": (first + 99) * HOUR,
    }
    return {
        "fold": fold,
        "folds": [{"fold": fold, "test": rows}],
        "instrument": {"symbol": "ES"},
        "currency": "USD",
        "edge": None,
        "sessions_per_year": 250.0 + fold,
        "models": [
            {
                "model": name,
                "kind": "benchmark" if name == "flat" else "strategy",
                "sessions": {"session": days, "profit": profits},
            }
            for name, profits in models.items()
        ],
    }


def folds(edge: float = 400.0) -> list[dict]:
    draw = np.random.default_rng(2)
    parts = [list(range(20240301, 20240321)), list(range(20240320, 20240331))]  # the folds share the session of the 20th

    def models(days: list[int]) -> dict[str, list[float]]:
        noise = draw.normal(0.0, 100.0, len(days))
        return {"good": (noise + edge).tolist(), "bad": (noise - edge).tolist(), "flat": [0.0] * len(days)}

    first, second = document(0, 0, models(parts[0]), parts[0]), document(1, 100, models(parts[1]), parts[1])
    second["models"].append({"model": "late", "kind": "policy", "sessions": second["models"][0]["sessions"]})
    return [second, first]


def test_sessions_are_pooled_in_order_and_a_shared_one_is_summed():
    later, earlier = folds()
    found = pooled_folds([later, earlier]).document
    assert found["folds"] == [0, 1] and [entry["model"] for entry in found["models"]] == ["good", "bad", "flat"]
    good = found["models"][0]
    before, after = earlier["models"][0]["sessions"]["profit"], later["models"][0]["sessions"]["profit"]
    expected = [*before[:-1], before[-1] + after[0], *after[1:]]
    assert good["sessions"] == {"session": list(range(20240301, 20240331)), "profit": expected}
    assert good["net_profit"] == pytest.approx(sum(before) + sum(after))
    assert good["fold_net_profit"] == pytest.approx([sum(before), sum(after)]) and good["folds_with_profit"] == 2
    judged, interval = verdict(np.array(expected), trials=1), mean_interval(np.array(expected))
    assert good["test"]["p_value"] == judged.p_value and good["test"]["mean"] == judged.mean
    assert (good["interval"]["low"], good["interval"]["high"]) == (interval.low, interval.high)
    assert found["sessions_per_year"] == 250.5 and found["reason"] is None
    assert pooled_folds([earlier]).document == pooled_folds([]).document == {}


def test_the_error_rate_is_shared_among_all_looks_at_the_folds(tmp_path):
    content = pooled_folds(folds()).document
    ledger = {"test_looks": 9, "test_trials": 6, "validation_trials": 94, "validation_looks": 2}
    found = pooled_report(content, ledger, RUN)
    assert found["verdict"]["threshold"] == pytest.approx(0.025 / 6)
    good, bad, flat = found["models"]
    assert good["words"] == BEATS.format(rate="2.5") and bad["words"] == LOSES and not flat["beats_flat"]
    assert found["verdict"]["headline"] == "good beats flat after costs; the other model does not."
    profits = np.array(good["sessions"]["profit"])
    assert good["deflated"] == deflated_sharpe(profits, 100) and good["probabilistic"] == probabilistic_sharpe(profits)
    assert good["sharpe"] == pytest.approx(profits.mean() / profits.std(ddof=1) * math.sqrt(250.5))
    assert flat["sharpe"] is flat["deflated"] is None
    weaker = pooled_folds(folds(edge=80.0)).document
    said = [pooled_report(weaker, ledger | {"test_trials": trials}, RUN)["verdict"]["headline"] for trials in (6, 10**6)]
    assert said == ["good beats flat after costs; the other model does not.", "No model beats flat after costs."]
    path = tmp_path / "folds.html"
    write_pooled(found, path)
    html = path.read_text()
    assert "good beats flat after costs; the other model does not." in html and 'href="fold-1/report.html"' in html
    assert "looked at 9 times" in html and "shared among all 6 trials" in html and "2 of 2" in html
    assert json.loads(path.with_suffix(".json").read_text())["models"][0]["model"] == "good"


def test_folds_that_overlap_are_not_pooled(tmp_path):
    later, earlier = folds()
    later["folds"][0]["test"]["first_ns"] = 99 * HOUR
    content = pooled_folds([later, earlier]).document
    assert content["models"] == [] and "folds 0 and 1 overlap, so a session would count twice" in content["reason"]
    found = pooled_report(content, {"test_looks": 2, "test_trials": 2, "validation_trials": 2}, RUN)
    assert found["verdict"]["headline"] == "The folds are not pooled."
    write_pooled(found, tmp_path / "folds.html")
    assert "give folds.step_bars at least folds.test_bars" in (tmp_path / "folds.html").read_text()


def test_a_look_that_two_folds_share_counts_once(tmp_path):
    ledger, opened = Ledger.of(Store.open(tmp_path), "ES"), {"20240301": 5000.0}
    months = [dict.fromkeys(("validation", "test"), (f"2024-0{month}-01", f"2024-0{month}-28")) for month in (3, 4)]
    wide = ("2024-03-20", "2024-04-10")
    ledger.record(Look("k1", "k1", "t", "test", 1, "r", *wide, data_name(opened)), opened)
    ledger.record(Look("k2", "k2", "t", "test", 3, "r", *months[1]["test"], data_name(opened)), opened)
    ledger.record(Look("k3", "k3", "t", "validation", 50, "r", *months[0]["validation"], data_name(opened)), opened)
    assert [ledger.summary(month, opened)["test_trials"] for month in months] == [1, 4]
    both = ledger.pooled(months, opened)
    assert (both["test_looks"], both["test_trials"], both["validation_trials"]) == (2, 4, 50)


def test_resamples_in_parts_are_bounded_and_alike(monkeypatch):
    data = np.random.default_rng(1).normal(0.1, 1.0, 60)
    whole = studentised_resamples(data, 3, 999, 0)
    assert VALUES_AT_ONCE > 60 * 999
    monkeypatch.setattr("training.bootstrap.VALUES_AT_ONCE", 60 * 100)
    parts = studentised_resamples(data, 3, 999, 0)
    assert len(parts) == 999 and (np.diff(parts) >= 0).all()
    np.testing.assert_allclose(np.quantile(parts, [0.1, 0.5, 0.9]), np.quantile(whole, [0.1, 0.5, 0.9]), atol=0.25)
