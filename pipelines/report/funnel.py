"""The data funnel: every record that came in is either in the next stage or dropped for a named reason."""

from collections.abc import Mapping
from typing import Any

from pipelines.report.errors import ReportError


def checked_funnel(funnel: Mapping[str, Any]) -> dict[str, Any]:
    """The funnel with each stage's loss, after checking that no row is unaccounted for.

    `funnel` is {"records": rows read, "stages": [{"name", "rows", "dropped": {reason: rows}}, ...]} in the order data
    meets them. Raises ReportError naming the stage, its sums and the difference when
    rows before != rows after + dropped, or when a count is negative.
    """
    before, previous = int(funnel["records"]), "records"
    stages = []
    for stage in funnel["stages"]:
        name, rows = str(stage["name"]), int(stage["rows"])
        dropped = {str(reason): int(count) for reason, count in stage["dropped"].items()}
        lost = sum(dropped.values())
        if rows < 0 or any(count < 0 for count in dropped.values()):
            raise ReportError(f"data funnel, stage {name}: a count is negative (rows {rows}, dropped {dropped})")
        if before != rows + lost:
            raise ReportError(
                f"data funnel: {before} {previous} != {rows} {name} + {lost} dropped ({before - rows - lost:+d} "
                f"unaccounted for); every dropped row needs a reason: {dropped}"
            )
        ordered = dict(sorted(dropped.items(), key=lambda item: (-item[1], item[0])))
        stages.append({"name": name, "rows": rows, "lost": lost, "dropped": ordered})
        before, previous = rows, name
    return {"records": int(funnel["records"]), "stages": stages}
