"""The data report's values as text, ready for the page: nothing is computed here but wording and number formats."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.report.formats import instant, number, session_date, share, significant
from pipelines.report.view_data import accounted, funnel_table, layer_table, rule_table
from pipelines.report.view_data_findings import remarks
from pipelines.report.view_drift import drift_values
from pipelines.report.view_tables import Table

DATA_LAYERS = 3  # layers 4 and 5 judge the features of a fold, scaled by its train rows


def data_page_values(report: Mapping[str, Any]) -> dict[str, Any]:
    """Everything the template names, from the report's JSON values."""
    days, rows, findings = report["days"], report["rows"], report["findings"]
    known = [session for session, bars in zip(days["session"], days["bars"], strict=True) if bars]
    symbol = report["instrument"].get("symbol", "")
    return {
        "title": f"{symbol}: data report",
        "instrument": symbol,
        "first": session_date(known[0]) if known else "no data",
        "last": session_date(known[-1]) if known else "no data",
        "bars": number(rows["bars"], "count"),
        "feature_count": number(len(report["features"]), "count"),
        "run": str(report["run"]["run"]),
        "created": str(report["run"]["created"]),
        "feature_set": str(report["run"]["feature_set"]),
        "edge": report["edge"],
        "remarks": remarks(report),
        "facts_rows": facts(report),
        "funnel": funnel_table(report["funnel"]),
        "accounted": accounted(report["funnel"]),
        "checks": check_table(report["checks"]),
        "layers": layer_table(findings["counts"], DATA_LAYERS),
        "rules": rule_table(findings["counts"]),
        "finding_lines": findings["first"],
        "finding_total": number(findings["total"], "count"),
        "quarantined": number(findings["quarantined"], "count"),
        "rejected": rejected_table(report["rejected"]),
        "short_days": short_table(report),
        "calendar_known": report["coverage"]["open"] is not None,
        "usual": number(report["coverage"]["usual"], "count"),
        "rolls": roll_table(report["rolls"]),
        "targets": target_table(rows),
        "statistics": statistics_table(report["features"]),
        "strong": strong_table(report["correlation"]["strong"]),
        "threshold": f"{report['correlation']['threshold']:g}",
        "split": split_sentence(report["split"]),
        **drift_values(report),
    }


def facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The size of the data set and the shares of its rows that can be used."""
    rows, days = report["rows"], report["days"]
    return [
        ("Trade dates with bars", number(sum(bars > 0 for bars in days["bars"]), "count")),
        ("Bars", number(rows["bars"], "count")),
        ("Bars on a usual date", number(report["coverage"]["usual"], "count")),
        ("Contracts followed", number(len({name for name in days["contract"] if name}), "count")),
        ("Rows with every feature", _of(rows["valid"], rows["bars"])),
        ("Rows before the features begin", _of(rows["warm_up"], rows["bars"])),
        ("Rows undefined after that", _of(rows["undefined_later"], rows["bars"])),
        ("Bars masked", _of(rows["masked"], rows["bars"])),
        *([] if rows["has_flow"] is None else [("Bars with order flow", _of(rows["has_flow"], rows["bars"]))]),
        ("Records quarantined", _of(report["findings"]["quarantined"], report["funnel"]["records"])),
    ]


def check_table(checks: Sequence[Mapping[str, Any]]) -> Table:
    """A row a sum that came out."""
    return Table(("Sum that must come out", "Rows"), [[each["what"], number(each["rows"], "count")] for each in checks])


def _of(count: int, total: int) -> str:
    return f"{number(count, 'count')} ({share(count, total)})"


def short_table(report: Mapping[str, Any]) -> Table:
    """A row a trade date with fewer bars than usual or missing minutes, and a weekday without any bar."""
    days, coverage = report["days"], report["coverage"]
    at = {session: place for place, session in enumerate(days["session"])}
    opened, missing = coverage["open"], coverage["missing"] or {}
    rows = []
    for session in sorted([*coverage["short"], *coverage["without_bars"]]):
        place = at.get(session)
        bars = 0 if place is None else days["bars"][place]
        ends = [instant(days[end][place]) if bars else "" for end in ("first", "last")]
        row = [session_date(session), number(bars, "count"), number(bars / (coverage["usual"] or 1.0), "fraction")]
        if opened is not None:
            row += [number(opened[str(session)], "count"), number(missing.get(str(session), 0), "count")]
        rows.append([*row, *ends])
    known = () if opened is None else ("Open minutes", "Missing")
    return Table(("Trade date", "Bars", "Of usual", *known, "First bar", "Last bar"), rows)


def rejected_table(entries: Sequence[Mapping[str, Any]]) -> Table:
    """A row a trade date and rule."""
    rows = [
        [session_date(entry["session"]), entry["rule"].replace("_", " "), number(entry["rows"], "count")]
        for entry in entries
    ]
    return Table(("Trade date", "Rule", "Records"), rows, words=(0, 1))


def roll_table(rolls: Sequence[Mapping[str, Any]]) -> Table:
    """A row a roll: contracts, the volumes that decided it, prices on both sides, the step of the adjusted level."""
    rows = [
        [
            session_date(roll["session"]),
            roll["left"],
            roll["entered"],
            number(roll["volume_left"], "count"),
            number(roll["volume_entered"], "count"),
            significant(roll["old_price"], 10),
            significant(roll["new_open"], 10),
            significant(roll["step"], 10),
        ]
        for roll in rolls
    ]
    titles = ("From session", "Left", "Entered", "Volume left", "Volume entered", "Price left", "Price entered", "Level step")
    return Table(titles, rows, words=(0, 1, 2))


def target_table(rows: Mapping[str, Any]) -> Table:
    """A row a target: on how many bars it is defined."""
    lines = [
        [entry["name"], number(entry["defined"], "count"), number(rows["bars"] - entry["defined"], "count"),
         share(rows["bars"] - entry["defined"], rows["bars"])]
        for entry in rows["targets"]
    ]  # fmt: skip
    return Table(("Target", "Defined", "Undefined", "Share undefined"), lines)


def statistics_table(features: Sequence[Mapping[str, Any]]) -> Table:
    """A row a feature: rows without it, mean and deviation, quantiles, and how often its most frequent value occurs."""
    rows = []
    for entry in features:
        row = [entry["name"], number(entry["undefined_rows"], "count")]
        if "quantiles" in entry:
            row += [significant(entry[name]) for name in ("mean", "deviation")]
            row += [significant(entry["quantiles"][at]) for at in ("0.0", "0.01", "0.25", "0.5", "0.75", "0.99", "1.0")]
            row.append(f"{significant(entry['most_frequent'])} ({number(entry['most_frequent_share'], 'fraction')})")
        else:
            row += ["undefined"] * 10
        rows.append(row)
    titles = ("Feature", "Rows without", "Mean", "Deviation", "Least", "1%", "25%", "Median", "75%", "99%", "Greatest")
    return Table((*titles, "Most frequent"), rows)


def strong_table(pairs: Sequence[Mapping[str, Any]]) -> Table:
    """A row a pair of features, strongest first."""
    rows = [[pair["first"], pair["second"], significant(pair["correlation"])] for pair in pairs]
    return Table(("Feature", "Feature", "Correlation"), rows, words=(0, 1))


def split_sentence(split: Mapping[str, Any]) -> str:
    """Which rows are train and which are the rest."""
    parts = []
    for name, words in (("train", "Filled: train rows of fold 0"), ("rest", "line: all other rows")):
        part = split[name]
        span = f", {instant(part['first'])} to {instant(part['last'])}" if part["rows"] else ""
        parts.append(f"{words} ({number(part['rows'], 'count')}{span})")
    return "; ".join(parts) + "."
