"""`pipeline runs [RUN]`: records of past runs, readable also after a crash; `--fallbacks`: why sweeps fell back."""

import json
import sys
from collections import Counter
from typing import Any

from pipelines.commands.options import Options
from pipelines.configuration import load_settings, nearest
from pipelines.errors import ExitCode, UsageError
from pipelines.records import read_records
from pipelines.store_opening import existing_store

HIDDEN = ("tasks", "configuration")


def execute(options: Options) -> int:
    """List the runs of the store, or show one by its name or the beginning of it."""
    names = [word for word in options.words if "=" not in word]
    settings = load_settings([word for word in options.words if "=" in word], options.config)
    records = read_records(existing_store(settings))
    if len(names) > 1:
        raise UsageError(f"pipeline runs shows one run at a time, given {len(names)}")
    if options.fallbacks:
        return _fallbacks(options, [_find(names[0], records)] if names else records)
    if names:
        return _show(options, _find(names[0], records))
    if options.json:
        sys.stdout.write(json.dumps({"runs": records}) + "\n")
    else:
        sys.stdout.write("".join(_line(record) for record in records) or "no runs yet: pipeline run fold=0\n")
    return ExitCode.DONE


def _fallbacks(options: Options, records: list[dict[str, Any]]) -> int:
    """Count the sweeps that were computed on another executor than asked for, by reason; cached ones did not run."""
    sweeps: Counter[str] = Counter()
    runs: dict[str, list[str]] = {}
    for record in records:
        for task in record["tasks"]:
            reason = (task.get("facts") or {}).get("fallback_reason")
            if reason and not task["cached"]:
                sweeps[reason] += 1
                runs.setdefault(reason, []).append(record["run"])
    rows = [
        {"reason": reason, "sweeps": sweeps[reason], "runs": len(set(runs[reason])), "last": runs[reason][-1]}
        for reason in sorted(sweeps)
    ]
    if options.json:
        sys.stdout.write(json.dumps({"fallbacks": rows}) + "\n")
    else:
        lines = [
            f"{row['reason']:<20} {row['sweeps']:>6} sweeps in {row['runs']} runs, last {row['last']}\n" for row in rows
        ]
        sys.stdout.write("".join(lines) or f"nothing fell back in {len(records)} runs\n")
    return ExitCode.DONE


def _find(name: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    found = [record for record in records if record["run"].startswith(name)]
    if len(found) != 1:
        known = [record["run"] for record in records]
        reason = f"{len(found)} runs begin so" if found else nearest(name, known) if known else "there are no runs yet"
        raise UsageError(f"no single run {name!r}: {reason}")
    return found[0]


def _line(record: dict[str, Any]) -> str:
    cached = sum(bool(task["cached"]) for task in record["tasks"])
    return (
        f"{record['run']}  {record['status']:<12} fold={record.get('fold', '?'):<6} "
        f"{record.get('seconds', 0.0):7.1f} s  {len(record['tasks']) - cached:3d} run {cached:3d} cached  "
        f"{record.get('error') or record.get('report', '')}\n"
    )


def _show(options: Options, record: dict[str, Any]) -> int:
    if options.json:
        sys.stdout.write(json.dumps(record) + "\n")
        return ExitCode.DONE
    lines = [line for name in sorted(record) if name not in HIDDEN for line in _lines(name, record[name])]
    lines += ["tasks:"] if record["tasks"] else []
    lines += [
        f"  {'cached' if task['cached'] else format(task['seconds'], '.1f') + ' s':>8}  {task['task']}  {task['key'][:12]}"
        for task in record["tasks"]
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return ExitCode.DONE


def _lines(name: str, value: Any) -> list[str]:
    """A fact as readable lines: a list or mapping below its name, an item a line; what is empty is "none"."""
    if isinstance(value, dict) and value:
        return [f"{name}:", *(f"  {line}" for key, item in value.items() for line in _lines(str(key), item))]
    if isinstance(value, list) and value:
        return [f"{name}:", *(f"  {_text(item)}" for item in value)]
    return [f"{name}: {_text(value)}"]


def _text(value: Any) -> str:
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, float):
        return f"{value:.1f}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
