"""Text of the run's part of the page: what ran, what was cached, with which settings, versions and seeds."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.report.formats import number
from pipelines.report.view_tables import Table

NOTHING_FELL_BACK = "nothing fell back"


def run_values(report: Mapping[str, Any]) -> dict[str, Any]:
    """Facts and tables of the run that wrote this page."""
    run = report["run"]
    cached = sum(bool(node["cached"]) for node in run["nodes"])
    return {
        "run": str(run["run"]),
        "created": str(run["created"]),
        "command": str(run["command"]),
        "executor": str(run["executor"]),
        "fallback": NOTHING_FELL_BACK if run["fallback_reason"] is None else f"fell back: {run['fallback_reason']}",
        "nodes": node_table(run["nodes"]),
        "nodes_sentence": f"{cached} of {len(run['nodes'])} nodes came from the cache.",
        "configuration": Table(
            ("Setting", "Value"), [list(pair) for pair in flattened(run["configuration"])], words=(0, 1)
        ),
        "versions": Table(("Package", "Version"), [list(pair) for pair in flattened(run["versions"])], words=(0, 1)),
        "seeds": Table(("Seed", "Value"), [list(pair) for pair in flattened({"seed": run["seeds"]})], words=(0, 1)),
    }


def node_table(nodes: Any) -> Table:
    """A row a node: its artefact's key, whether it was computed, and how long it took."""
    rows = [
        [node["name"], node["key"], "cached" if node["cached"] else "computed", number(node["seconds"], "seconds")]
        for node in nodes
    ]
    return Table(("Node", "Content key", "State", "Time"), rows, words=(0, 1, 2))


def flattened(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested settings as (dotted name, text) in their order; empty mappings are shown as {}."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flattened(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
