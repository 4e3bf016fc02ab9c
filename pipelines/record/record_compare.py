"""What differs between two runs: configuration, data, code, results and environment, from their records alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.viewing.pace import node_of

SECTIONS = ("configuration", "data", "code", "environment")
_ABSENT = None


def compare_records(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the differences by section; `same` says that there are none.

    configuration, environment: {"name", "first", "second"} a dotted key. data: files by group and name, by checksum. code: the
    nodes whose code differs. results: figures that differ, and the tasks whose artefacts have other bytes, in the order of
    the flow, with how many tasks could be compared and how many are the same.
    """
    found: dict[str, Any] = {
        "first": first["run"],
        "second": second["run"],
        "configuration": _leaves_differing(_settings(first), _settings(second)),
        "data": _data(first, second),
        "code": sorted(code_differences(first, second)),
        "results": {
            "figures": _leaves_differing(first.get("metrics") or {}, second.get("metrics") or {}),
            **_artefacts(first, second),
        },
        "environment": environment_differences(first, second),
    }
    found["same"] = not any(found[name] for name in SECTIONS) and not _other(found["results"])
    return found


def comparison_text(comparison: Mapping[str, Any]) -> str:
    """Return the comparison as lines a person reads: a section each, and in words where nothing differs."""
    results = comparison["results"]
    lines = [f"{comparison['first']}  →  {comparison['second']}"]
    for name in SECTIONS:
        rows = comparison[name]
        lines.append(f"{name}:" if rows else f"{name}: the same")
        lines += [f"  {row}" if isinstance(row, str) else f"  {_change(row)}" for row in rows]
    lines.append("results:" if _other(results) or not results["compared"] else "results: the same")
    lines += [f"  {_change(row)}" for row in results["figures"]]
    lines.append(f"  {results['same']} of {results['compared']} artefacts in both runs have the same bytes")
    lines += [f"  differs: {name}" for name in _few(results["differ"])]
    lines += [f"  only in {comparison[side]}: {name}" for side in ("first", "second") for name in _few(results[f"only_{side}"])]
    return "\n".join(lines) + "\n"


def outputs_by_task(record: Mapping[str, Any]) -> dict[str, str]:
    """The digest of what each task of a run made, in the order in which they ended; the last where one ran twice."""
    return {task["task"]: task["output"] for task in record["tasks"] if task.get("output")}


def code_differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> set[str]:
    """The nodes, or single tasks of them, that both runs planned with different code."""
    old, new = first.get("code") or {}, second.get("code") or {}
    names = set(old) | set(new)
    return {
        name
        for name in names
        if node_of(name) in old and node_of(name) in new and _code_of(old, name) != _code_of(new, name)
    }


def environment_differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Versions, machine and git state that differ, by dotted name."""
    sides = []
    for record in (first, second):
        git = record.get("git") or ()
        commits = {Path(row["folder"]).name: {name: row[name] for name in ("commit", "dirty")} for row in git}
        sides.append({"versions": record.get("versions") or {}, "machine": record.get("machine") or {}, "git": commits})
    return _leaves_differing(sides[0], sides[1])


def changed_files(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Input files that are not in both runs with the same bytes: {"name", "first", "second"}, checksums shortened."""
    return _leaves_differing(_files(first), _files(second))


def _data(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = changed_files(first, second)
    return [{**row, **{side: row[side] and str(row[side])[:12] for side in ("first", "second")}} for row in rows]


def _files(record: Mapping[str, Any]) -> dict[str, str]:
    return {f"{row['group']}/{Path(row['path']).name}": row["sha256"] for row in record.get("inputs") or ()}


def _settings(record: Mapping[str, Any]) -> dict[str, Any]:
    arguments = {name: record[name] for name in ("command", "fold", "only", "from", "until") if record.get(name)}
    return {**arguments, **(record.get("configuration") or {})}


def _artefacts(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    old, new = outputs_by_task(first), outputs_by_task(second)
    both = [name for name in _ordered(first, old) if name in new]
    differ = [name for name in both if old[name] != new[name]]
    return {
        "compared": len(both),
        "same": len(both) - len(differ),
        "differ": differ,
        "only_first": [name for name in old if name not in new],
        "only_second": [name for name in new if name not in old],
    }


def _ordered(record: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    """Tasks in the order of the flow's nodes; a run of some cached tasks notes those last."""
    place = {node: at for at, node in enumerate(record.get("code") or {})}
    return sorted(names, key=lambda name: place.get(node_of(name), len(place)))


def _code_of(code: Mapping[str, str], name: str) -> str | None:
    return code.get(name, code.get(node_of(name)))


def _other(results: Mapping[str, Any]) -> bool:
    return any(results[name] for name in ("figures", "differ", "only_first", "only_second"))


def _leaves_differing(old: Any, new: Any, path: str = "") -> list[dict[str, Any]]:
    """The leaves of two trees that differ; a list is a leaf."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        names = dict.fromkeys([*old, *new])
        return [
            row for name in names for row in _leaves_differing(old.get(name), new.get(name), f"{path}.{name}".lstrip("."))
        ]
    return [] if old == new else [{"name": path, "first": old, "second": new}]


def _change(row: Mapping[str, Any]) -> str:
    return f"{row['name']}: {_brief(row['first'])} → {_brief(row['second'])}"


def _brief(value: Any) -> str:
    if value is _ABSENT:
        return "none"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _few(names: list[str], most: int = 20) -> list[str]:
    return names if len(names) <= most else [*names[:most], f"and {len(names) - most} more"]
