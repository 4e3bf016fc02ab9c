"""`pipeline runs [RUN [OTHER]]`: lists past runs, shows one, compares two; `--fallbacks`: why sweeps fell back."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pipelines.commands.figures import figures_line
from pipelines.commands.options import Options
from pipelines.config.configuration import load_settings
from pipelines.errors import ExitCode, UsageError
from pipelines.record.record_compare import compare_records, comparison_text
from pipelines.record.records import RECORD, find_run, read_record, read_records, read_summaries
from pipelines.record.run_index import best_figures, changes_text, figures_text
from pipelines.storage.store_opening import existing_store
from pipelines.viewing.pace import span

FIRST = ("run", "status", "error", "asked", "seconds", "headlines", "report", "pooled_report", "data_report")
HIDDEN = (
    "tasks", "configuration", "code", "libraries", "reasons", "inputs", "metrics", "at", "owner", "pid", "command", "words",
    "fold", "folds", "config_file", "only", "from", "until",
)  # fmt: skip


def execute(options: Options) -> int:
    """List the runs of the store, the newest first; show or compare those named, by their beginnings if these are enough."""
    names = [word for word in options.words if "=" not in word]
    settings = load_settings([word for word in options.words if "=" in word], options.config)
    store = existing_store(settings)
    store.pull("runs", RECORD)
    if len(names) > 2:
        raise UsageError(f"pipeline runs shows one run or compares two, given {len(names)}")
    found = [read_record(find_run(store, name)) for name in names]
    if options.fallbacks:
        return _fallbacks(options, found or read_records(store))
    if len(found) == 2:
        comparison = compare_records(*found)
        sys.stdout.write(json.dumps(comparison) + "\n" if options.json else comparison_text(comparison))
    elif found:
        sys.stdout.write(json.dumps(found[0]) + "\n" if options.json else _shown(found[0]))
    elif options.json:
        sys.stdout.write(json.dumps({"runs": list(reversed(read_records(store)))}) + "\n")
    else:
        rows = list(reversed(read_summaries(store)))
        sys.stdout.write("".join(_line(row) for row in rows) or "no runs yet: pipeline run fold=0\n")
    return ExitCode.DONE


def _fallbacks(options: Options, records: Sequence[dict[str, Any]]) -> int:
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
        {"reason": reason, "sweeps": sweeps[reason], "runs": len(set(runs[reason])), "last": max(runs[reason])}
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


def _line(summary: dict[str, Any]) -> str:
    seconds = summary.get("seconds")
    what = f"{summary.get('command', '?')} {summary.get('fold') or ''}".strip()
    best = best_figures(summary)
    figures = figures_text(summary)
    changes = f"  [{text}]" if (text := changes_text(summary)) else ""
    figures += "" if best is None else f" Best of {best['of']}: {best['model']}, net profit {best['net_profit']:,.0f}"
    line = (
        f"{summary['run']}  {summary['status']:<13} {what:<10} {'' if seconds is None else span(seconds):>9}  "
        f"{summary['computed']:3d} run {summary['cached']:3d} cached  {summary.get('error') or figures}{changes}"
    )
    return line.rstrip() + "\n"


def _shown(record: dict[str, Any]) -> str:
    asked = f"pipeline {record.get('command', '')} {_fold(record)} {changes_text(record)}".split()
    facts = {**record, "asked": " ".join(asked)}
    if facts.get("reports") == [facts.get("report")]:
        del facts["reports"]  # of one fold: said already
    names = [name for name in FIRST if name in facts] + sorted(set(facts) - set(FIRST) - set(HIDDEN))
    lines = [line for name in names if facts[name] not in (None, [], {}) for line in _lines(name, facts[name])]
    inputs = record.get("inputs") or []
    lines += [f"inputs: {len(inputs)} files, {sum(row['bytes'] for row in inputs):,} bytes"] if inputs else []
    for fold, models in (record.get("metrics") or {}).items():
        lines.append(f"fold {fold}:")
        lines += [f"  {model}: {figures_line(figures)}" for model, figures in models.items()]
    lines += ["tasks:"] if record["tasks"] else []
    lines += [_task(task) for task in record["tasks"]]
    return "\n".join(lines) + "\n"


def _fold(record: dict[str, Any]) -> str:
    return f"fold={record['fold']}" if record.get("fold") not in (None, "") else ""


def _task(task: dict[str, Any]) -> str:
    """A task's line: its time, name, key, and of one that ran its phases and peak memory."""
    begin = f"  {'cached' if task['cached'] else format(task['seconds'], '.1f') + ' s':>8}  {task['task']}  {task['key'][:12]}"
    timings = task.get("timings") or {}
    phases = [f"{name} {timings[name]:.2f}" for name in ("queue", "load", "compute", "publish") if name in timings]
    memory = [f"{task['peak_bytes'] / 2**20:.0f} MiB"] if task.get("peak_bytes") and not task["cached"] else []
    memory += [f"GPU {task['device_bytes'] / 2**20:.0f} MiB"] if task.get("device_bytes") else []
    return "  ".join([begin, *phases, *memory]) + "".join(
        f"\n            {text}" for text in task.get("warnings") or ()
    )


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
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items())
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)
