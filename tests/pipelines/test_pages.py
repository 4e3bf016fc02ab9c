"""What the pages say of tables in the code is so: gates, controls, events of records, axes, options of clusters."""

import dataclasses
import re
from pathlib import Path

from pipelines.execution.cluster_settings import ClusterOptions
from pipelines.flow import _AXES
from pipelines.nodes import NODES
from pipelines.record.run_index import MOST_RUNS

REPOSITORY = Path(__file__).resolve().parents[2]


def page(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


def sources(folder: str):
    return [(path, path.read_text(encoding="utf-8")) for path in sorted((REPOSITORY / folder).rglob("*.py"))]


def test_gates_stand_where_the_architecture_page_says():
    """From the outright bars of a file to the series; the days of features, the feature set, the normalised features."""
    of_bars = {"outright_parts", "traded_bars", "outrights", "rolled", "sanitised", "bars"}
    assert {node.name for node in NODES if node.gate} == of_bars | {"feature_days", "feature_set", "normalised"}
    assert "Other nodes have none" in page("docs/architecture.md")


def test_no_run_computes_the_shifted_control():
    importing = [path for folder in ("pipelines", "training") for path, text in sources(folder) if "training.shifted" in text]
    assert importing == [] and "no run computes it" in page("docs/architecture.md")


def test_every_event_of_a_record_is_on_its_page():
    written = {name for _, text in sources("pipelines") for name in re.findall(r"record\.append\(\s*\"(\w+)\"", text)}
    assert {"began", "cluster", "damaged", "intake", "placed", "planned", "retry", "task", "warning"} <= written
    first = [line.split("|")[1] for line in page("docs/records.md").splitlines() if line.startswith("| `")]
    assert written | {"started", "evicted", "ended"} <= set(re.findall(r"`(\w+)`", " ".join(first)))


def test_the_axes_and_the_options_of_clusters_are_all_named():
    assert [axis for axis in _AXES if f"`{axis}`" not in page("docs/flows.md")] == []
    yaml = re.search(r"cluster_options:\n(.*?)```", page("docs/running.md"), re.S)[1]
    assert set(re.findall(r"^  (\w+):", yaml, re.M)) == {field.name for field in dataclasses.fields(ClusterOptions)}
    assert f"the newest {MOST_RUNS} runs" in page("README.md") and f"the newest {MOST_RUNS} runs" in page("docs/records.md")
