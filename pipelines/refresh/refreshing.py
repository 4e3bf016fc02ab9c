"""One refresh from the files to the switched pointer: what is new is computed, judged, and published or refused."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pipelines.config.settings import Settings
from pipelines.errors import ExitCode, NodeError, StoreError, UsageError, WalkfoldError
from pipelines.graphs.graph import Graph
from pipelines.record.records import RunRecord
from pipelines.refresh.intake import Intake, fingerprint, named, set_aside, take_in
from pipelines.refresh.published_pointer import (
    SHORT,
    CurrentSet,
    Pointer,
    Refusal,
    publish,
    read_pointer,
    refuse,
    renamed,
)
from pipelines.storage.json_values import json_value
from pipelines.storage.locks import Holding
from pipelines.storage.store import Store
from pipelines.storage.store_leases import held

FILES_OF_A_SESSION = 4  # Friday evening to Monday, in files of a UTC day
OF_DATA = ("instrument", "features", "exogenous", "bar_seconds")  # of the configuration, what a set is compared by
NOTHING_NEW, PUBLISHED, POISONED, TAKEN_BACK = "nothing new", "published", "poisoned", "taken back"


@dataclass(frozen=True)
class Job:
    """What a refresh works on. `compute(graph, record)` runs what the store lacks; `say` is for a person who waits."""

    settings: Settings
    store: Store
    record: RunRecord
    holding: Holding
    compute: Callable[[Graph, RunRecord], None]
    say: Callable[[str], None]

    @property
    def name(self) -> str:
        """The pointer that is switched."""
        return self.settings.refresh.name or self.settings.instrument.root


def refreshed(job: Job) -> dict[str, Any]:
    """Download, take in, compute, judge, publish; return the result as JSON values.

    Raises WalkfoldError where it could not come to a judgement.
    """
    fetched = _fetched(job)
    before = read_pointer(job.store, job.name)
    intake = take_in(job.settings, before.current)
    job.record.append("intake", **asdict(intake))
    outcome = _outcome(job, before, intake)
    after = read_pointer(job.store, job.name).current
    return {
        **outcome,
        "name": job.name,
        "published": described(after),
        "files": {name: list(getattr(intake, name)) for name in ("new", "revised", "removed")},
        "download": fetched,
        "taken_over": job.holding.taken_over,
        **staleness(after, job.settings),
    }


def described(found: CurrentSet | None) -> dict[str, Any] | None:
    """A published set as a result shows it: without its files and sessions."""
    hidden = ("files", "missing", "code", "configuration")
    return None if found is None else {name: value for name, value in asdict(found).items() if name not in hidden}


def staleness(found: CurrentSet | None, settings: Settings) -> dict[str, Any]:
    """How many sessions have ended since the newest published bar, and whether that is too many."""
    if found is None:
        return {"age_sessions": None, "stale": False}
    from pipelines.refresh.freshness import sessions_since

    age = sessions_since(nanoseconds(found.last_bar), time.time_ns(), settings.instrument.session)
    return {"age_sessions": age, "stale": age > settings.refresh.stale_sessions}


def nanoseconds(moment: str) -> int:
    """Return the int64 ns UTC of a moment to the second, ISO 8601."""
    return int(datetime.fromisoformat(moment).timestamp()) * 1_000_000_000


def _fetched(job: Job) -> dict[str, Any] | None:
    settings = job.settings.refresh
    if settings.download.source == "none":
        return None
    from pipelines.refresh.downloads import Source, download

    journal = f"downloads/{job.name}.json"
    try:
        known = json_value(job.store.files.read(journal) or b"{}")
    except ValueError as error:
        raise StoreError(
            f"{journal} in the store {job.store.location} is damaged ({error}); remove it: the days are then compared with the "
            "server's once more"
        ) from None
    source = Source.connect(settings.download, job.say)
    done = download(source, Path(job.settings.data), settings.max_cost_usd, known)
    if done.modified:
        job.store.files.write(journal, json.dumps({**known, **done.modified}, indent=1).encode())
    job.record.append("downloaded", **asdict(done))
    return {name: value for name, value in asdict(done).items() if name != "modified"}


def _outcome(job: Job, before: Pointer, intake: Intake) -> dict[str, Any]:
    if intake.faults:
        return _refused(job, before, None, list(intake.faults.values()), intake.faults)
    mark = fingerprint(job.settings, intake.files)
    current = before.current
    if current and mark == current.fingerprint and job.store.manifest(current.feature_set):
        return {"status": NOTHING_NEW, "reasons": []}
    if mark and (known := before.refusal(mark)):
        return {"status": POISONED, "reasons": list(known.reasons), "set_aside": [], "left": {}, "since": known.run}
    return _computed(job, before, intake, mark or "")


def _computed(job: Job, before: Pointer, intake: Intake, mark: str) -> dict[str, Any]:
    from pipelines.flow import open_flow
    from pipelines.refresh.deliveries import NEEDED

    opened = open_flow(job.settings)
    if named(opened.files, job.settings) != intake.files:
        raise WalkfoldError(f"data={job.settings.data} changed while it was read: nothing was published; run again")
    graph = opened.graph(())
    if absent := [name for name in NEEDED if name not in graph]:
        raise UsageError(f"pipeline refresh publishes a feature set, and the flow {job.settings.flow} has no node {absent[0]}")
    graph = graph.needed_for(NEEDED)
    key, current = graph["feature_set"].key, before.current
    if key[:SHORT] in before.withdrawn:
        return {"status": TAKEN_BACK, "reasons": ["this set was taken back by --rollback; new data or code makes another"]}
    if current and current.feature_set == key and job.store.manifest(key):
        renamed(job.store, job.name, replace(current, fingerprint=mark, files=dict(intake.files)))
        return {"status": NOTHING_NEW, "reasons": []}
    with held(job.store, [task.key for task in graph.tasks]):  # until the pointer names the new set
        return _judged(job, before, intake, mark, graph)


def _judged(job: Job, before: Pointer, intake: Intake, mark: str, graph: Graph) -> dict[str, Any]:
    from pipelines.refresh.deliveries import ahead_of, delivery, files_to_blame, reasons_against

    try:
        job.compute(graph, job.record)
    except NodeError as error:
        if error.exit_code is not ExitCode.DATA_REJECTED:
            raise
        return _refused(job, before, mark, [str(error)], {}, _read_by(error, intake))
    found = delivery(graph, job.store, before.current)
    if not (intake.new or intake.revised or intake.removed):  # another configuration or code may well make fewer bars
        found = replace(found, lost=(), shrunk={})
    if found.newest > (clock := time.time_ns()):  # not remembered: the clock may be what is wrong
        return _refused(job, before, None, [ahead_of(found.newest, clock)], {})
    if against := reasons_against(found, job.settings.refresh):
        fresh = {*intake.new, *intake.revised}
        blamed = files_to_blame(found, job.settings.refresh, intake.ordered, fresh)
        return _refused(job, before, mark, against, dict.fromkeys(blamed, against[0]))
    job.holding.require()  # a refresh that slept through its lock must not undo what its successor published
    publish(job.store, job.name, new_set(graph, job, intake.files, mark))
    return {"status": PUBLISHED, "reasons": [], "changed_sessions": len(found.changed), "rejected": dict(found.rejected)}


def _refused(
    job: Job,
    before: Pointer,
    mark: str | None,
    reasons: Sequence[str],
    blamed: Mapping[str, str],
    doubtful: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Leave what is published, remember the refusal, and move new files that are to blame out of the way.

    `doubtful` files (name → why they are not moved) stay.
    """
    known = before.current.files if before.current else {}
    movable = {name: reason for name, reason in blamed.items() if before.current and name and name not in known}
    moved, left = set_aside(job.settings, movable, job.record.run)
    left.update(doubtful)
    for name in set(blamed) - set(movable) - {""}:
        left[name] = "a revision of a published file" if name in known else "nothing is published yet"
    if mark and not moved:
        refuse(job.store, job.name, Refusal(mark, tuple(reasons), now(), job.record.run))
    return {"status": POISONED, "reasons": list(reasons), "set_aside": moved, "left": left}


def _read_by(error: NodeError, intake: Intake) -> dict[str, str]:
    """The new file that a node rejected, if it reads one: it may be foreign, or what it needs may still come."""
    place = dict(pair.partition("=")[::2] for pair in error.partition.split(","))
    name = dict(enumerate(intake.ordered)).get(int(place.get("file", "-1")), "")
    return {name: "it may be another's, or its definitions may still come"} if name in intake.new else {}


def new_set(graph: Graph, job: Job, files: Mapping[str, str], mark: str) -> CurrentSet:
    """Describe the computed feature set of a graph as the one to publish."""
    from pipelines.config.configuration import as_tree
    from pipelines.graphs.reading import read_task
    from pipelines.models.scored_code import codes_of
    from pipelines.refresh.deliveries import days_of, missing_shares

    store, key = job.store, graph["feature_set"].key
    tree = as_tree(job.settings)
    days = days_of(store, graph["feature_days"].key)
    bars = read_task(store, graph["feature_set"], "bars")
    last = bars.iloc[-1]
    return CurrentSet(
        feature_set=key,
        feature_days=graph["feature_days"].key,
        fingerprint=mark,
        at=now(),
        run=job.record.run,
        files=dict(files),
        sessions=len(days),
        rows=len(bars),
        last_session=int(last["session"]),
        last_bar=last["ts_event"].isoformat(),
        contract=str(last["contract"]),
        volumes=_volumes(graph, store, int(last["session"]), int(last["expiry"])),
        missing={str(session): share for session, share in missing_shares(graph, store).items()},
        code=codes_of(graph),
        configuration={name: tree[name] for name in OF_DATA},
    )


def now() -> str:
    """Return the time as results show it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _volumes(graph: Graph, store: Store, session: int, expiry: int) -> dict[str, int]:
    """What the followed contract and each later one traded in a session: of the last files, which alone can hold it."""
    from loaders.sessions import trade_dates
    from loaders.types import nanoseconds as times
    from pipelines.graphs.reading import read_task

    rule = graph["gaps"].constants["session"]
    totals: dict[str, int] = {}
    for task in [one for one in graph.tasks if one.node.name == "outrights"][-FILES_OF_A_SESSION:]:
        bars = read_task(store, task, "bars")
        mine = (trade_dates(times(bars["ts_event"]), rule) == session) & (bars["expiry"] >= expiry).to_numpy()
        for contract, volume in bars[mine].groupby("contract", observed=True)["volume"].sum().items():
            totals[str(contract)] = totals.get(str(contract), 0) + int(volume)
    return dict(sorted(totals.items()))
