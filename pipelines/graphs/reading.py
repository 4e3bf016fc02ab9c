"""Reads artefacts, whole or one field: bytes compared with their manifest, then the gate that they passed when written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.errors import CorruptArtefactError
from pipelines.graphs.graph import Task
from pipelines.storage import artefacts
from pipelines.storage.store import Store

AFTER_READ = "after a cache read"
Check = Callable[[Any, str], None]


@dataclass(frozen=True)
class Gate:
    """The checks of an artefact: `whole` of all of it, `fields` of a field that is read by itself.

    A check is called with the value and where it stands, and raises ValidationError (or another ValueError) for what it
    refuses. A field without a check of its own is read with the whole artefact, so that the gate sees what it judges.
    """

    whole: Check
    fields: Mapping[str, Check] = field(default_factory=dict)

    def __call__(self, value: Any, where: str) -> None:
        """Check all of an artefact."""
        self.whole(value, where)


def read_artefact(store: Store, key: str, kind: Any, gate: Check | None, only: str | None = None) -> Any:
    """Return an artefact of the type `kind`, or its field `only`, after its checksums and its gate.

    What the gate refuses is moved aside as changed bytes are, and CorruptArtefactError raised: a run makes it anew.
    """
    own = gate.fields if isinstance(gate, Gate) else {}
    part = only if gate is None or only in own else None
    folder = store.verified(key, (lambda name: artefacts.belongs_to(part, name)) if part else (lambda name: True))
    value = artefacts.read_parts(folder, kind, part)
    check = own[part] if gate is not None and part is not None else gate
    try:
        if check is not None:
            check(value, AFTER_READ)
    except ValueError as error:
        moved = "it was moved to corrupt/" if store.set_aside(key) else "it could not be moved aside"
        raise CorruptArtefactError(
            f"artefact {key[:12]} does not pass its gate {AFTER_READ}: {error}; {moved}, run again to recompute it", key
        ) from None
    return getattr(value, only) if only is not None and part is None else value


def read_task(store: Store, task: Task, only: str | None = None) -> Any:
    """Return what a task has made, or one field of it, as `read_artefact` does."""
    return read_artefact(store, task.key, task.kind, task.node.gate, only)
