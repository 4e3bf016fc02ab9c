"""`pipeline run --reproduce RUN`: reruns a recorded run and says whether every artefact has the same bytes, or why not."""

import json
import sys
from typing import Any

from pipelines.commands.options import Options
from pipelines.config.configuration import load_settings
from pipelines.errors import ExitCode
from pipelines.execution.running import recorded
from pipelines.record.records import find_run, read_record
from pipelines.record.reproduction import Attempt, attempt, discard, run_and_compare
from pipelines.record.run_index import write_index
from pipelines.storage.store_opening import open_store


def execute(options: Options) -> int:
    """Print what differs, first what differs first; the exit code is 1 where anything does."""
    _, overrides = options.split()
    store = open_store(load_settings([word for word in overrides if word.startswith("store")], options.config))
    old = read_record(find_run(store, options.reproduce))
    tried = attempt(options, old, overrides, store)
    asked = tried.asked
    if not options.quiet:
        sys.stderr.write("".join(f"{line}\n" for line in _since(tried)))
    kept = False
    try:
        with recorded(asked):
            found = run_and_compare(tried)
            kept = bool(found["differs"])
            status, code = ("differs", ExitCode.DIFFERS) if kept else ("done", ExitCode.DONE)
            asked.record.end(status, int(code), asked.seconds, reproduction=found)
            write_index(store)
    finally:
        if not kept:
            discard(tried)
    document: dict[str, Any] = {
        "run": asked.record.run,
        "reproduces": old["run"],
        "status": "differs" if kept else "same",
        **found,
        "changed": tried.changed,
        "store": str(asked.keeper.store.root) if kept else None,
    }
    sys.stdout.write(json.dumps(document) + "\n" if options.json else _text(document))
    return code


def _since(tried: Attempt) -> list[str]:
    """What has changed since the run, told before a long rerun."""
    changed = tried.changed
    lines = [f"changed since {tried.old['run']}: code of {', '.join(changed['code'])}"] if changed["code"] else []
    lines += [f"changed since {tried.old['run']}: data {', '.join(changed['data'])}"] if changed["data"] else []
    return lines + [
        f"changed since {tried.old['run']}: {row['name']} {row['first']} → {row['second']}" for row in changed["environment"]
    ]


def _text(document: dict[str, Any]) -> str:
    begin = f"{document['same']} of {document['compared']} artefacts of {document['reproduces']} have the same bytes"
    if not document["differs"]:
        return f"reproduced: {begin}\n"
    first, *others = document["differs"]
    lines = [f"not reproduced: {begin}", f"the first that differs: {first['task']}: {'; '.join(first['reasons'])}"]
    lines += [f"then: {', '.join(row['task'] for row in others)}"] if others else []
    return "\n".join([*lines, f"what was made now lies in {document['store']}"]) + "\n"
