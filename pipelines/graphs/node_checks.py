"""The table of nodes is checked when a graph is built: one source a parameter, types that fit, no circle."""

import dataclasses
import difflib
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pipelines.errors import ExitCode, WalkfoldError
from pipelines.execution.machine import PARAMETER
from pipelines.graphs.node import Node

MOST_NAME = 100
_NAME = re.compile(rf"[^\W\d]\w{{0,{MOST_NAME - 1}}}")


class GraphError(WalkfoldError):
    """The table of nodes is inconsistent: an unknown input, a type that does not fit, a parameter without a source."""

    exit_code = ExitCode.USAGE


def check_nodes(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return the nodes, each after those it reads, in their own order otherwise.

    Raises GraphError, naming both nodes, for an input that nobody makes or of another type than the parameter, nodes that read
    each other, two nodes of one name, and parameters without a source or with two.
    """
    known: dict[str, Node] = {}
    for node in nodes:
        _check_function(node)
        if node.name in known:
            raise GraphError(f"two nodes are named {node.name}; give each its own name")
        known[node.name] = node
    for node in nodes:
        _check_parameters(node)
        for parameter, source in node.inputs.items():
            producer, dot, part = source.partition(".")
            if producer not in known or (dot and not part):
                raise GraphError(
                    f"node {node.name}: input {parameter} reads {source!r}, which no node makes"
                    f"{_hint(producer, known)}"
                )
            _check_type(node, parameter, known[producer], part)
    return _ordered(nodes, known)


@lru_cache(maxsize=4096)
def hints_of(thing: Any) -> Mapping[str, Any]:
    """Return the resolved annotations of a function or dataclass, read once; raise GraphError for a name that is nowhere."""
    try:
        return typing.get_type_hints(thing)
    except NameError as error:
        name = f"{thing.__module__}.{thing.__qualname__}"
        raise GraphError(f"{name}: its annotation names {error.name!r}, which its module does not import") from None


def _ordered(nodes: Sequence[Node], known: Mapping[str, Node]) -> tuple[Node, ...]:
    ordered: dict[str, Node] = {}
    path: list[str] = []

    def place(name: str) -> None:
        if name in ordered:
            return
        if name in path:
            circle = " → ".join([*path[path.index(name) :], name])
            raise GraphError(f"nodes read each other in a circle: {circle}; take one of these inputs away")
        path.append(name)
        for source in known[name].inputs.values():
            place(source.partition(".")[0])
        path.pop()
        ordered[name] = known[name]

    for node in nodes:
        place(node.name)
    return tuple(ordered.values())


def _check_function(node: Node) -> None:
    """Refuse what has no source of its own, or state that no key sees, and what returns before it has worked."""
    if not _NAME.fullmatch(node.name):
        raise GraphError(f"node {node.name!r}: a name is up to {MOST_NAME} letters, digits and _, and begins with a letter")
    if isinstance(node.per, str) or len(set(node.per)) != len(node.per):
        raise GraphError(f"node {node.name}: per is {node.per!r}, must be a tuple of axes, each once")
    if not inspect.isfunction(node.function):
        raise GraphError(
            f"node {node.name}: {node.function!r} is no plain function but a {type(node.function).__name__}, whose state no "
            "key sees; define a function in a module and give it parameters"
        )
    if inspect.isgeneratorfunction(node.function) or inspect.iscoroutinefunction(node.function):
        raise GraphError(f"node {node.name}: {node.function.__name__} is a generator or coroutine; return the whole value")


def _check_parameters(node: Node) -> None:
    parameters = _parameters(node.function)
    sources = [*node.inputs, *node.settings, *node.axes, *node.files]
    function = node.function.__name__
    for name in sources:
        if name not in parameters or sources.count(name) > 1:
            raise GraphError(f"node {node.name}: {function} has no single parameter {name!r} to fill{_hint(name, parameters)}")
    for name, parameter in parameters.items():
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise GraphError(f"node {node.name}: parameters are filled by name; take the / out of {function}")
        if name not in sources and name != PARAMETER and parameter.default is inspect.Parameter.empty:
            raise GraphError(f"node {node.name}: nothing fills the parameter {name!r} of {function}")
    for name in (*node.inputs, "return"):
        if name not in hints_of(node.function):
            said = "what it returns" if name == "return" else f"the type of its parameter {name!r}"
            raise GraphError(f"node {node.name}: {function} does not say {said}; annotate it")
    for name in node.narrowed:
        if name not in node.settings:
            raise GraphError(f"node {node.name}: narrowed {name!r} is no parameter that a setting fills")
    for name in node.axes.values():
        if name not in node.per:
            raise GraphError(f"node {node.name}: axis {name!r} is not among its axes per={node.per}{_hint(name, node.per)}")


@lru_cache(maxsize=4096)
def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _check_type(node: Node, parameter: str, producer: Node, part: str) -> None:
    wanted, offered = hints_of(node.function)[parameter], hints_of(producer.function).get("return", Any)
    if part:
        fields: Mapping[str, Any] = hints_of(typing.cast(Any, offered)) if dataclasses.is_dataclass(offered) else {}
        if part not in fields:
            raise GraphError(
                f"node {node.name}: {producer.name} makes {type_text(offered)}, which has no field {part!r}"
                f"{_hint(part, fields)}"
            )
        offered = fields[part]
    if producer.split is not None:
        offered = list[offered]  # type: ignore[valid-type]
    if set(producer.per) - set(node.per):
        offered = list[offered]  # type: ignore[valid-type]
    if not fits(offered, wanted):
        raise GraphError(
            f"node {node.name} wants {parameter}: {type_text(wanted)}, but node {producer.name} makes {type_text(offered)}"
        )


def fits(offered: Any, wanted: Any) -> bool:
    """Say whether a value of one annotated type may be given to a parameter of another.

    A union takes any of its members, a base class its subclasses, and what only reads (Sequence, Iterable, Mapping) a list,
    tuple or dict of what it reads. Other types must be equal.
    """
    if Any in (offered, wanted) or wanted is object or offered == wanted:
        return True
    if _is_union(offered):
        return all(fits(each, wanted) for each in typing.get_args(offered))
    if _is_union(wanted):
        return any(fits(offered, each) for each in typing.get_args(wanted))
    plain_offered, plain_wanted = typing.get_origin(offered) or offered, typing.get_origin(wanted) or wanted
    if not (isinstance(plain_offered, type) and isinstance(plain_wanted, type)):
        return False
    arguments = typing.get_args(wanted)
    if not arguments:
        return issubclass(plain_offered, plain_wanted) or (plain_offered, plain_wanted) == (int, float)
    reads = plain_wanted in (Sequence, Iterable, Mapping) and issubclass(plain_offered, plain_wanted)
    if not (reads or plain_offered is plain_wanted):
        return False
    given = tuple(each for each in typing.get_args(offered) if each is not Ellipsis)
    asked = tuple(each for each in arguments if each is not Ellipsis)
    return len(given) == len(asked) and all(fits(one, other) for one, other in zip(given, asked, strict=True))


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def _hint(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def type_text(kind: Any) -> str:
    """Return a type as it is written."""
    if isinstance(kind, type) and not typing.get_args(kind):
        return kind.__name__
    return str(kind).replace("pandas.core.frame.", "").replace("typing.", "")
