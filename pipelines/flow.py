"""The walk-forward flow of a configuration: its fan-out and its graph."""

import sys
from collections.abc import Sequence
from pathlib import Path

from kernels.features.errors import FeatureError
from kernels.features.selection import select_features
from pipelines.configuration import nearest
from pipelines.errors import ConfigurationError, UsageError
from pipelines.graph import Axes, Graph, build_graph
from pipelines.input_files import input_files
from pipelines.nodes import BENCHMARKS, NODES
from pipelines.planning import plan
from pipelines.serial_runner import run_serial
from pipelines.settings import Settings
from pipelines.store import Store
from pipelines.store_leases import held

MOST_COMBINATIONS = 20_000_000


def flow_graph(settings: Settings, folds: Sequence[int]) -> Graph:
    """Build the graph of the given folds; raises UsageError for a data folder without DBN files."""
    files = input_files(settings)
    check_grid(settings)
    check_features(settings)
    axes: Axes = {
        "file": lambda place: list(range(len(files["bars"]) or 1)),  # bars from trades count as one
        "part": lambda place: list(range(len(files["bars"][int(place["file"])].pieces))) if files["bars"] else [],
        "traded": lambda place: [0] if files["trades"] else [],
        "flow_file": lambda place: list(range(len(files["flow"]))),
        "fold": lambda place: list(folds),
        "strategy": lambda place: list(settings.sweep.strategies),
        "chunk": lambda place: list(range(_chunks(settings, str(place["strategy"])))),
        "seed": lambda place: list(settings.training.seeds),
        "benchmark": lambda place: list(BENCHMARKS),
    }
    return build_graph(NODES, settings, files, axes)


def check_grid(settings: Settings) -> None:
    """Refuse strategies that do not exist and grid parameters that no strategy of the sweep declares."""
    from kernels.strategies import STRATEGIES

    for name in settings.sweep.strategies:
        if name not in STRATEGIES:
            raise ConfigurationError(f"sweep.strategies: there is no strategy {name!r}; {nearest(name, STRATEGIES)}")
    known = {parameter for make in STRATEGIES.values() for parameter in make().parameters}
    for name in settings.sweep.grid:
        if name not in known:
            raise ConfigurationError(f"sweep.grid.{name}: no strategy has this parameter; {nearest(name, known)}")
    declared = {parameter for name in settings.sweep.strategies for parameter in STRATEGIES[name]().parameters}
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
    with held(store, [task.key for task in graph.tasks]):
        run_serial([row.task for row in plan(graph, store) if not row.cached], store, lambda outcome: None)
    count = known_fold_count(graph, store)
    assert count is not None  # it has just been computed
    return count


def known_fold_count(graph: Graph, store: Store) -> int | None:
    """Return how many folds the data has where the store knows it; computes nothing."""
    from pipelines import artefacts

    task = graph["folds"]
    if store.manifest(task.key) is None:
        return None
    return len(artefacts.read_parts(store.verified(task.key), task.kind).folds)


def require_folds(folds: Sequence[int], count: int | None) -> None:
    """Refuse folds that do not exist where it is known how many there are."""
    wrong = [fold for fold in folds if count is not None and fold >= count]
    if wrong:
        raise UsageError(f"fold={wrong[0]}: there are {count} folds; choose 0 to {(count or 1) - 1}")


def _chunks(settings: Settings, strategy: str) -> int:
    from kernels.grid import GridError, blocks
    from kernels.strategies import STRATEGIES
    from pipelines.steps.searching import BLOCK, GRID, own_grid, search_size

    sweep, grid = settings.sweep, own_grid(settings.sweep.grid, {"strategy": strategy})
    whole, size = (search_size(strategy, grid, search, sweep.samples) for search in (GRID, sweep.search))
    if size > whole:
        raise ConfigurationError(f"sweep.samples is {size:,}, but the grid of {strategy} has {whole:,} combinations")
    if size > MOST_COMBINATIONS:
        raise ConfigurationError(
            f"sweep.grid gives {strategy} {size:,} combinations; at most {MOST_COMBINATIONS:,} are enumerated: draw some of "
            "them with sweep.search=sobol sweep.samples=100000"
        )
    try:
        next(blocks(grid, STRATEGIES[strategy](), BLOCK))  # there is one that fulfils the constraint
    except GridError as error:
        raise ConfigurationError(f"sweep.grid: {error}") from None
    return -(-size // sweep.chunk_combinations)
