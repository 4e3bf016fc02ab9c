"""Which model of which run is current: a pointer that is switched in one write, with the one before it and a history.

promoted/<name>.json            {"current": model, "previous": model or null}
promoted/<name>.history.jsonl   a line a promotion, appended

The keys of all artefacts that scoring reads stand in the pointer, so that no eviction removes them.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pipelines.config.configuration import nearest
from pipelines.errors import StoreError, UsageError
from pipelines.graphs.reading import Gate, read_artefact
from pipelines.models.scored_code import LINEAR, POLICY, STRATEGY, code_of_tasks, codes_of_run, require_same
from pipelines.record.job_records import JOBS
from pipelines.record.records import read_records
from pipelines.steps.boundaries import FEATURE_SET
from pipelines.steps.feature_set import FeatureSet
from pipelines.steps.sweeping import StrategyRanking
from pipelines.storage.json_values import json_value
from pipelines.storage.store import Store
from training.folds import Fold

SEED = "dqn seed "  # what the report calls a policy


@dataclass(frozen=True)
class Promoted:
    """A model of a fold of a run, with all that scoring it needs.

    `artefacts`: task → content key of the ranking, policy or linear model, and of the fold's normalised features, whose
    normaliser travels with it. `parameters` and `start` (the warm-up of the sweep's whole grid) are a strategy's. `since`
    is the fold's first test bar: the account starts flat there, as in the evaluation, and scoring goes on from it. `names`
    are the features that a policy or linear model reads. `anyway` is the reason that was given for promoting a model that
    does not beat flat. `code`: task → hash of the code that the run computed the model's positions with; `data_code`: node →
    hash of the code that the run made its data with.
    """

    name: str
    run: str
    fold: int
    model: str
    kind: str
    parameters: dict[str, float]
    start: int
    since: str
    artefacts: dict[str, str]
    feature_set: str
    names: list[str]
    configuration: dict[str, Any]
    beats_flat: bool
    words: str
    anyway: str
    at: str
    code: dict[str, str] = field(default_factory=dict)
    data_code: dict[str, str] = field(default_factory=dict)


def read_promoted(store: Store, name: str) -> Promoted:
    """Return the current model; raise UsageError where none is."""
    data = store.files.read(_path(name))
    if data is None:
        raise UsageError(f"no model is promoted as {name} in the store {store.location}; run `pipeline promote RUN MODEL`")
    try:
        return Promoted(**json_value(data)["current"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{_path(name)} in the store {store.location} is damaged ({error}); promote a model again") from None


def promote(store: Store, new: Promoted) -> Promoted | None:
    """Make a model the current one; return the one before it. The same model again keeps what was before it."""
    try:
        before: Promoted | None = read_promoted(store, new.name)
    except (UsageError, StoreError):
        before = None
    previous = asdict(before) if before else None
    if before and (before.run, before.fold, before.model) == (new.run, new.fold, new.model):
        previous = json_value(store.files.read(_path(new.name)) or b"{}").get("previous")
    document = {"current": asdict(new), "previous": previous}
    store.files.write(_path(new.name), json.dumps(document, indent=1).encode())
    line = {name: getattr(new, name) for name in ("at", "run", "fold", "model", "beats_flat", "anyway")}
    store.files.append(f"promoted/{new.name}.history.jsonl", json.dumps(line))
    return before


def find_model(store: Store, run: str, model: str, fold: int | None, name: str, anyway: str, at: str) -> Promoted:
    """Gather a model of a run; raise UsageError naming what does not exist, is gone, or may not be promoted.

    A model that the run's report does not say to beat flat needs a reason in `anyway`.
    """
    record = _record(store, run)
    tasks = {str(task["task"]): str(task["key"]) for task in record["tasks"]}
    number = _fold(record, tasks, fold)
    kind, wanted = _tasks_of(model, number, tasks)
    fold_rows: Fold = _read(store, tasks, f"fold[fold={number}]", Fold)
    bars = _read(store, tasks, "feature_set", FeatureSet, "bars", FEATURE_SET)
    best, start = _combination(store, tasks, wanted[0], model) if kind == STRATEGY else ({}, 0)
    beats, words = _judged(store, record["run"], number, model)
    if not beats and not anyway:
        raise UsageError(
            f'{model} of run {record["run"]}, fold {number}, is not promoted: "{words}", says its report; to do so all the '
            "same give "
            "--anyway reason=…, which is recorded"
        )
    for task in wanted:
        if store.manifest(tasks[task]) is None:
            raise UsageError(f"{task} of run {record['run']} is no longer in the store; run the fold again")
    code = code_of_tasks(store, tasks, number, kind, model)
    require_same(store, record["run"], kind, model, code)
    return Promoted(
        name=name, run=record["run"], fold=number, model=model, kind=kind, parameters=best, start=start,
        since=bars["ts_event"].iloc[fold_rows.test[0]].isoformat(), artefacts={task: tasks[task] for task in wanted},
        feature_set=tasks["feature_set"], names=list(_read(store, tasks, "feature_set", FeatureSet, "names", FEATURE_SET)),
        configuration=record["configuration"], beats_flat=beats, words=words, anyway=anyway, at=at,
        code=code, data_code=codes_of_run(store, tasks),
    )  # fmt: skip


def _record(store: Store, run: str) -> dict[str, Any]:
    records = [row for row in read_records(store) if row.get("command") not in JOBS]
    found = [row for row in records if row["run"].startswith(run)]
    if len(found) != 1:
        known = [row["run"] for row in records]
        reason = f"{len(found)} runs begin so" if found else nearest(run, known) if known else "there are no runs yet"
        raise UsageError(f"no single run {run!r}: {reason}")
    if "configuration" not in found[0]:
        raise UsageError(f"the record of run {found[0]['run']} is damaged; promote a model of another run")
    return found[0]


def _fold(record: Mapping[str, Any], tasks: Mapping[str, str], fold: int | None) -> int:
    folds = sorted(int(task[len("fold[fold=") : -1]) for task in tasks if task.startswith("fold[fold="))
    if fold is None and len(folds) == 1:
        return folds[0]
    if fold is None or fold not in folds:
        asked = "say which fold" if fold is None else f"fold={fold} is none of its folds"
        raise UsageError(f"run {record['run']}: {asked}; it has {', '.join(f'fold={one}' for one in folds) or 'none'}")
    return fold


def _tasks_of(model: str, fold: int, tasks: Mapping[str, str]) -> tuple[str, list[str]]:
    """The kind of a model and the tasks whose artefacts scoring it reads, the model's own first."""
    here = f"fold={fold}"
    models = {task[len(f"ranking[{here},strategy=") : -1]: (STRATEGY, [task])
              for task in tasks if task.startswith(f"ranking[{here},")}
    models |= {SEED + task[len(f"policy[{here},seed=") : -1]: (POLICY, [task, f"normalised[{here}]"])
               for task in tasks if task.startswith(f"policy[{here},")}
    if f"linear[{here}]" in tasks:
        models["linear"] = (LINEAR, [f"linear[{here}]", f"normalised[{here}]"])
    if model not in models:
        raise UsageError(f"the run has no model {model!r} that could be promoted: {nearest(model, models)}")
    return models[model]


def _combination(store: Store, tasks: Mapping[str, str], task: str, model: str) -> tuple[dict[str, float], int]:
    best = dict(_read(store, tasks, task, StrategyRanking, "best"))
    if not best:
        raise UsageError(f"{model}: no combination had a defined value on the validation rows, so there is nothing to promote")
    return best, int(_read(store, tasks, task, StrategyRanking, "start"))


def _judged(store: Store, run: str, fold: int, model: str) -> tuple[bool, str]:
    """Whether the run's report says that a model beats flat, and its words; a model that no report judged does not."""
    store.pull("runs", "report.json")
    try:
        report = json_value((store.root / "runs" / run / f"fold-{fold}" / "report.json").read_bytes())
        mine = next(row for row in report["verdict"]["models"] if row["model"] == model)
        return bool(mine["beats_flat"]), str(mine["words"])
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return False, "not judged by a report of this run"


def _read(
    store: Store, tasks: Mapping[str, str], task: str, kind: Any, only: str | None = None, gate: Gate | None = None
) -> Any:
    if task not in tasks or store.manifest(tasks[task]) is None:
        raise UsageError(f"{task} of the run is no longer in the store, or never was; run the fold again")
    return read_artefact(store, tasks[task], kind, gate, only)


def _path(name: str) -> str:
    return f"promoted/{name}.json"
