"""What a reader of the data report should look at first, in sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.report.distributions import LARGE
from pipelines.report.formats import number, session_date

NAMED = 8


@dataclass(frozen=True)
class Remark:
    """A sentence and the first of the things it is about."""

    text: str
    items: Sequence[str] = field(default=())


def remarks(report: Mapping[str, Any]) -> list[Remark]:
    """Everything that is not as usual, most urgent first; empty when nothing stands out."""
    return [*map(Remark, report["stated_gaps"]), *_changes(report), *_coverage(report), *_rejected(report), *_features(report)]


def _listed(items: Sequence[str]) -> list[str]:
    rest = len(items) - NAMED
    return [*items[:NAMED], *([f"and {rest} more"] if rest > 0 else [])]


def _dates(sessions: Sequence[int]) -> list[str]:
    return _listed([session_date(session) for session in sessions])


def _counted(count: int, one: str, many: str) -> str:
    return f"{number(count, 'count')} {one if count == 1 else many}"


def _changes(report: Mapping[str, Any]) -> list[Remark]:
    previous = report["previous"]
    words = {"gone": "of the previous set gone", "revised": "revised since the previous set"}
    return [
        Remark(f"{_counted(len(previous[what]), 'trade date', 'trade dates')} {how}", _dates(previous[what]))
        for what, how in words.items()
        if previous is not None and previous[what]
    ]


def _coverage(report: Mapping[str, Any]) -> list[Remark]:
    coverage = report["coverage"]
    opened, missing = coverage["open"], coverage["missing"]
    found = []
    if missing:
        count = _counted(sum(missing.values()), "open minute", "open minutes")
        where = _counted(len(missing), "trade date", "trade dates")
        found.append(Remark(f"{count} missing on {where}", _dates([int(session) for session in missing])))
    lost = [day for day in coverage["without_bars"] if opened is None or opened[str(day)]]
    if lost:
        why = " (holiday or missing data)" if opened is None else " though the exchange was open"
        found.append(Remark(f"{_counted(len(lost), 'weekday', 'weekdays')} without a bar{why}", _dates(lost)))
    holidays = [day for day in coverage["without_bars"] if opened is not None and not opened[str(day)]]
    if holidays:
        found.append(Remark(f"{_counted(len(holidays), 'weekday', 'weekdays')} closed by the calendar", _dates(holidays)))
    if coverage["short"]:
        count = _counted(len(coverage["short"]), "trade date", "trade dates")
        words = f"{count} with less than {coverage['short_below'] * 100:g}% of the usual bars"
        found.append(Remark(words, _dates(coverage["short"])))
    return found


def _rejected(report: Mapping[str, Any]) -> list[Remark]:
    found = []
    days: Counter[int] = Counter()
    for entry in report["rejected"]:
        days[entry["session"]] += entry["rows"]
    if days:
        session, rows = days.most_common(1)[0]
        most = f", most on {session_date(session)}: {number(rows, 'count')}" if rows > 1 else ""
        where = f"quarantined on {_counted(len(days), 'trade date', 'trade dates')}{most}"
        found.append(Remark(f"{_counted(days.total(), 'record', 'records')} {where}"))
    rows = report["rows"]
    if rows["masked"]:
        found.append(Remark(f"{_counted(rows['masked'], 'bar', 'bars')} masked: nothing is traded or learnt on them"))
    if rows["undefined_later"]:
        count = _counted(rows["undefined_later"], "row", "rows")
        found.append(Remark(f"{count} after the warm-up without every feature"))
    return found


def _features(report: Mapping[str, Any]) -> list[Remark]:
    found = []
    constant = [entry["name"] for entry in report["features"] if entry.get("constant")]
    if constant:
        words = "1 feature that never changes" if len(constant) == 1 else f"{len(constant)} features that never change"
        found.append(Remark(words, _listed(constant)))
    moved = [entry["name"] for entry in report["features"] if _train_psi(entry) > LARGE]
    if moved:
        count = _counted(len(moved), "feature", "features")
        found.append(Remark(f"{count} distributed otherwise after the train rows (PSI above {LARGE:g})", _listed(moved)))
    strong, beyond = report["correlation"]["strong"], report["correlation"]["threshold"]
    if strong:
        found.append(Remark(f"{_counted(len(strong), 'pair', 'pairs')} of features correlated beyond ±{beyond:g}"))
    return found


def _train_psi(entry: Mapping[str, Any]) -> float:
    return entry.get("drift", {}).get("train", {}).get("psi") or 0.0
