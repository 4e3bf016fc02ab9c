"""A node: a plain function, where each of its parameters comes from, what it needs and which of its errors are retried."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from loaders.errors import DataError
from pipelines.errors import WalkfoldError
from pipelines.execution.pieces import Pieces
from pipelines.graphs.parts import Part
from training.errors import FoldError, TrainingError
from validation.errors import ValidationError

NEVER_RETRIED: tuple[type[Exception], ...] = (DataError, ValidationError, WalkfoldError, FoldError, TrainingError)
"""Errors that the same input gives every time: rejected data, gates, configuration."""


@dataclass(frozen=True)
class Resources:
    """What a node holds while it runs: GPUs, memory in bytes at its peak (0: not said), cores of arithmetic.

    `executor` names the parameter whose value says whether the GPU is used: `cuda` needs it (unless the parameter
    `allow_fallback` is set), `auto` takes it where a worker holds one, any other value leaves it. Without a name it is needed.
    """

    gpu: int = 0
    memory: int = 0
    cores: int = 1
    executor: str = ""

    def __post_init__(self) -> None:
        """Refuse amounts that mean nothing."""
        if self.gpu not in (0, 1):
            raise ValueError(f"resources.gpu is {self.gpu}, must be 0 or 1: a worker holds one GPU")
        if self.memory < 0 or self.cores < 1:
            raise ValueError(f"resources {self}: memory must be 0 (not said) or more bytes, cores at least 1")


@dataclass(frozen=True)
class Retries:
    """How often a node is tried again after which errors, and how long to wait before.

    `times` further tries follow the first, each after twice the wait of the one before, from `wait_s` to `longest_s` seconds.
    `errors` are the classes worth it, subclasses included; rejected data, gates and configuration errors never are.
    """

    times: int = 0
    errors: tuple[type[Exception], ...] = (ConnectionError, TimeoutError)
    wait_s: float = 1.0
    longest_s: float = 60.0

    def __post_init__(self) -> None:
        """Refuse waits and numbers that mean nothing, and errors for which a retry is never worth it."""
        if self.times < 0 or not 0.0 <= self.wait_s <= self.longest_s:
            raise ValueError(f"retries {self}: times must be 0 or more, and 0 <= wait_s <= longest_s")
        for kind in self.errors:
            if issubclass(kind, NEVER_RETRIED):
                raise ValueError(f"retries.errors: {kind.__name__} is the same at every try; name errors that may pass")

    def worth(self, error: BaseException) -> bool:
        """Say whether a node that failed so may succeed at another try."""
        return bool(self.times) and isinstance(error, self.errors) and not isinstance(error, NEVER_RETRIED)


@dataclass(frozen=True)
class Node:
    """One row of the flow: a plain function and where each of its parameters comes from.

    `inputs` maps a parameter to `node` or `node.field` (one field of its artefact); `settings` to a dotted configuration key;
    `axes` to a fan-out axis whose value it gets; `files` to a group of input files, of which a Path gets the place's file and
    a Partition its piece. `per` lists the node's axes: an input with the same axes is matched, an axis that only the input
    has is gathered into a list. `gate` (a pipelines.graphs.reading.Gate, or a function) is called with the artefact before it
    is written to the store and when it, or a field of it, is read from there. `evaluates` names the rows a node looks at and
    `trials` how many things it tried there: a number, or the field of its artefact that holds it; `neutral` are parameters and
    fields of it that do not tell one look from another. `modules` is the configuration key that names the user's modules it
    imports; their code is in its key, and so is that of a value `package.module:name` of one of its axes. `narrowed` cuts a
    setting down to what the node reads of it at its place, so that a change of the rest does not reach its key. `split` cuts
    the work: called with the function's arguments it returns Parts, each computed by the function and stored under a key of
    its own content; what reads the node gets a list. `exact`: its numbers come from exactly rounded operations in a fixed
    order (+ - * / and square roots, numpy's sums and sorts), the same bits on every machine; the key of any other node also
    names what rounds here.

    `resources`, `retries` and `timeout_s` (seconds a try may take; 0 is no limit) say how it runs, never what it makes: they
    are not in its key. A timeout counts as TimeoutError. docs/flows.md says what each runner does about them. `pieces`: how
    its work is done in pieces where memory runs out, with the same result.
    """

    name: str
    function: Callable[..., Any]
    inputs: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    per: tuple[str, ...] = ()
    gate: Callable[[Any, str], None] | None = None
    evaluates: Literal["validation", "test"] | None = None
    trials: int | str = 0
    neutral: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    modules: str = ""
    narrowed: Mapping[str, Callable[[Any, Mapping[str, int | str]], Any]] = field(default_factory=dict)
    split: Callable[..., Sequence[Part]] | None = None
    exact: bool = False
    resources: Resources = Resources()
    retries: Retries = Retries()
    timeout_s: float = 0.0
    pieces: Pieces | None = None

    def __post_init__(self) -> None:
        """Refuse a timeout that is none."""
        if not self.timeout_s >= 0.0:
            raise ValueError(f"node {self.name}: timeout_s is {self.timeout_s}, must be 0 (no limit) or more seconds")
