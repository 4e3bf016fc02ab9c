"""`pipeline score`: the promoted model's target position for the newest bar of the published set, printed and kept."""

import json
import sys
import time
from typing import Any

from pipelines.commands.options import Options
from pipelines.config.configuration import build_settings, load_settings
from pipelines.config.settings import Settings
from pipelines.errors import ExitCode
from pipelines.record.job_records import begin, code_of, end
from pipelines.storage.json_values import json_value
from pipelines.storage.store import Store
from pipelines.storage.store_opening import existing_store

SAME = ("run", "fold", "model", "feature_set", "bar", "target")  # a score with these values is one that is kept already


def execute(options: Options) -> int:
    """Score and print the position with its warnings, or one JSON object with --json."""
    from pipelines.models.promotions import read_promoted
    from pipelines.refresh.published_pointer import current_set

    started = time.perf_counter()
    _, overrides = options.split()
    settings = load_settings(overrides, options.config)
    store = existing_store(settings)
    name = settings.refresh.name or settings.instrument.root
    promoted, published = read_promoted(store, name), current_set(store, name)
    record = begin(store, "score", settings, str(promoted.fold))
    try:
        document = _scored(store, promoted, published, settings)
        _keep(store, name, document)
    except BaseException as error:
        code = code_of(error)
        end(record, code.name.lower(), code, time.perf_counter() - started, error=str(error))
        raise
    end(record, "done", ExitCode.DONE, time.perf_counter() - started, score=document)
    document["record"] = record.run
    sys.stdout.write(json.dumps(document) + "\n" if options.json else _text(document))
    return ExitCode.DONE


def _scored(store: Store, promoted: Any, published: Any, settings: Settings) -> dict[str, Any]:
    from pipelines.graphs.reading import read_artefact
    from pipelines.models.score_document import score_document
    from pipelines.models.scored_code import require_same
    from pipelines.models.scoring import Terms, score
    from pipelines.steps.boundaries import FEATURE_SET
    from pipelines.steps.feature_set import FeatureSet
    from pipelines.storage.store_leases import held

    require_same(store, promoted.run, promoted.kind, promoted.model, promoted.code)
    run = build_settings(promoted.configuration)
    terms = Terms(run.instrument.contract, run.instrument.costs, run.execution, run.capital)
    with held(store, [published.feature_set, *promoted.artefacts.values()]):
        feature_set = read_artefact(store, published.feature_set, FeatureSet, FEATURE_SET)
        scored = score(store, promoted, feature_set, terms)
        return score_document(promoted, published, feature_set, scored, terms, settings)


def _keep(store: Store, name: str, document: dict[str, Any]) -> None:
    """Make it the newest score, and add it to the list of scores unless the last one says the same."""
    store.files.write(f"scores/{name}.json", json.dumps(document, indent=1).encode())
    lines = store.files.lines(f"scores/{name}.jsonl")
    try:
        last = json_value(lines[-1]) if lines else {}
    except ValueError:
        last = {}
    if any(last.get(key) != document[key] for key in SAME):
        store.files.append(f"scores/{name}.jsonl", json.dumps(document))


def _text(document: dict[str, Any]) -> str:
    target = "no target"
    if document["target"] is not None:
        target = f"target {document['target']:+g}, {document['contracts']:+d} {document['contract']}"
    values = ", ".join(f"{key} {value:g}" for key, value in document["parameters"].items())
    lines = [
        f"{document['name']}: {target}, decided at the close of {document['bar']} ({document['close']:g}), held since "
        f"{document['held_since']}",
        f"  {document['model']}{f' ({values})' if values else ''} of run {document['run']}, fold {document['fold']}; data "
        f"{document['feature_set'][:12]} published {document['published_at']}; {document['age_sessions']} sessions old",
        *(f"  warning: {warning}" for warning in document["warnings"]),
    ]
    return "\n".join(lines) + "\n"
