"""Node: everything the data report says of one data set, computed and drawn once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.data_days import coverage, day_columns, hour_counts, rejected_by_rule, roll_steps
from pipelines.report.data_features import correlation, feature_entries, session_blocks
from pipelines.report.document import ReportContent
from pipelines.report.errors import ReportError
from pipelines.report.funnel import checked_funnel
from pipelines.report.sections import findings_section, minute, plain

TARGETS = ("log return into this close", "log return to the next close", "close", "next close", "next open", "next mid open")
ACCEPTED = "accepted"
FORMAT = "walkfold data report 1"


def data_report_content(
    funnel: dict[str, Any],
    bars: pd.DataFrame,
    features: NDArray[np.floating],
    names: list[str],
    targets: NDArray[np.float64],
    findings: pd.DataFrame,
    quarantine: pd.DataFrame,
    rolls: pd.DataFrame,
    train: tuple[int, int],
    session_minutes: NDArray[np.int32],
    session: dict[str, Any],
    instrument: dict[str, Any],
    edge: str | None = None,
    calendar: pd.DataFrame | None = None,
    has_flow: NDArray[np.bool_] | None = None,
    stated_gaps: Sequence[str] = (),
) -> ReportContent:
    """Compute and draw the report of one data set.

    `funnel`: see `checked_funnel`; its stage "accepted" counts the bars. `bars` [n]: the continuous series with its mask;
    `features` [n, F] (NaN where one does not exist), `targets` [n, T]. `findings` of layers 1 to 3; `quarantine`: the
    rejected records with session, role and rule. `rolls`: session, left, entered, volume_left, volume_entered. `train`: the
    row range (start, stop) that the others are compared with. `session_minutes` [n] count from the session's begin, `session`
    says when that is. `calendar`, where one is known, has a row a session with open or missing minutes: session, open,
    missing. `has_flow` [n] marks the bars with measured order flow, where the features have it. `stated_gaps`:
    sentences on what the source itself says is missing. Raises ReportError when a sum
    does not come out.
    """
    from pipelines.report.data_figures import draw_data_figures  # the plotting library: see report_content

    valid: NDArray[np.bool_] = np.isfinite(features).all(axis=1)
    rows = np.flatnonzero(valid)
    days = day_columns(bars, valid, quarantine)
    rejected = rejected_by_rule(quarantine)
    document: dict[str, Any] = {
        "format": FORMAT,
        "instrument": {name: plain(value) for name, value in instrument.items()},
        "edge": edge,
        "stated_gaps": list(stated_gaps),
        "funnel": checked_funnel(funnel),
        "days": days,
        "coverage": coverage(days, calendar),
        "hours": {**session, "bars": hour_counts(days, bars, session_minutes)},
        "rejected": rejected,
        "findings": findings_section(findings, len(quarantine)),
        "rolls": roll_steps(bars, rolls),
        "rows": {**_row_counts(bars, valid, targets), "has_flow": None if has_flow is None else int(has_flow.sum())},
        "split": _split(bars, rows, train),
        "blocks": session_blocks(bars["session"].to_numpy()[rows])[1],
        "features": _features(features, names, bars, rows, train),
        "correlation": correlation(features, names, rows),
    }
    document["checks"] = checks(document, findings, quarantine)
    return ReportContent(document, draw_data_figures(document))


def _features(
    features: NDArray[np.floating], names: list[str], bars: pd.DataFrame, rows: NDArray[np.int64], train: tuple[int, int]
) -> list[dict[str, Any]]:
    """Distribution of every feature, and how far it drifts: train to rest, half to half, and between alternate dates.

    Alternate trade dates cannot drift apart, so their PSI is what autocorrelation alone makes of samples this large.
    """
    session = bars["session"].to_numpy()[rows]
    dates = np.unique(session)
    splits = {
        "train": (rows >= train[0]) & (rows < train[1]),
        "halves": session < (dates[len(dates) // 2] if len(dates) > 1 else 0),
        "alternate": np.searchsorted(dates, session) % 2 == 0,
    }
    return feature_entries(features, names, rows, splits, session_blocks(session)[0])


def _row_counts(bars: pd.DataFrame, valid: NDArray[np.bool_], targets: NDArray[np.float64]) -> dict[str, Any]:
    """How many rows exist, are masked, have every feature, and have each target."""
    warm_up = int(np.argmax(valid)) if valid.any() else len(valid)
    defined = np.isfinite(targets).sum(axis=0)
    return {
        "bars": len(bars),
        "masked": int(bars["masked"].sum()),
        "valid": int(valid.sum()),
        "warm_up": warm_up,
        "undefined_later": int(len(valid) - warm_up - valid.sum()),
        "targets": [{"name": name, "defined": int(count)} for name, count in zip(TARGETS, defined, strict=False)],
    }


def _split(bars: pd.DataFrame, rows: NDArray[np.int64], train: tuple[int, int]) -> dict[str, Any]:
    """What "train" and "rest" and the two halves mean here: numbers of rows and their first and last bars."""
    inside = (rows >= train[0]) & (rows < train[1])
    times = bars["ts_event"]
    ends = {}
    for name, chosen in (("train", rows[inside]), ("rest", rows[~inside])):
        known = len(chosen) > 0
        ends[name] = {
            "rows": len(chosen),
            "first": minute(times.iloc[chosen[0]].value) if known else None,
            "last": minute(times.iloc[chosen[-1]].value) if known else None,
        }
    dates = np.unique(bars["session"].to_numpy()[rows])
    return {**ends, "second_half_from": int(dates[len(dates) // 2]) if len(dates) > 1 else None}


def checks(document: dict[str, Any], findings: pd.DataFrame, quarantine: pd.DataFrame) -> list[dict[str, Any]]:
    """Sums that must come out, each with both sides; raises ReportError naming the first that does not."""
    days, stages = document["days"], {stage["name"]: stage for stage in document["funnel"]["stages"]}
    rows, accepted = document["rows"], stages[ACCEPTED]
    by_rule = sum(each["rows"] for each in document["rejected"])
    of_followed = int((quarantine["role"] == "followed").sum())
    layer_1 = int(((findings["layer"] == 1) & (findings["action"] == "rejected")).sum())
    sums = [
        ("bars in the series = rows accepted", rows["bars"], accepted["rows"]),
        ("bars by trade date = bars in the series", sum(days["bars"]), rows["bars"]),
        ("bars by hour = bars in the series", sum(map(sum, document["hours"]["bars"])), rows["bars"]),
        ("warm-up + valid + undefined later = bars", rows["warm_up"] + rows["valid"] + rows["undefined_later"], rows["bars"]),
        ("quarantined by trade date and rule = quarantined", by_rule, len(quarantine)),
        ("quarantined of followed contracts = rows not accepted", of_followed, accepted["lost"]),
        ("findings rejected by layer 1 = quarantined", layer_1, len(quarantine)),
    ]
    for what, left, right in sums:
        if left != right:
            raise ReportError(f"data report: {what} does not hold: {left} != {right}; a record is unaccounted for")
    return [{"what": what, "rows": int(left)} for what, left, _ in sums]
