"""Feature sets for people: open one in a store and hand it to pandas, torch, cupy or cudf."""

import dataclasses
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.errors import UsageError
from pipelines.graphs.graph import Graph
from pipelines.graphs.reading import read_artefact
from pipelines.steps.boundaries import FEATURE_SET
from pipelines.steps.feature_set import FeatureSet
from pipelines.storage.store import Store, root_of
from pipelines.storage.store_opening import store_at

TASK = "feature_set"
SHORTEST_KEY = 8


@dataclass(frozen=True, eq=False)
class OpenFeatureSet:
    """A feature set of a store, or some rows and columns of one; nothing is read before it is asked for.

    key: its content key. names: the chosen feature columns, in order. features: float32 [rows, columns] and targets:
    float64 [rows, 6], mapped copy-on-write from the files: writing to them is allowed, stays in this process and reaches
    neither the files nor any other reader. valid: bool [rows], rows a model may see. bars: the table of the bars.
    """

    key: str
    names: tuple[str, ...]
    features: NDArray[np.float32]
    targets: NDArray[np.float64]
    valid: NDArray[np.bool_]
    bars: pd.DataFrame

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        """Name the set and its size; the values would fill a screen."""
        valid = int(self.valid.sum())
        return f"OpenFeatureSet({self.key[:12]}: {len(self)} bars, {len(self.names)} features, {valid} rows valid)"

    def select(self, columns: Sequence[str] | None = None, rows: slice | NDArray[Any] | None = None) -> "OpenFeatureSet":
        """Return the named feature columns and the rows of a slice, a bool mask or row numbers.

        A slice of rows and columns that follow each other stay views of the files; any other choice copies. Raises
        UsageError for an unknown column.
        """
        names = tuple(columns) if columns is not None else self.names
        for name in names:
            if name not in self.names:
                close = difflib.get_close_matches(name, self.names, n=1)
                raise UsageError(f"feature set {self.key[:12]} has no column {name!r}" + _hint(close, self.names))
        at = [self.names.index(name) for name in names]
        together = at == list(range(at[0], at[0] + len(at))) if at else False
        chosen = slice(at[0], at[-1] + 1) if together else at
        kept = slice(None) if rows is None else rows
        return dataclasses.replace(
            self,
            names=names,
            features=self.features[kept][:, chosen],
            targets=self.targets[kept],
            valid=self.valid[kept],
            bars=self.bars[kept].reset_index(drop=True),
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return one table: the bars, `valid`, then the features as float32; the features are copied into it."""
        features = pd.DataFrame(self.features, columns=list(self.names), copy=True)
        return pd.concat([self.bars, pd.DataFrame({"valid": np.array(self.valid)}), features], axis=1)

    def to_torch(self) -> Any:
        """Return the features as a float32 CPU tensor [rows, columns] over the mapped file: nothing is copied or read yet.

        The map is copy-on-write: writing to the tensor changes it for this process only. `.to("cuda")` copies to a GPU.
        """
        import torch

        return torch.from_numpy(self.features)

    def to_cupy(self) -> Any:
        """Return the features as a float32 cupy array [rows, columns] on the current GPU (one copy, host to device)."""
        return _gpu_module("cupy").asarray(np.ascontiguousarray(self.features))

    def to_cudf(self) -> Any:
        """Return the table of `to_pandas` as a cudf DataFrame on the current GPU."""
        return _gpu_module("cudf").from_pandas(self.to_pandas())


def note_use(store: Store, graph: Graph, whole: Graph) -> None:
    """Make the feature set that the tasks of `graph` make or read the last one used, where the store has it.

    `whole` is the flow that `graph` is a part of. A set that is still to be made is noted when it is published.
    """
    named = {name for task in graph.tasks for name in (task.name, *task.upstream)}
    if TASK not in named or TASK not in whole:
        return
    task = whole[TASK]
    first = store.remembered(TASK)[:1]
    if store.manifest(task.key) is not None and [one.get("key") for one in first] != [task.key]:
        store.remember(TASK, {"key": task.key, "parts": task.parts})


def open_feature_set(
    store: Store | Path | str, key: str | None = None, instrument: str | None = None
) -> OpenFeatureSet:
    """Open a feature set.

    Args:
        store: a store (of one that needs options: pipelines.storage.store_opening.store_at), its folder or its URL.
        key: its content key or the first 8 or more characters of it; without one the set of the last run, whether that
            computed it or found it in the store.
        instrument: the root whose last set is meant, where the store has those of several and no key is given.

    Raises:
        UsageError: there is none, several have this beginning, or there are several instruments and none is named.
        CorruptArtefactError: its bytes differ from its manifest, or it does not pass its gate.
    """
    opened = store if isinstance(store, Store) else store_at(store)
    found = _last(opened, instrument) if key is None else _matching(opened, key)
    whole: FeatureSet = read_artefact(opened, found, FeatureSet, FEATURE_SET)
    folder = opened.folder(found)
    return OpenFeatureSet(
        key=found,
        names=tuple(whole.names),
        features=_mapped(folder / "features.npy"),
        targets=_mapped(folder / "targets.npy"),
        valid=_mapped(folder / "valid.npy"),
        bars=whole.bars,
    )


def _mapped(path: Path) -> NDArray[Any]:
    # copy-on-write instead of read-only: torch has no read-only tensors, and a write must not end the process
    array: NDArray[Any] = np.load(path, mmap_mode="c", allow_pickle=False)
    return array


def _last(store: Store, instrument: str | None) -> str:
    """The set used last of the instrument, or of the only one of which there is any."""
    last: dict[str, str] = {}
    for one in store.remembered(TASK):
        last.setdefault(root_of(one), str(one.get("key")))
    there = {root: key for root, key in last.items() if store.manifest(key) is not None}
    if instrument is None and len(there) == 1:
        return next(iter(there.values()))
    if instrument in there:
        return there[instrument]
    where, roots = store.location, ", ".join(f"{root or 'unnamed'} ({key[:12]})" for root, key in sorted(there.items()))
    if instrument is None and there:
        raise UsageError(
            f"the store {where} holds feature sets of {roots}: say which, open_feature_set(store, instrument=…), or give a key"
        )
    wanted, choice = (f" of {instrument}", f"instrument={instrument} ") if instrument else ("", "")
    held = f"; it holds those of {roots}" if roots else ""
    raise UsageError(
        f"the store {where} holds no feature set{wanted}{held}; make one with: pipeline run fold=0 "
        f"{choice}store={where}"
    )


def _matching(store: Store, key: str) -> str:
    if len(key) < SHORTEST_KEY:
        raise UsageError(f"key {key!r} is too short; give {SHORTEST_KEY} or more characters of a feature set's key")
    found = [one for one in store.keys_from(key) if _is_feature_set(store, one)]
    if len(found) != 1:
        what = "no feature set" if not found else f"{len(found)} feature sets"
        raise UsageError(f"the store {store.location} holds {what} with key {key}; without one, that of the last run opens")
    return found[0]


def _is_feature_set(store: Store, key: str) -> bool:
    return (store.manifest(key) or {}).get("task") == TASK


def _hint(close: list[str], names: tuple[str, ...]) -> str:
    return f"; did you mean {close[0]!r}?" if close else f"; its columns are {', '.join(names)}"


def _gpu_module(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            f"{name} cannot be imported ({error}); it comes with the [gpu] extra: pip install walkfold[gpu]"
        ) from None
