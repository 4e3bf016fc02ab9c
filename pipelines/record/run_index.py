"""The index of runs and data sets: runs/index.html, a static page that links reports and records and works from a file."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.record.records import RECORD, read_summaries, run_folders
from pipelines.report.formats import instant
from pipelines.report.writing import render_page, write_html
from pipelines.storage.store import Store
from pipelines.viewing.pace import span

INDEX = "index.html"
MOST_RUNS = 500  # on the page, the newest; so that a refresh takes as long after ten thousand runs
_STATES = {"done": "done", "running": "running"}


@dataclass(frozen=True)
class Link:
    """A word that leads to another file, relative to the page."""

    text: str
    target: str


def write_index(store: Store) -> Path:
    """Write the page anew from the summaries of the runs; a full disk or a read-only folder leaves the old one."""
    path = store.root / "runs" / INDEX
    values = page_values(read_summaries(store, MOST_RUNS), _count(store))
    with suppress(OSError):  # the record is what counts
        write_html(path, render_page("runs.html", values, {}))
    return path


def page_values(summaries: Sequence[Mapping[str, Any]], count: int) -> dict[str, Any]:
    """Return what the template names, from summaries in the order of their runs."""
    newest = list(reversed(summaries))
    return {
        "title": "walkfold runs",
        "runs": [_row(one) for one in newest],
        "count": count,
        "older": count - len(newest),
        "failed": sum(one["status"] not in _STATES for one in newest),
        "sets": _data_sets(summaries),
    }


def figures_text(summary: Mapping[str, Any]) -> str:
    """The headline of a run: of one fold its verdict; of several how many say that a model beats flat."""
    headlines = summary.get("headlines") or {}
    if len(headlines) == 1:
        return str(next(iter(headlines.values())))
    if headlines:
        good = sum("beats flat" in text or "beat flat" in text for text in headlines.values() if "No model" not in text)
        return f"{good} of {len(headlines)} folds have a model that beats flat after costs."
    return ""


def changes_text(summary: Mapping[str, Any]) -> str:
    """What a command was given beside the fold: overrides, parts of the flow, a configuration file."""
    words = [str(word) for word in summary.get("words") or () if not str(word).startswith("fold=")]
    file = summary.get("config_file")
    return " ".join([*words, *([f"--config {file}"] if file else [])])


def best_figures(summary: Mapping[str, Any]) -> dict[str, Any] | None:
    """Of all folds and models of a run the one with the largest net profit on test rows, and among how many it is that."""
    rows = [
        {"fold": fold, "model": model, **{name: figures.get(name) for name in ("net_profit", "sharpe")}}
        for fold, models in (summary.get("metrics") or {}).items()
        for model, figures in models.items()
        if figures.get("net_profit") is not None
    ]
    return {**max(rows, key=lambda row: row["net_profit"]), "of": len(rows)} if rows else None


def _row(summary: Mapping[str, Any]) -> dict[str, Any]:
    run = str(summary["run"])
    reports = [
        Link(f"fold {_fold_of(path)}", found) for path in summary.get("reports") or () if (found := _inside(path, run))
    ]
    others = (("folds together", "pooled_report"), ("data", "data_report"))
    reports += [Link(words, found) for words, name in others if (found := _inside(summary.get(name), run))]
    seconds = summary.get("seconds")
    best = best_figures(summary)
    return {
        "run": Link(run, f"{run}/{RECORD}"),
        "created": instant(str(summary.get("created", ""))) if summary.get("created") else "",
        "command": f"{summary.get('command', '')} {summary.get('fold', '')}".strip(),
        "changes": changes_text(summary),
        "status": str(summary["status"]).replace("_", " "),
        "bad": summary["status"] not in _STATES,
        "time": "" if seconds is None else span(float(seconds)),
        "tasks": f"{summary['computed']} + {summary['cached']}",
        "headline": str(summary.get("error") or figures_text(summary)),
        "best": "" if best is None else f"Best of {best['of']}: {best['model']}, net profit {best['net_profit']:,.0f}.",
        "links": reports,
    }


def _data_sets(summaries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row a feature set, the newest first: from which data, in which runs, and its latest data report."""
    found: dict[str, dict[str, Any]] = {}
    for one in summaries:
        name = one.get("feature_set")
        if not name:
            continue
        row = found.pop(name, {"first": one["run"], "runs": 0, "report": None})
        link = _inside(one.get("data_report"), str(one["run"]))
        row |= {
            "name": str(name)[:12],
            "data": str(one.get("data") or ""),
            "files": one.get("files", 0),
            "last": one["run"],
            "runs": row["runs"] + 1,
            "report": Link("data report", link) if link else row["report"],
        }
        found[name] = row
    return list(reversed(found.values()))


def _inside(path: Any, run: str) -> str | None:
    """A file of a run's folder as a link from the index, wherever the store has been moved to since."""
    _, found, rest = str(path or "").replace("\\", "/").rpartition(f"/{run}/")
    return f"{run}/{rest}" if found and rest else None


def _fold_of(path: str) -> str:
    return Path(path).parent.name.removeprefix("fold-")


def _count(store: Store) -> int:
    return len(run_folders(store))
