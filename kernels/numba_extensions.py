"""What code outside numba has taught numba (`overload`, `intrinsic`, `lower_builtin` …): it can be in any machine code.

An extension found in an installed package counts by the package's version, one of the project's or a user's by its functions.
"""

import inspect
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any

from numba.core import imputils, pythonapi
from numba.core.datamodel import default_manager
from numba.core.extending import _Intrinsic
from numba.core.typing import templates

LIBRARIES = frozenset({"numba", "llvmlite", "numpy", *sys.builtin_module_names, *sys.stdlib_module_names})


def by_name(module: str | None) -> bool:
    """Whether the code of a module is known by its name: Python's, numpy's and numba's versions are in every digest.

    A user's own ``turtle.py``, which Python finds before the one of its library, is not.
    """
    top = (module or "").partition(".")[0]
    if top not in LIBRARIES:
        return False
    return top not in sys.stdlib_module_names or _pythons(getattr(sys.modules.get(top), "__file__", None))


@lru_cache(maxsize=1_000)
def _pythons(file: str | None) -> bool:
    """Whether the file of a module with a name of Python's library is Python's; without a file it is built in."""
    if file is None:
        return True
    path = Path(file).resolve()
    folders = (Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))
    return any(path.is_relative_to(folder) for folder in folders) and _SITES.isdisjoint(path.parts)


_SITES = frozenset({"site-packages", "dist-packages"})


def extensions() -> tuple[Any, ...]:
    """Return the functions, the options they were registered with, and the versions of packages, in order of registration."""
    return _extensions(tuple(len(each) for each in _registries()))


def _registries() -> tuple[Any, ...]:
    lowered, typed = imputils.builtin_registry, templates.builtin_registry
    conversions = (each.functions for each in (pythonapi._boxers, pythonapi._unboxers, pythonapi._reflectors))
    return (
        typed.functions, typed.attributes, lowered.functions, lowered.getattrs, lowered.setattrs, lowered.casts,
        lowered.constants, default_manager._handlers, *conversions,
    )  # fmt: skip


@lru_cache(maxsize=1)
def _extensions(_lengths: tuple[int, ...]) -> tuple[Any, ...]:
    """Registries only grow, so their lengths say whether they have been read."""
    found: list[Any] = []
    for registry in _registries():
        for entry in registry.values() if isinstance(registry, dict) else registry:
            functions = [each for each in _functions(entry) if not by_name(each.__globals__.get("__name__"))]
            for function in functions:
                package = function.__globals__["__name__"].partition(".")[0]
                found.append(_version(package) if _installed(function) else function)
            if functions and isinstance(entry, type) and not _installed(functions[0]):
                found.append(_options(entry))
    return tuple(found)


def _functions(entry: Any) -> Iterator[FunctionType]:
    """The functions of an entry: a template's or a model's methods, or an implementation, which numba may have wrapped."""
    if isinstance(entry, tuple) and len(entry) > 1 and isinstance(entry[1], _Intrinsic):
        return  # made while code is compiled; the definition it was made by is in a template
    parts = entry if isinstance(entry, tuple) else (entry,)
    for member in vars(entry).values() if isinstance(entry, type) else parts:
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if isinstance(function, FunctionType):
            yield function
            cells = inspect.getclosurevars(function).nonlocals.values() if by_name(function.__globals__["__name__"]) else ()
            yield from (each for each in cells if isinstance(each, FunctionType))


def _options(template: type) -> tuple[Any, ...]:
    content = vars(template)
    inline = getattr(content.get("_inline"), "__func__", None)
    return (content.get("key"), content.get("_attr"), content.get("_jit_options"), getattr(inline, "value", None))


def _installed(function: FunctionType) -> bool:
    return not _SITES.isdisjoint(Path(function.__code__.co_filename).parts)


def _version(package: str) -> str:
    return f"{package} {getattr(sys.modules.get(package), '__version__', None)}"
