"""The walk-forward flow of a configuration: its input files, its fan-out, its graph."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernels.features.errors import FeatureError
from kernels.features.selection import select_features
from pipelines import keys
from pipelines.configuration import nearest
from pipelines.errors import ConfigurationError, UsageError
from pipelines.graph import Axes, Graph, InputFile, build_graph
from pipelines.nodes import BENCHMARKS, NODES
from pipelines.planning import plan
from pipelines.serial_runner import run_serial
from pipelines.settings import Settings
from pipelines.store import Store


def flow_graph(settings: Settings, folds: Sequence[int]) -> Graph:
    """Build the graph of the given folds; raises UsageError for a data folder without DBN files."""
    files = input_files(settings)
    check_grid(settings)
    check_features(settings)
    axes: Axes = {
        "file": lambda place: list(range(len(files["bars"]))),
        "fold": lambda place: list(folds),
        "strategy": lambda place: list(settings.sweep.strategies),
        "chunk": lambda place: list(range(_chunks(settings, str(place["strategy"])))),
        "seed": lambda place: list(settings.training.seeds),
        "benchmark": lambda place: list(BENCHMARKS),
    }
    return build_graph(NODES, settings, files, axes)


def input_files(settings: Settings) -> Mapping[str, tuple[InputFile, ...]]:
    """List and hash the DBN files of the data folder, bars and definitions apart, in the order of their data."""
    from loaders.errors import DataError
    from loaders.files import list_data_files

    try:
        listed = list_data_files(Path(settings.data))
    except DataError as error:
        raise UsageError(f"data={settings.data}: {error}") from None
    truth = Path(settings.data) / "truth.json"
    groups = {
        group: tuple(InputFile(item.path, keys.file_digest(item.path)) for item in listed if item.kind == kind)
        for group, kind in (("bars", "bars"), ("definitions", "definitions"))
    }
    groups["exogenous"] = tuple(_exogenous_file(one.path) for one in settings.exogenous)
    groups["truth"] = (InputFile(truth, keys.file_digest(truth)),) if truth.is_file() else ()
    return groups


def _exogenous_file(name: str) -> InputFile:
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"exogenous: there is no file {name}; give the path of a Parquet or CSV file")
    return InputFile(path, keys.file_digest(path))


def check_grid(settings: Settings) -> None:
    """Refuse strategies that do not exist and grid parameters that no strategy of the sweep declares."""
    from kernels.strategies import STRATEGIES

    declared: set[str] = set()
    for name in settings.sweep.strategies:
        if name not in STRATEGIES:
            raise ConfigurationError(f"sweep.strategies: there is no strategy {name!r}; {nearest(name, STRATEGIES)}")
        declared.update(STRATEGIES[name]().parameters)
    for name in settings.sweep.grid:
        if name not in declared:
            raise ConfigurationError(
                f"sweep.grid.{name}: no strategy of the sweep has this parameter; {nearest(name, declared)}"
            )
    missing = sorted(declared - set(settings.sweep.grid))
    if missing:
        raise ConfigurationError(f"sweep.grid.{missing[0]} is missing: a strategy of the sweep needs values for it")


def check_features(settings: Settings) -> None:
    """Refuse features that do not exist; the folder the command runs in is searched for the user's modules, last."""
    if settings.features.modules and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # the workers of a cluster inherit it
    try:
        select_features(settings.features)
    except FeatureError as error:
        raise ConfigurationError(str(error)) from None


def fold_count(settings: Settings, store: Store) -> int:
    """Return how many folds the data has, computing what that needs where it is not cached."""
    graph = flow_graph(settings, ()).needed_for(["folds"])
    run_serial([row.task for row in plan(graph, store) if not row.cached], store, lambda outcome: None)
    from pipelines import artefacts

    task = graph["folds"]
    return len(artefacts.read_parts(store.verified(task.key), task.kind).folds)


def _chunks(settings: Settings, strategy: str) -> int:
    from kernels.strategies import STRATEGIES
    from kernels.sweep import combinations

    count = len(combinations(settings.sweep.grid, STRATEGIES[strategy]()))
    if not count:
        raise ConfigurationError(f"sweep.grid leaves {strategy} without a combination; widen the ranges")
    return -(-count // settings.sweep.chunk_combinations)
