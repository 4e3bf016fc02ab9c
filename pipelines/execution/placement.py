"""Where each node runs and why: on a worker that holds a GPU, on one that holds none, or wherever there is room."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pipelines.config.settings import Settings
from pipelines.execution.cluster_settings import is_address
from pipelines.graphs.graph import Task
from pipelines.graphs.node import Node

GPU, CPU = "GPU", "CPU"
"""The resources that workers announce; also the names of the pools of workers that have them."""
ANY = ""
"""The pool of all workers, where none holds a GPU, and of those without one that announce no CPU either."""
CUDA, AUTO = "cuda", "auto"


class Announced(Protocol):
    """A worker by what it announces."""

    @property
    def gpus(self) -> float:
        """GPUs it holds."""

    @property
    def cpus(self) -> float:
        """Nodes without a GPU that it takes at once, where it says so."""

    @property
    def slots(self) -> int:
        """Nodes it runs at once."""


@dataclass(frozen=True)
class Pools:
    """How many nodes run at once in each pool of a cluster's workers."""

    slots: Mapping[str, int]

    @classmethod
    def of(cls, workers: Sequence[Announced]) -> "Pools":
        """Part the workers by what they announce; those with a GPU also take the other nodes where there are no others."""
        holding = int(sum(worker.gpus for worker in workers))
        others = [worker for worker in workers if not worker.gpus]
        if not holding or not others:
            slots = max(1, sum(worker.slots for worker in workers))
            return cls({ANY: slots, GPU: holding} if holding else {ANY: slots})
        name = CPU if all(worker.cpus for worker in others) else ANY
        return cls({GPU: holding, name: max(1, sum(worker.slots for worker in others))})

    def pool(self, task: Task) -> str:
        """The pool that a task runs in."""
        if self.slots.get(GPU) and can_use_gpu(task):
            return GPU
        return CPU if CPU in self.slots else ANY

    def resources(self, task: Task) -> dict[str, float] | None:
        """What Dask must find at the worker that gets a task; None where any will do."""
        pool = self.pool(task)
        return {pool: 1} if pool != ANY else None


@dataclass(frozen=True)
class Placement:
    """Where a node runs, in words, and why."""

    where: str
    why: str


def can_use_gpu(task: Task) -> bool:
    """Whether a task takes a GPU where a worker holds one: `resources.gpu`, and an executor that may be the GPU's."""
    return bool(task.node.resources.gpu) and _executor(task.node, task.constants) in (CUDA, AUTO)


def needs_gpu(task: Task) -> bool:
    """Whether a task cannot run without one: not by `auto`, and not where it may fall back."""
    return _needs(task.node, task.constants)


def placements(tasks: Iterable[Task], settings: Settings, gpus: int | None) -> dict[str, dict[str, str]]:
    """Return where each node runs and why, by its name; `gpus`: those that workers hold, None where no worker is known yet."""
    found: dict[str, dict[str, str]] = {}
    for task in tasks:
        if task.node.name not in found:
            found[task.node.name] = vars(placed(task.node, task.constants, settings, gpus))
    return found


def told(places: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return a line a place, with the nodes that run there and why; the place of most nodes comes last."""
    nodes: dict[str, list[str]] = {}
    for name, place in places.items():
        nodes.setdefault(f"{place['where']} ({place['why']})", []).append(name)
    ordered = sorted(nodes, key=lambda where: len(nodes[where]))
    rest = "all" if len(ordered) == 1 else "all others"
    return [f"{rest if where == ordered[-1] else ', '.join(nodes[where])}: {where}" for where in ordered]


def placed(node: Node, constants: Mapping[str, Any], settings: Settings, gpus: int | None) -> Placement:
    """Return where a node with these constants runs on the cluster of a configuration, and why.

    `gpus`: how many the workers hold; None where that is known only once a running scheduler is joined.
    """
    executor = _executor(node, constants)
    asked = _asked(node, executor)
    if settings.cluster == "serial":
        estimated = f"{asked}: whichever of cpu and cuda is estimated faster here (pipeline doctor --calibrate)"
        return Placement("this process", estimated if executor == AUTO else "cluster=serial")
    if not node.resources.gpu or executor not in (CUDA, AUTO):
        unknown = is_address(settings.cluster) and gpus is None
        return Placement("any worker" if unknown else "CPU worker", asked if node.resources.gpu else "uses no GPU")
    if settings.cluster == CUDA or gpus:
        return Placement("GPU worker", asked)
    if is_address(settings.cluster) and gpus is None:
        lacking = "refused" if _needs(node, constants) else "a CPU worker"
        return Placement(
            "GPU worker", f"{asked}, if a worker of {settings.cluster} announces a GPU; {lacking} otherwise"
        )
    lacking = f"{asked}, and no worker of cluster={settings.cluster} holds a GPU"
    if _needs(node, constants):
        return Placement("nowhere", f"{lacking}: the run is refused; use cluster=cuda")
    if executor == AUTO:
        return Placement("CPU worker", f"{lacking}; cluster=cuda starts workers that do")
    return Placement("CPU worker", f"{lacking}: it falls back, sweep.allow_fallback=true")


def _needs(node: Node, constants: Mapping[str, Any]) -> bool:
    return bool(node.resources.gpu) and _executor(node, constants) == CUDA and not constants.get("allow_fallback")


def _executor(node: Node, constants: Mapping[str, Any]) -> str:
    """The executor a node is asked to run on: `cuda` for one that needs a GPU whatever its configuration says."""
    parameter = node.resources.executor
    return str(constants[parameter]) if parameter else CUDA


def _asked(node: Node, executor: str) -> str:
    parameter = node.resources.executor
    return f"{node.settings.get(parameter, parameter)}={executor}" if parameter else "needs a GPU"
