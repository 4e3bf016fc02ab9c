"""The flow of a configuration, walk-forward unless it names another: its files, its fan-out and its graph."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from kernels.features.errors import FeatureError
from kernels.features.selection import select_features
from kernels.strategy import Strategy
from loaders.types import BAR_COLUMNS
from pipelines.config.configuration import build, nearest
from pipelines.config.instrument_facts import require_agreement
from pipelines.config.setting_values import shown
from pipelines.config.settings import WALK_FORWARD, Settings
from pipelines.config.user_code import made_by, search_here
from pipelines.errors import ConfigurationError, CorruptArtefactError, UsageError
from pipelines.graphs.flow_table import Flow
from pipelines.graphs.graph import Graph, build_graph
from pipelines.graphs.input_files import FILE_AXES, GROUPS, InputFile, hashed_file, input_files
from pipelines.graphs.reading import read_task
from pipelines.nodes import BENCHMARKS, NODES
from pipelines.storage.store import Store

MOST_COMBINATIONS = 20_000_000
FOLD, FOLDS = "fold", "folds"
RESERVED = {"valid": "the table of a feature set has a column of that name", "symbol": "sweeps tell instruments apart by it"}
"""Names that columns of the user's may not have, with what they are taken for."""

Axis = Callable[[Mapping[str, int | str]], Sequence[int | str]]


@dataclass(frozen=True)
class OpenFlow:
    """A flow with its configuration checked and its files listed and hashed, once for whatever graphs are made of it."""

    flow: Flow
    settings: Settings
    files: Mapping[str, tuple[InputFile, ...]]

    @property
    def has_folds(self) -> bool:
        """Whether a node is fanned out over folds."""
        return FOLD in self.flow.axis_names()

    def graph(self, folds: Sequence[int]) -> Graph:
        """Build the graph of the given folds."""
        settings, flow = self.settings, self.flow
        axes: dict[str, Axis] = dict(_own_axes(settings, self.files, folds))
        for group in flow.files:
            axes[group] = partial(_counted, self.files[group])
        for name, make in flow.axes.items():
            axes[name] = partial(make, settings)
        named = [settings.flow if ":" in settings.flow else "", *settings.features.modules]
        named += [name.partition(":")[0] for name in settings.sweep.strategies if ":" in name]
        return build_graph(flow.nodes, settings, self.files, axes, [name for name in named if name])


def flow_graph(settings: Settings, folds: Sequence[int]) -> Graph:
    """Build the graph of the given folds; raises UsageError for a data folder without DBN files."""
    return open_flow(settings).graph(folds)


def open_flow(settings: Settings) -> OpenFlow:
    """Find the flow that the configuration names, check what can be checked before anything runs, list its files."""
    flow = named_flow(settings.flow)
    settings = replace(settings, options=_options(flow, settings))
    files = dict(input_files(settings, flow.file_groups() | {FILE_AXES.get(axis, axis) for axis in flow.axis_names()}))
    for group, paths in flow.files.items():
        files[group] = tuple(hashed_file(Path(path), f"group {group} of the flow") for path in paths(settings))
    require_agreement(settings.instrument, [one.path for one in files.get("definitions", ())])
    if "strategy" in flow.axis_names():
        check_grid(settings)
    if any("features" in node.settings.values() for node in flow.nodes):
        check_features(settings)
    return OpenFlow(flow, settings, files)


def named_flow(name: str) -> Flow:
    """Return walk_forward, or the user's flow `package.module:name`: a Flow, or a function that returns one."""
    if name == WALK_FORWARD:
        return Flow(NODES)
    if ":" not in name:
        raise ConfigurationError(f"flow={name}: there is no such flow; name {WALK_FORWARD}, or your own as package.module:name")
    made: Flow = made_by(name, "flow", Flow)
    looking = [node for node in made.nodes if node.evaluates]
    if looking and not (FOLDS in made.names() and all(FOLD in node.per for node in looking)):
        raise ConfigurationError(
            f"flow={name}: node {looking[0].name} evaluates a fold's rows: fan it out over fold and keep the node folds"
        )
    for kind, own, named in (("group of files", GROUPS, made.files), ("axis", _AXES, made.axes)):
        if taken := sorted(set(own) & set(named)):
            raise ConfigurationError(f"flow={name}: walkfold has the {kind} {taken[0]!r} already; give yours another name")
    return made


_AXES = ("file", "part", "traded", "flow_file", FOLD, "strategy", "chunk", "seed", "benchmark")


def _counted(group: Sequence[InputFile], place: Mapping[str, int | str]) -> list[int]:
    return list(range(len(group)))


def _own_axes(
    settings: Settings, files: Mapping[str, tuple[InputFile, ...]], folds: Sequence[int]
) -> dict[str, Axis]:
    return {
        "file": lambda place: list(range(len(files["bars"]) or 1)),  # bars from trades count as one
        "part": lambda place: list(range(len(files["bars"][int(place["file"])].pieces))) if files["bars"] else [],
        "traded": lambda place: [0] if files["trades"] else [],
        "flow_file": lambda place: list(range(len(files["flow"]))),
        FOLD: lambda place: list(folds),
        "strategy": lambda place: list(settings.sweep.strategies),
        "chunk": lambda place: list(range(_chunks(settings, str(place["strategy"])))),
        "seed": lambda place: list(settings.training.seeds),
        "benchmark": lambda place: list(BENCHMARKS),
    }


def _options(flow: Flow, settings: Settings) -> Any:
    if flow.options is not None:
        return build(flow.options, settings.options, "options")
    if settings.options not in ({}, None):
        given = ", ".join(map(str, settings.options)) if isinstance(settings.options, dict) else shown(settings.options)
        raise ConfigurationError(f"options: the flow {settings.flow} has none; remove {given}")
    return settings.options


def check_grid(settings: Settings) -> None:
    """Refuse strategies that do not exist or have choices, and grid parameters that no strategy of the sweep declares."""
    from kernels.arguments import check_names
    from kernels.grid import GridError
    from kernels.strategies import STRATEGIES

    made = {name: _strategy(name) for name in settings.sweep.strategies}
    for name, strategy in made.items():
        try:
            check_names(strategy)
        except GridError as error:
            raise ConfigurationError(f"sweep.strategies: {name}: {error}") from None
        if strategy.choices:
            axes = "; ".join(f"{axis}: {', '.join(options)}" for axis, options in strategy.choices.items())
            one = {axis: options[0] for axis, options in strategy.choices.items()}
            raise ConfigurationError(
                f"sweep.strategies: {name} has choices ({axes}), which sweep() takes but no flow: name a strategy for each, "
                f"made by strategy.chosen({one})"
            )
    shipped = {parameter for make in STRATEGIES.values() for parameter in make().parameters}
    known = shipped.union(*(strategy.parameters for strategy in made.values()))
    for name in settings.sweep.grid:
        if name not in known:
            raise ConfigurationError(f"sweep.grid.{name}: no strategy has this parameter; {nearest(name, known)}")
    declared = {parameter for strategy in made.values() for parameter in strategy.parameters}
    missing = sorted(declared - set(settings.sweep.grid))
    if missing:
        raise ConfigurationError(f"sweep.grid.{missing[0]} is missing: a strategy of the sweep needs values for it")


def _strategy(name: str) -> Strategy:
    """Return a shipped strategy or the user's own, `package.module:name` of a function that makes it."""
    from kernels.strategies import STRATEGIES, named_strategy

    if ":" in name:
        made: Strategy = made_by(name, "sweep.strategies", Strategy)
        return made
    if name not in STRATEGIES:
        raise ConfigurationError(f"sweep.strategies: there is no strategy {name!r}; {nearest(name, STRATEGIES)}")
    return named_strategy(name)


def check_features(settings: Settings) -> None:
    """Refuse features that do not exist; the folder the command runs in is searched for the user's modules, last."""
    if settings.features.modules:
        search_here()
    try:
        selected = select_features(settings.features)
    except FeatureError as error:
        raise ConfigurationError(str(error)) from None
    _require_own_names(selected.names, [name for file in settings.exogenous for name in file.names])


def _require_own_names(features: Sequence[str], exogenous: Sequence[str]) -> None:
    """Refuse a name that two columns of a feature set's table would have, or that a sweep takes for something else."""
    for name in features:
        if name in BAR_COLUMNS or name in RESERVED:
            raise ConfigurationError(f"feature {name}: {_taken(name)}; give it another name")
    for name in exogenous:
        if name in BAR_COLUMNS or name in RESERVED or name in features:
            why = "a feature has that name" if name in features else _taken(name)
            raise ConfigurationError(f"exogenous column {name}: {why}; set a prefix, e.g. x_")


def _taken(name: str) -> str:
    return RESERVED.get(name, "the bars have a column of that name")


def fold_count(graph: Graph, store: Store) -> int:
    """Return how many folds the table of folds in the store has; raises CorruptArtefactError where it is damaged or gone."""
    task = graph[FOLDS]
    return len(read_task(store, task).folds)


def known_fold_count(graph: Graph, store: Store) -> int | None:
    """Return how many folds the data has where the store knows it; computes nothing."""
    if FOLDS not in graph or store.manifest(graph[FOLDS].key) is None:
        return None
    try:
        return fold_count(graph, store)
    except CorruptArtefactError:
        return None  # it is made again


def require_folds(folds: Sequence[int], count: int | None) -> None:
    """Refuse folds that do not exist where it is known how many there are."""
    wrong = [fold for fold in folds if count is not None and fold >= count]
    if wrong:
        raise UsageError(f"fold={wrong[0]}: there are {count} folds; choose 0 to {(count or 1) - 1}")


def _chunks(settings: Settings, strategy: str) -> int:
    from kernels.grid import BLOCK, GridError, blocks
    from kernels.strategies import named_strategy
    from pipelines.steps.searching import GRID, own_grid, search_size

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
        next(blocks(grid, named_strategy(strategy), BLOCK))  # there is one that fulfils the constraint
    except GridError as error:
        raise ConfigurationError(f"sweep.grid: {error}") from None
    return -(-size // sweep.chunk_combinations)
