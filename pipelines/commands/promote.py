"""`pipeline promote RUN MODEL`: marks a model of a run's fold as current, unless its report says that it does not beat flat."""

import json
import sys
import time
from dataclasses import asdict

from pipelines.commands.options import Options
from pipelines.config.configuration import load_settings
from pipelines.errors import ExitCode, UsageError
from pipelines.storage.store_opening import existing_store

OWN = ("fold", "reason")


def execute(options: Options) -> int:
    """Switch the pointer and print what is current now, and what was before."""
    from pipelines.models.promotions import find_model, promote
    from pipelines.refresh.refreshing import now

    names = [word for word in options.words if "=" not in word]
    own = dict(word.partition("=")[::2] for word in options.words if word.partition("=")[0] in OWN and "=" in word)
    overrides = [word for word in options.words if "=" in word and word.partition("=")[0] not in OWN]
    if len(names) != 2:
        raise UsageError("pipeline promote needs a run and a model, e.g. pipeline promote 20240315T 'dqn seed 0' fold=0")
    reason = own.get("reason", "").strip()
    if options.anyway != bool(reason):
        raise UsageError("--anyway and reason=… belong together: why is a model promoted that does not beat flat?")
    if not own.get("fold", "0").isdigit():
        raise UsageError(f"fold={own['fold']}: name one fold, e.g. fold=0")
    settings = load_settings(overrides, options.config)
    store = existing_store(settings)
    fold = int(own["fold"]) if "fold" in own else None
    name = settings.refresh.name or settings.instrument.root
    started = time.perf_counter()
    found = find_model(store, names[0], names[1], fold, name, reason, now())
    before = promote(store, found)
    if options.json:
        earlier = _short(asdict(before)) if before else None
        document = {"status": "promoted", "promoted": _short(asdict(found)), "before": earlier}
        sys.stdout.write(json.dumps({**document, "seconds": round(time.perf_counter() - started, 3)}) + "\n")
    else:
        values = ", ".join(f"{key} {value:g}" for key, value in found.parameters.items())
        sys.stdout.write(
            f"{name}: {found.model}{f' ({values})' if values else ''} of run {found.run}, fold {found.fold}: {found.words}\n"
            + (f"  promoted anyway: {found.anyway}\n" if not found.beats_flat else "")
            + (f"  before: {before.model} of run {before.run}, fold {before.fold}\n" if before else "")
        )
    return ExitCode.DONE


def _short(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in ("configuration", "names", "code", "data_code")}
