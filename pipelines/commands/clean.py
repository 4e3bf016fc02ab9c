"""`pipeline clean`: what the store holds, by node; removes what crashed writers left, and evicts down to `budget=`."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pipelines.commands.options import Options
from pipelines.config.configuration import load_settings
from pipelines.errors import ExitCode, UsageError
from pipelines.storage.eviction import StoredArtefact, evict, inventory, pinned_keys
from pipelines.storage.leftovers import remove_leftovers
from pipelines.storage.sizes import parse_size, size_text
from pipelines.storage.store_leases import fold_ended
from pipelines.storage.store_opening import existing_store, is_url, open_store

CORRUPT = "corrupt"


@dataclass(frozen=True)
class NodeSize:
    """What the artefacts of one node take, and how much of that cannot be evicted now."""

    node: str
    artefacts: int
    bytes: int
    pinned: int


def execute(options: Options) -> int:
    """Print a line a node and what was, or with --dry-run would be, removed."""
    arguments, overrides = options.split("budget")
    settings = load_settings(overrides, options.config)
    budget = parse_size(arguments.get("budget", settings.store_budget))
    if not is_url(settings.store) and not (existing_store(settings).root / "objects").is_dir():
        raise UsageError(f"there is no store in {settings.store}; name one with store=DIR")
    store = open_store(settings)
    left = remove_leftovers(store, options.dry_run)
    items = inventory(store)
    rows = node_sizes(items, pinned_keys(store, items))
    aside = sum(entry.bytes for entry in store.files.entries(CORRUPT))
    document: dict[str, Any] = {
        "store": store.location,
        "bytes": sum(row.bytes for row in rows),
        "nodes": [vars(row) for row in rows],
        "leftovers": vars(left),
        "corrupt_bytes": aside,
        "dry_run": options.dry_run,
    }
    if budget is not None:
        for entry in store.files.entries(CORRUPT) if not options.dry_run else ():
            store.files.remove(entry.path)
        done = evict(store, budget, options.dry_run)
        document["evicted"] = {"artefacts": len(done.artefacts), "bytes": done.bytes, "over": done.over}
    if not options.dry_run:
        fold_ended(store, {key for key, _ in store.stored()})
    sys.stdout.write(json.dumps(document) + "\n" if options.json else _text(document))
    return ExitCode.DONE


def node_sizes(items: Iterable[StoredArtefact], pinned: set[str]) -> list[NodeSize]:
    """Sum the artefacts by node, the largest first."""
    groups: dict[str, list[StoredArtefact]] = {}
    for one in items:
        groups.setdefault(one.node, []).append(one)
    rows = [
        NodeSize(node, len(mine), sum(one.bytes for one in mine), sum(one.bytes for one in mine if one.key in pinned))
        for node, mine in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row.bytes, row.node))


def _text(document: dict[str, Any]) -> str:
    would = "would be " if document["dry_run"] else ""
    width = max((len(row["node"]) for row in document["nodes"]), default=0)
    lines = [
        f"{row['node']:<{width}}  {row['artefacts']:>6,} artefacts  {size_text(row['bytes']):>9}"
        + (f"  ({size_text(row['pinned'])} in use or published)" if row["pinned"] else "")
        for row in document["nodes"]
    ]
    lines.append(f"{document['store']}: {size_text(document['bytes'])} in artefacts")
    if document["corrupt_bytes"]:
        lines.append(f"{size_text(document['corrupt_bytes'])} of damaged artefacts in corrupt/; budget= removes them")
    left = document["leftovers"]
    if left["count"]:
        lines.append(f"{left['count']} leftovers of writers that died, {size_text(left['bytes'])}: {would}removed")
    if "evicted" in document:
        done = document["evicted"]
        lines.append(f"{done['artefacts']} artefacts, {size_text(done['bytes'])}: {would}evicted, least recently used first")
        if done["over"]:
            lines.append(f"still {size_text(done['over'])} over the budget: the rest is in use by runs or published")
    return "\n".join(lines) + "\n"
