"""What a source says of its own gaps: limits reached, symbols not found, days without a symbol, days of lesser quality."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loaders.batch import CONDITION, read_conditions
from loaders.metadata import LATEST, DbnMetadata
from loaders.records import open_dbn
from loaders.symbols import DAY_BITS
from loaders.types import NS_PER_DAY

NAMED = 8  # symbols, days or sentences of one kind that are named


@dataclass(frozen=True)
class StatedGaps:
    """``lines``: a sentence a gap, each naming its file; empty where the source calls its files complete."""

    lines: list[str]


def stated_gaps(
    reports: Sequence[dict[str, Any]],
    flow_files: Sequence[Path],
    statistics_files: Sequence[Path],
    definition_files: Sequence[Path],
    condition_files: Sequence[Path],
) -> StatedGaps:
    """Node: the gaps that the source of a data set states: in ``reports`` of files of bars or trades, and of the other files.

    Of the others the metadata is read; limited ones are counted to their end. Raises DataError and DamagedFileError as
    ``open_dbn``.
    """
    groups = (flow_files, statistics_files, definition_files)
    others = [line for path in (path for group in groups for path in group) for line in file_gaps(Path(path))]
    lines = list(dict.fromkeys([line for report in reports for line in report.get("gaps", ())] + others))
    for path in condition_files:
        days = [f"{day} {condition}" for day, condition in sorted(read_conditions(Path(path).parent).items())]
        if days:
            lines.append(f"{CONDITION}: not every day is available in full: {_few(days)}")
    return StatedGaps(lines)


def file_gaps(path: Path) -> list[str]:
    """Sentences on the gaps that the DBN file ``path`` states."""
    file = open_dbn(path)
    records = sum(len(chunk) for chunk in file.chunks()) if file.metadata.limit else 0
    return gap_sentences(path.name, gap_facts(file.metadata), records)


def gap_facts(metadata: DbnMetadata) -> dict[str, Any]:
    """What ``metadata`` says as JSON values: limit (None: none), not_found, partial, and unmapped days 'first/last'."""
    return {
        "limit": metadata.limit,
        "not_found": list(metadata.not_found),
        "partial": list(metadata.partial),
        "unmapped": _unmapped(metadata),
    }


def gap_sentences(name: str, facts: Mapping[str, Any], records: int) -> list[str]:
    """Sentences on the gaps in ``gap_facts`` of the file ``name``, which holds so many ``records``."""
    limit, found = facts["limit"], []
    if limit and records >= limit:
        found.append(f"{name}: holds as many records as its request was limited to, {limit:,}; what came after is missing")
    if facts["not_found"]:
        found.append(f"{name}: not found by the source: {_few(facts['not_found'])}")
    if facts["partial"]:
        found.append(f"{name}: found for a part of the time only: {_few(facts['partial'])}")
    if facts["unmapped"]:
        found.append(f"{name}: asked for, but without any symbol on {_few(facts['unmapped'])}")
    return found


def few_lines(lines: Sequence[str]) -> list[str]:
    """The first of many sentences, and how many more there are."""
    rest = len(lines) - NAMED
    return [*lines[:NAMED], *([f"and {rest} more that the source says of its gaps: see the data report"] if rest > 0 else [])]


def _unmapped(metadata: DbnMetadata) -> list[str]:
    """Stretches of UTC days inside the request on which no symbol is mapped; none where nothing is, or no end is given."""
    if metadata.end is None or metadata.start > LATEST or metadata.end > LATEST or not len(metadata.mappings.keys):
        return []
    first, last = metadata.start // NS_PER_DAY, -(-metadata.end // NS_PER_DAY)
    starts = metadata.mappings.keys & ((1 << DAY_BITS) - 1)
    order = np.argsort(starts, kind="stable")
    found, reached = [], first
    for start, end in zip(starts[order].tolist(), metadata.mappings.ends[order].tolist(), strict=True):
        if start > reached:
            found.append((reached, min(start, last)))
        reached = max(reached, end)
    found.append((reached, last))
    return ["/".join(dict.fromkeys((_date(low), _date(high - 1)))) for low, high in found if low < high]


def _date(day: int) -> str:
    return str(np.datetime64(int(day), "D"))


def _few(items: Sequence[str]) -> str:
    rest = len(items) - NAMED
    return ", ".join(items[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
