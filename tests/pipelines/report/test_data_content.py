"""The data report's numbers against pandas and scipy on the same tables; sums that do not come out are refused."""

import json
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pipelines.report.data_content import data_report_content
from pipelines.report.data_days import day_columns
from pipelines.report.data_features import pearson, session_blocks
from pipelines.report.distributions import Sorted
from pipelines.report.document import ReportContent
from pipelines.report.errors import ReportError


def feature(content: ReportContent, name: str) -> dict:
    return next(entry for entry in content.document["features"] if entry["name"] == name)


def test_trade_dates_equal_what_pandas_groups(data_content: ReportContent, dataset: ModuleType) -> None:
    bars, days = dataset.bars(), data_content.document["days"]
    groups = bars.groupby("session")
    clean = bars[~bars["masked"]].groupby("session")
    assert days["session"] == sorted(bars["session"].unique().tolist())
    assert days["bars"] == groups.size().tolist()
    assert days["volume"] == groups["volume"].sum().tolist()
    assert days["masked"] == groups["masked"].sum().tolist()
    assert days["high"] == clean["adj_high"].max().tolist()
    assert days["low"] == clean["adj_low"].min().tolist()
    assert days["close"] == clean["adj_close"].last().tolist()
    assert days["traded_close"] == groups["close"].last().tolist()
    assert days["first"][0] == bars["ts_event"].iloc[0].strftime("%Y-%m-%dT%H:%MZ")
    assert max(days["high"]) < 5_500.0 < bars["adj_high"].max()
    valid = np.arange(len(bars)) >= dataset.WARM_UP
    assert days["valid"] == bars[valid].groupby("session").size().reindex(days["session"], fill_value=0).tolist()


def test_half_days_and_missing_weekdays_are_seen(data_content: ReportContent, dataset: ModuleType) -> None:
    found = data_content.document["coverage"]
    assert found["usual"] == dataset.BARS_A_DAY
    assert found["short"] == [dataset.HALF_DAY]
    assert found["without_bars"] == [dataset.HOLIDAY]


def test_a_calendar_explains_short_dates_and_names_lost_minutes(dataset: ModuleType) -> None:
    calendar = pd.DataFrame({"session": [20240312, 20240313], "open": [60, 120], "missing": [0, 7]})
    found = data_report_content(**dataset.inputs() | {"calendar": calendar}).document["coverage"]
    assert found["open"] == {"20240312": 60, "20240329": 0}
    assert found["missing"] == {"20240313": 7}


def test_bars_by_hour_sum_to_the_bars_of_the_date(data_content: ReportContent, dataset: ModuleType) -> None:
    hours = data_content.document["hours"]["bars"]
    assert [sum(row) for row in hours] == data_content.document["days"]["bars"]
    assert hours[0][:3] == [60, 60, 0]
    assert hours[data_content.document["days"]["session"].index(dataset.HALF_DAY)][:2] == [60, 0]


def test_rejected_records_by_date_and_rule(data_content: ReportContent) -> None:
    assert data_content.document["rejected"] == [
        {"session": 20240305, "rule": "off_tick", "rows": 2},
        {"session": 20240320, "rule": "high_below_low", "rows": 1},
        {"session": 20240401, "rule": "undefined_price", "rows": 1},
    ]
    assert sum(data_content.document["days"]["rejected"]) == 4


def test_a_roll_shows_both_prices_and_the_step_of_the_level(data_content: ReportContent, dataset: ModuleType) -> None:
    (roll,) = data_content.document["rolls"]
    bars = dataset.bars()
    row = int(np.argmax(bars["session"] == dataset.ROLL))
    assert roll["step"] == dataset.STEP
    assert (roll["old_price"], roll["new_open"]) == (bars["close"].iloc[row - 1], bars["open"].iloc[row])


def test_drift_is_found_where_it_is(data_content: ReportContent, dataset: ModuleType) -> None:
    matrix, bars = dataset.features(len(dataset.bars())), dataset.bars()
    rows = np.arange(dataset.WARM_UP, len(bars))
    column = Sorted.of(matrix[rows, 0])
    rounded = np.empty(len(rows))
    rounded[column.order] = column.grid
    train = (rows >= dataset.TRAIN[0]) & (rows < dataset.TRAIN[1])
    dates = np.unique(bars["session"].to_numpy()[rows])
    second = bars["session"].to_numpy()[rows] >= dates[len(dates) // 2]
    drift = feature(data_content, "drifts")["drift"]
    assert drift["train"]["ks"] == pytest.approx(stats.ks_2samp(rounded[train], rounded[~train]).statistic, abs=1e-12)
    assert drift["halves"]["ks"] == pytest.approx(stats.ks_2samp(rounded[second], rounded[~second]).statistic, abs=1e-12)
    assert drift["halves"]["psi"] > 1.0 > 0.1 > drift["alternate"]["psi"]
    assert feature(data_content, "steady")["drift"]["halves"]["psi"] < 0.05
    assert feature(data_content, "atoms")["drift"]["halves"]["psi"] < 0.05
    assert feature(data_content, "constant")["drift"]["halves"] == {"psi": 0.0, "ks": 0.0}
    assert feature(data_content, "constant")["constant"]


def test_moments_and_histograms_equal_numpys(data_content: ReportContent, dataset: ModuleType) -> None:
    values = dataset.features(len(dataset.bars()))[dataset.WARM_UP :]
    train = values[: dataset.TRAIN[1] - dataset.WARM_UP]
    for place, name in enumerate(dataset.NAMES):
        entry = feature(data_content, name)
        assert entry["undefined_rows"] == dataset.WARM_UP
        assert entry["mean"] == pytest.approx(values[:, place].mean(), abs=1e-12)
        assert entry["deviation"] == pytest.approx(values[:, place].std(ddof=1), abs=1e-12)
        assert entry["quantiles"]["0.25"] == pytest.approx(np.quantile(values[:, place], 0.25), abs=1e-12)
        histogram = entry["histogram"]
        assert sum(histogram["train"]) == pytest.approx(1.0, abs=1e-4)
        assert sum(histogram["rest"]) == pytest.approx(1.0, abs=1e-4)
        edges = np.linspace(histogram["low"], histogram["high"], 41)
        edges[0], edges[-1] = -np.inf, np.inf
        counts = np.histogram(train[:, place], edges)[0]
        assert histogram["train"] == pytest.approx(counts / len(train), abs=1e-6)
    assert feature(data_content, "atoms")["most_frequent"] in (-1.0, 0.0, 1.0)


def test_correlations_equal_pandas_and_alike_features_are_neighbours(
    data_content: ReportContent, dataset: ModuleType
) -> None:
    found = data_content.document["correlation"]
    table = pd.DataFrame(dataset.features(len(dataset.bars())), columns=dataset.NAMES).dropna()
    expected = table.drop(columns="constant").corr()
    for row, first in enumerate(found["names"]):
        for column, second in enumerate(found["names"]):
            value = found["values"][row][column]
            if "constant" in (first, second):
                assert value is None
            else:
                assert value == pytest.approx(expected.loc[first, second], abs=5.1e-5)
    assert [(pair["first"], pair["second"]) for pair in found["strong"]] == [("drifts", "copy")]
    assert abs(found["names"].index("drifts") - found["names"].index("copy")) == 1


def test_correlations_do_not_depend_on_the_size_of_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(1).normal(size=(500, 6))
    whole = pearson(matrix, np.arange(500))
    monkeypatch.setattr("pipelines.report.data_features._ROWS", 17)
    assert np.array_equal(pearson(matrix, np.arange(500)), whole)


def test_spans_of_time_hold_equally_many_trade_dates() -> None:
    blocks, firsts = session_blocks(np.repeat(np.arange(20240101, 20240101 + 61), 3).astype(np.int32))
    assert np.bincount(blocks).tolist() == [63, 60, 60] and firsts == [20240101, 20240122, 20240142]
    assert session_blocks(np.empty(0, dtype=np.int32))[1] == []


@pytest.mark.parametrize("stage", ["records", "accepted"])
def test_a_record_without_a_reason_is_refused(dataset: ModuleType, stage: str) -> None:
    given = dataset.inputs()
    if stage == "records":
        given["funnel"]["records"] += 1
        message = "1 unaccounted for"
    else:
        given["bars"] = given["bars"].iloc[:-1]
        given["features"], given["targets"] = given["features"][:-1], given["targets"][:-1]
        given["session_minutes"] = given["session_minutes"][:-1]
        message = "bars in the series = rows accepted does not hold"
    with pytest.raises(ReportError, match=message):
        data_report_content(**given)


def test_quarantine_and_findings_must_agree(dataset: ModuleType) -> None:
    given = dataset.inputs()
    with pytest.raises(ReportError, match="findings rejected by layer 1 = quarantined does not hold: 3 != 4"):
        data_report_content(**given | {"findings": given["findings"].iloc[1:]})
    with pytest.raises(ReportError, match="rows not accepted does not hold: 2 != 3"):
        lost = given["quarantine"].assign(role=pd.Series(["left", "followed", "left", "followed"], dtype="str"))
        data_report_content(**given | {"quarantine": lost})
    with pytest.raises(ReportError, match="has no rule"):
        data_report_content(**given | {"quarantine": given["quarantine"].assign(rule=pd.Series([""] * 4, dtype="str"))})


def test_a_date_that_only_holds_rejected_records_is_a_date(dataset: ModuleType) -> None:
    bars = dataset.bars()
    days = day_columns(bars[bars["session"] != 20240305], np.ones(len(bars) - 120, dtype=bool), dataset.quarantine())
    place = days["session"].index(20240305)
    assert (days["bars"][place], days["rejected"][place], days["close"][place]) == (0, 2, None)


def test_the_same_inputs_give_the_same_content(data_content: ReportContent, dataset: ModuleType) -> None:
    again = data_report_content(**dataset.inputs())
    assert json.dumps(again.document) == json.dumps(data_content.document, allow_nan=False)
    assert again.figures == data_content.figures


def test_without_a_row_that_has_every_feature_the_rest_is_reported(dataset: ModuleType) -> None:
    given = dataset.inputs()
    rows = len(given["bars"])
    stages = [*given["funnel"]["stages"][:-1], {"name": "with features", "rows": 0, "dropped": {"warm-up": rows}}]
    given["features"][:, 2] = np.nan
    made = data_report_content(**given | {"funnel": {**given["funnel"], "stages": stages}})
    assert made.document["rows"]["valid"] == 0
    assert set(made.figures) == {"funnel", "prices", "calendar", "hours", "rejected"}
