"""A digest of everything machine code can hold: the code a compiled function reaches, the values it reads, the compiler.

It is taken from the objects that this process has loaded, never from files: a file may have been edited since. Line numbers and
comments do not count. A value whose content cannot be told raises ``UnknownValueError``, and what reads it is not cached.
"""

import dis
import enum
import hashlib
import sys
import weakref
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config, types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.typing.templates import Signature
from numba.experimental.jitclass.base import JitClassType
from numba.np.ufunc.dufunc import DUFunc

from kernels.numba_extensions import by_name, extensions

SETTINGS = (
    "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "EXTEND_VARIABLE_LIFETIMES", "LLVM_REFPRUNE_FLAGS", "LLVM_REFPRUNE_PASS",
    "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE", "USE_LEGACY_TYPE_SYSTEM", "USING_SVML",
)  # fmt: skip
"""numba's settings that change machine code; what it is compiled for is in the code generator's own description."""
PLAIN = (type(None), bool, int, str, bytes, type(Ellipsis))
MOST_FUNCTIONS = 2_000

_first: weakref.WeakKeyDictionary[FunctionType, tuple[str, tuple[FunctionType, ...]]] = weakref.WeakKeyDictionary()
"""What each function read when it was first digested: it may have been compiled with that, and numba would link it again."""


class UnknownValueError(TypeError):
    """Compiled code reads a value whose content cannot be told, or that has changed since code was compiled with it."""


def code_digest(function: FunctionType, options: Any, signature: Any, target: Any) -> str:
    """Return a digest of machine code before it is made; ``options`` are the decorator's, ``target`` describes the processor.

    Two processes, or two versions of a package, have the same digest only if the compiler is given the same things to read.
    Raises ``UnknownValueError``.
    """
    reached = _Reached()
    versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.version)
    settings = [f"{name}={getattr(config, name, None)}" for name in SETTINGS]
    reached.note(repr((versions, settings, target)))
    for value in (options, signature, function, *extensions()):
        reached.note(value if isinstance(value, str) else reached.text(value))
    return reached.digest()


class _Reached:
    """Collects functions from one to the next: a text of each, with the functions that it names by their number."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._numbers: dict[FunctionType, int] = {}
        self._functions: list[FunctionType] = []
        self._named: list[FunctionType] = []
        self._open: set[str] = set()

    def note(self, text: str) -> None:
        """Count a text, and the functions named in it."""
        self._functions += [one for one in dict.fromkeys(self._named) if one not in self._numbers]
        numbers = [self._numbers.setdefault(one, len(self._numbers)) for one in self._named]
        self._named = []
        self._hash.update(repr((text, numbers)).encode())

    def digest(self) -> str:
        """Return the digest of all that was noted and of what it reaches."""
        for function in self._functions:  # grows on the way
            if len(self._functions) > MOST_FUNCTIONS:
                raise UnknownValueError(f"{_name(function)} and what it reaches are more than {MOST_FUNCTIONS} functions")
            text = self._function(function)
            seen = (text, tuple(self._named))
            if _first.setdefault(function, seen) != seen:
                raise UnknownValueError(f"{_name(function)} reads other values than when it was first compiled")
            self.note(text)
        return self._hash.hexdigest()

    def text(self, value: Any, names: frozenset[str] = frozenset()) -> str:
        """Return what tells this value from any other; ``names`` are those that the code which reads it may look up in it."""
        if type(value) in PLAIN:
            return f"{type(value).__name__} {value!r}"
        if type(value) in (float, complex):
            return f"{type(value).__name__} {np.asarray(value).tobytes().hex()}"  # zeros and NaN by their bits
        if isinstance(value, tuple | list):
            return f"{self._class(type(value))}({', '.join([self.text(item, names) for item in value])})"
        if isinstance(value, set | frozenset):
            return f"{type(value).__name__}({', '.join(sorted([self.text(item) for item in value]))})"
        if isinstance(value, Mapping):
            items = [f"{self.text(key)}: {self.text(item, names)}" for key, item in value.items()]
            return f"{type(value).__name__}({', '.join(items)})"
        if isinstance(value, CodeType):
            return self._code(value)
        if isinstance(value, FunctionType):
            return self._reference(value)
        if isinstance(value, ModuleType):
            return self._module(value, names)
        if isinstance(value, type):
            return self._class(value)
        return self._compiled(value) or self._data(value)

    def _data(self, value: Any) -> str:
        if isinstance(value, enum.Enum):
            return f"{self._class(type(value))}.{value.name}"
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            layout = (value.shape, value.flags.c_contiguous, value.flags.f_contiguous)
            return f"array {value.dtype!r} {layout} {hashlib.sha256(value.tobytes()).hexdigest()}"
        if isinstance(value, np.dtype | slice | range):
            return repr(value)
        module, name = getattr(value, "__module__", None), getattr(value, "__name__", "")
        if module and by_name(module) and getattr(sys.modules.get(module), name, None) is value:
            return f"{module}.{name}"
        for library in (np, numba):
            name = next((name for name, each in vars(library).items() if each is value), "")
            if name:
                return f"{library.__name__}.{name}"
        raise UnknownValueError(f"the content of a {type(value).__module__}.{type(value).__qualname__} cannot be told")

    def _compiled(self, value: Any) -> str:
        """Return the text of something of numba's, or nothing."""
        if isinstance(value, Dispatcher):
            fixed = () if value._can_compile else value.nopython_signatures
            return f"compiled {self.text((dispatcher_options(value), fixed))} {self._reference(value.py_func)}"
        if isinstance(value, DUFunc):
            inner = value._dispatcher
            fixed = tuple(inner.overloads) if value._frozen else ()
            return f"ufunc {self.text((inner.targetoptions, inner.locals, fixed))} {self._reference(inner.py_func)}"
        if isinstance(value, _Intrinsic):
            return f"intrinsic {self._reference(value._defn)}"
        if isinstance(value, Signature):
            return f"signature {self.text((value.return_type, value.args, value.recvr))}"
        if isinstance(value, types.Dispatcher):
            return f"type of {self.text(value.dispatcher)}"
        return self._type(value) if isinstance(value, types.Type) else ""

    def _type(self, value: types.Type) -> str:
        if isinstance(value, types.ClassInstanceType | types.ClassType) or " at 0x" in value.name:
            raise UnknownValueError(f"what {value.name} stands for cannot be told")
        key = value.name if value.key == value.name else f"{value.name} {self.text(value.key)}"
        return f"{type(value).__module__}.{type(value).__qualname__} {key}"

    def _class(self, value: type) -> str:
        content: Any = ()
        if isinstance(value, JitClassType):
            raise UnknownValueError(f"the code of the compiled class {value.__qualname__} cannot be told")
        if issubclass(value, enum.Enum):
            content = [(name, member.value) for name, member in value.__members__.items()]
        elif issubclass(value, tuple) and hasattr(value, "_fields"):
            content = (value._fields, getattr(value, "_field_defaults", {}))
        return f"{value.__module__}.{value.__qualname__}{self.text(content) if content else ''}"

    def _reference(self, function: FunctionType) -> str:
        module = function.__globals__.get("__name__", "")  # ``__module__`` is copied by functools.wraps
        if by_name(module) and not function.__closure__:
            return f"{module}.{function.__qualname__}"
        self._named.append(function)
        return "function"

    def _module(self, value: ModuleType, names: frozenset[str]) -> str:
        name = value.__name__
        if by_name(name) or name in self._open:
            return name
        self._open.add(name)
        found = {each: vars(value)[each] for each in sorted(names) if each in vars(value)}
        if "__getattr__" in vars(value):
            found |= {each: getattr(value, each) for each in sorted(names - set(found)) if hasattr(value, each)}
        text = f"{name} {self.text(found, names)}"
        self._open.remove(name)
        return text

    def _function(self, function: FunctionType) -> str:
        named, names = _names(function.__code__)
        variables = function.__globals__
        found = {name: self.text(variables[name], names) for name in named if name in variables}
        try:
            cells = [self.text(cell.cell_contents, names) for cell in function.__closure__ or ()]
        except ValueError as error:
            raise UnknownValueError(f"{_name(function)} reads a variable that is not set yet") from error
        defaults = [self.text(each, names) for each in (function.__defaults__, function.__kwdefaults__)]
        return repr((function.__module__, function.__qualname__, self._code(function.__code__), found, cells, defaults))

    def _code(self, code: CodeType) -> str:
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        constants = [self.text(constant) for constant in code.co_consts]
        return repr((code.co_name, counts, names, code.co_code, code.co_exceptiontable, constants))


def _name(function: FunctionType) -> str:
    return f"{function.__module__}.{function.__qualname__}"


@lru_cache(maxsize=10_000)
def _names(code: CodeType) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the global names that a function and those inside it read, and all names that they may look up in a module."""
    read, names = set(), set(code.co_names)
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            raise UnknownValueError(f"{code.co_qualname} imports {instruction.argval} when it runs")
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            read.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, str):
            names.add(constant)  # as in ``getattr(module, "name")``
        elif isinstance(constant, CodeType):
            inner, inside = _names(constant)
            read |= set(inner)
            names |= inside
    return tuple(sorted(read)), frozenset(names)


def dispatcher_options(dispatcher: Dispatcher) -> tuple[Any, ...]:
    """Return what the decorator was given; raises ``UnknownValueError`` for a compiler of the user's own."""
    pipeline = dispatcher._compiler.pipeline_class
    if not by_name(pipeline.__module__):
        raise UnknownValueError(f"the code of the compiler {pipeline.__qualname__} cannot be told")
    return (type(dispatcher).__name__, pipeline.__qualname__, dispatcher.targetoptions, dispatcher.locals)
