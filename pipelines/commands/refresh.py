"""`pipeline refresh`: the scheduled job, its lock, its record, its hooks; `--rollback`, `--install`."""

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipelines.commands.options import Options
from pipelines.config.configuration import load_settings
from pipelines.config.settings import Settings
from pipelines.errors import ExitCode, UsageError
from pipelines.graphs.graph import Graph
from pipelines.record.job_records import begin, code_of, end
from pipelines.record.records import RunRecord
from pipelines.record.redaction import current
from pipelines.refresh.hooks import run_hook
from pipelines.refresh.refreshing import POISONED, PUBLISHED, Job, described, refreshed
from pipelines.storage.locks import Holding, locked
from pipelines.storage.store import Store
from pipelines.storage.store_opening import open_store

FAILED = "failed"
HOOKS = {POISONED: "on_poisoned", FAILED: "on_failure"}


def execute(options: Options) -> int:
    """Refresh and print what was published, kept or refused; exit 3 for a refused delivery, 5 where another refresh runs."""
    own, overrides = options.split("at", "to")
    settings = load_settings(overrides, options.config)
    name = settings.refresh.name or settings.instrument.root
    if options.install:
        return _install(options, name, own, overrides)
    if own:
        raise UsageError(f"{next(iter(own))}= belongs to `pipeline refresh --install`")
    folder = Path(settings.data)
    if settings.refresh.download.source == "none" and not folder.is_dir():
        raise UsageError(f"data={settings.data}: no such folder; name the folder that new files arrive in")
    store = open_store(settings)
    with locked(store, f"refresh-{name}", f"refresh of {name}") as holding:
        document = _kept(options, settings, store, holding, _rolled_back if options.rollback else refreshed)
    _print(options, document)
    return ExitCode.DATA_REJECTED if document["status"] == POISONED else ExitCode.DONE


def _kept(
    options: Options, settings: Settings, store: Store, holding: Holding, work: Callable[[Job], dict[str, Any]]
) -> dict[str, Any]:
    """Do the work with a record of it, and tell the hooks, whatever becomes of it."""
    started = time.perf_counter()
    say = (lambda text: None) if options.quiet else _say
    record = begin(store, "refresh", settings)
    job = Job(settings, store, record, holding, _computer(options, settings, store, started), say)
    if holding.taken_over:
        say(f"took the lock over from {holding.taken_over}")
    try:
        found = work(job)
    except BaseException as error:
        code, reason = code_of(error), current().text(str(error) or type(error).__name__)
        failure = {"run": record.run, "name": job.name, "status": FAILED, "error": reason, "exit_code": int(code)}
        warnings = _told(settings, FAILED, failure, say)
        end(record, code.name.lower(), code, time.perf_counter() - started, error=reason, hooks=warnings)
        raise
    seconds = round(time.perf_counter() - started, 3)
    document: dict[str, Any] = current().tree({"run": record.run, **found, "seconds": seconds}, content_keys=True)
    document["warnings"] = _told(settings, document["status"], document, say)
    _end(record, document, time.perf_counter() - started)
    return document


def _end(record: RunRecord, document: Mapping[str, Any], seconds: float) -> None:
    refused = document["status"] == POISONED
    facts = {name: value for name, value in document.items() if name not in ("run", "status", "seconds")}
    error = {"error": "; ".join(document["reasons"])} if refused else {}
    code = ExitCode.DATA_REJECTED if refused else ExitCode.DONE
    end(record, code.name.lower(), code, seconds, outcome=document["status"], **error, **facts)


def _told(settings: Settings, status: str, document: Mapping[str, Any], say: Callable[[str], None]) -> list[str]:
    """Run the hooks for a status, and the one for stale data; return what went wrong with them."""
    names = [HOOKS.get(status, "on_success" if status == PUBLISHED else "")]
    if document.get("stale"):
        names.append("on_stale")
    wrong = []
    for name in filter(None, names):
        command = getattr(settings.refresh, name)
        if problem := run_hook(command, {"hook": name, **document}, settings.refresh.hook_seconds):
            say(problem)
            wrong.append(problem)
    return wrong


def _computer(
    options: Options, settings: Settings, store: Store, started: float
) -> Callable[[Graph, RunRecord], None]:
    def compute(graph: Graph, record: RunRecord) -> None:
        from pipelines.execution.running import Request, run_graph
        from pipelines.record.looks import LookKeeper
        from pipelines.storage.store_upkeep import kept_up

        keeper = LookKeeper(graph, store, settings.instrument.root, record.run)  # nothing of a refresh is a look
        asked = Request(settings, (), "", graph, graph, keeper, record, options.quiet, started)
        with kept_up(store, settings, {task.key: task.node.name for task in graph.tasks}, record.append):
            run_graph(asked, lambda outcomes: None)

    return compute


def _rolled_back(job: Job) -> dict[str, Any]:
    from pipelines.refresh.published_pointer import roll_back

    after = roll_back(job.store, job.name)
    return {"name": job.name, "status": "rolled back", "reasons": [], "published": described(after.current)}


def _install(options: Options, name: str, own: Mapping[str, str], overrides: list[str]) -> int:
    from pipelines.refresh.schedules import schedule, user_units

    if own.get("to", "systemd") != "systemd":
        raise UsageError(f"to={own['to']}: only to=systemd writes something; a cron line is printed, for `crontab -e`")
    words = [*(["--config", str(options.config.resolve())] if options.config else []), *overrides, "--json"]
    made = schedule(name, own.get("at", "06:30"), words, Path.cwd())
    written = [str(path) for path in made.write(user_units())] if "to" in own else []
    said = "nothing was written; to=systemd writes the two units; then"
    if written:
        said = f"written: {', '.join(written)}; start it with"
    if options.json:
        sys.stdout.write(json.dumps({**vars(made), "folder": str(user_units()), "written": written}) + "\n")
        return ExitCode.DONE
    sys.stdout.write(
        f"# {user_units() / made.name}.service\n{made.service}\n# {user_units() / made.name}.timer\n{made.timer}\n"
        f"# or, for a machine without systemd, a line for `crontab -e`\n{made.cron}\n\n{said}: {made.enable}\n"
    )
    return ExitCode.DONE


def _print(options: Options, document: Mapping[str, Any]) -> None:
    if options.json:
        sys.stdout.write(json.dumps(document) + "\n")
        return
    found = document["published"]
    kept = "nothing is published" if found is None else (
        f"{found['feature_set'][:12]} of {found['at']}: {found['rows']:,} bars, {found['sessions']} sessions, the last bar "
        f"{found['last_bar']} {found['contract']}"
    )
    lines = [f"{document['name']}: {document['status']}; published: {kept}"]
    lines += [f"  {reason}" for reason in document["reasons"]]
    lines += [f"  moved to {path}" for path in document.get("set_aside", ())]
    lines += [f"  {name} stays in the data folder: {reason}" for name, reason in document.get("left", {}).items()]
    if document.get("stale"):
        lines.append(f"  stale: {document['age_sessions']} sessions have ended since the last bar")
    sys.stdout.write("\n".join(lines) + "\n")


def _say(text: str) -> None:
    sys.stderr.write(current().text(text) + "\n")  # a server's or a hook's own words may hold anything
