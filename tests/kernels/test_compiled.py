"""T01: no compiled function runs code or constants of before an edit in another file, walkfold's or a user's."""

import importlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import llvmlite
import numba
import numpy as np
import pytest
from numba.core import config
from numba.core.dispatcher import Dispatcher

from kernels import code_digest as digests
from kernels import compiled as module
from kernels.code_digest import UnknownValueError, code_digest, dispatcher_options
from kernels.numba_extensions import by_name, extensions

REPOSITORY = Path(__file__).resolve().parents[2]
HEAD = "from numba import njit\nimport callee\n"
WALK = """
import numpy as np
from kernels.features.trend import _shape
from training.market import Market
from training.policy import Policy, greedy_actions
one = np.ones(1)
print(round(_shape(one, one * 2, one, one * 2)[0][0], 9))
first = np.zeros((4, 3), np.float32)
first[3, 0] = 1  # time since entry
bias = np.array([0, 0.5, 0], np.float32)
head = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], np.float32)  # flat is worth the time since entry, long a half
none = np.zeros(3, np.float32)
policy = Policy(first, bias, np.eye(3, dtype=np.float32), none, head, np.array([-1, 0, 0], np.float32),
                np.zeros((3, 3), np.float32), one, 0, 0, 0)
after = np.broadcast_to(np.arange(3, dtype=np.int8), (400, 3, 3)).copy()
table = Market(0, np.zeros((400, 3, 3)), np.zeros((400, 3, 3)), after)
print(np.flatnonzero(greedy_actions(policy, np.zeros((401, 1), np.float32), table) == 1)[:3].tolist())
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Writes modules and imports `caller` afresh, as a process started after the edit would."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write_and_import(**sources):
        for name, text in sources.items():
            (tmp_path / f"{name}.py").write_text(text)
        for name in ("caller", "callee"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("caller")

    yield write_and_import
    for name in ("caller", "callee"):
        sys.modules.pop(name, None)


def test_t01_a_constant_and_a_function_of_walkfold(tmp_path):
    # Long, since the case is about two processes, the second of which finds what the first has compiled.
    for package in ("kernels", "training"):
        shutil.copytree(REPOSITORY / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_OPT": "0"}

    def answers():
        done = subprocess.run(
            [sys.executable, "-c", WALK], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split("\n")[:2]

    # A body as long as the bar is 1. Flat is better than long once the time since entry is past 0.5 of its limit.
    assert answers() == ["1.0", "[121, 243, 365]"]
    halved = "low, high = low / 2, high / 2\n    value = low if value < low"
    edit(tmp_path / "kernels/features/elementwise.py", "value = low if value < low", halved)
    edit(tmp_path / "training/environment.py", "HELD_LIMIT = 240", "HELD_LIMIT = 3")
    assert answers() == ["0.5", "[2, 5, 8]"]


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


CALLED = "return callee.part(x)"
EXTENDED = {
    "jitable": ("from numba.extending import register_jitable\n@register_jitable\ndef part(x): return x + {}", CALLED),
    "overload": (
        "from numba.extending import overload\ndef part(x): pass\n@overload(part)\ndef _(x): return lambda x: x + {}", CALLED,
    ),
    "method": (
        "from numba import types\nfrom numba.extending import overload_method\n"
        "@overload_method(types.Integer, 'part')\ndef _(x): return lambda x: x + {}",
        "return x.part()",
    ),
    "intrinsic": (
        "from numba import types\nfrom numba.extending import intrinsic\n@intrinsic\ndef part(context, x):\n"
        "    def code(context, builder, signature, args):\n"
        "        return builder.add(args[0], context.get_constant(types.int64, {}))\n    return x(x), code",
        CALLED,
    ),
}  # fmt: skip
KINDS = {
    "function": ("@njit\ndef part(x): return x + {}", CALLED),
    "cached function": ("@njit(cache=True)\ndef part(x): return x + {}", CALLED),
    "function of a function": ("@njit\ndef inner(x): return x + {}\n@njit\ndef part(x): return inner(x)", CALLED),
    "constant": ("part = {}", "return x + callee.part"),
    "array": ("import numpy as np\npart = np.array([{}, 1])", "return x + callee.part[0]"),
    "tuple": ("part = ({}, 1)", "return x + callee.part[0]"),
    "default": ("@njit\ndef part(x, k={}): return x + k", CALLED),
    "closure": ("def make(k):\n    @njit\n    def part(x): return x + k\n    return part\npart = make({})", CALLED),
    "enum": ("import enum\nclass part(enum.IntEnum): A = {}", "return x + callee.part.A"),
    "value of a lazy module": ("def __getattr__(name): return {} if name == 'part' else None", "return x + callee.part"),
    "name made of text": ("part = {}", "return x + getattr(callee, 'part')"),
    "modules in a circle": ("import caller\npart = {}", "return x + callee.caller.callee.part"),
    "ufunc": ("from numba import vectorize\n@vectorize\ndef part(x): return x + {}", CALLED),
    **EXTENDED,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_t01_a_users_function_sees_an_edit_in_another_module(load, kind):
    source, body = KINDS[kind]
    caller = f"{HEAD}@njit(cache=True)\ndef f(x):\n    {body}\n"
    assert load(caller=caller, callee=f"from numba import njit\n{source.format(7)}\n").f(1) == 8
    assert load(callee=f"from numba import njit\n{source.format(9)}\n").f(1) == 10
    again = load(callee=f"from numba import njit\n{source.format(7)}\n").f  # the older version again: its code is still there
    assert again(1) == 8
    assert kind in EXTENDED or sum(again.stats.cache_hits.values()) == 1  # extensions of before an edit stay in this process


@pytest.mark.parametrize("kind", EXTENDED)
def test_what_numba_registers_on_the_way_is_no_other_code(load, kind):
    source, body = EXTENDED[kind]
    caller = f"{HEAD}@njit(cache=True)\ndef f(x):\n    {body}\n"
    cache = load(caller=caller, callee=f"{source.format(7)}\n").f
    codegen = numba.core.registry.cpu_target.target_context.codegen()
    before = cache._cache._path((numba.int64,), codegen)
    cache(1)
    assert before.exists() and cache._cache._path((numba.int64,), codegen) == before


@pytest.mark.parametrize("decorator", ["njit('{0}({0})')", "vectorize(['{0}({0})'])"])
def test_the_types_that_a_callee_was_compiled_for(load, decorator):
    """A function compiled for given types rounds its arguments to them; a caller's machine code holds that."""
    caller = f"{HEAD}@njit(cache=True)\ndef f(x): return callee.part(x)\n"
    callee = f"from numba import njit, vectorize\n@{decorator}\ndef part(x): return x / 3\n"
    load(caller=caller, callee=callee.format("float32"))
    for kind in (np.float32, np.float64):
        assert load(callee=callee.format(kind.__name__)).f(np.float32(1.0)) == kind(1.0) / kind(3.0)


def test_a_users_module_of_the_name_of_one_of_pythons(load, tmp_path, monkeypatch):
    caller = "from numba import njit\nimport turtle\n@njit(cache=True)\ndef f(x): return turtle.part(x)\n"
    for constant in (7, 9):
        monkeypatch.delitem(sys.modules, "turtle", raising=False)
        (tmp_path / "turtle.py").write_text(f"from numba import njit\n@njit\ndef part(x): return x + {constant}\n")
        assert load(caller=caller).f(1) == 1 + constant
    monkeypatch.delitem(sys.modules, "turtle")
    assert by_name("statistics") and by_name("math") and by_name("numpy.linalg") and not by_name("kernels")


def test_the_order_of_an_arguments_fields(load):
    caller = f"{HEAD}@njit(cache=True)\ndef f(p): return p.left\n"
    callee = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    {}: int\n    {}: int\n"
    load(caller=caller, callee=callee.format("left", "right"))
    for names in (("left", "right"), ("right", "left")):
        found = load(callee=callee.format(*names))
        assert found.f(sys.modules["callee"].Pair(left=3, right=4)) == 3


def test_the_options_a_users_own_decorator_gives(load):
    caller = f"{HEAD}@callee.fast\ndef f(x): return 1.0 / x\n"
    callee = "import functools\nfrom numba import njit\nfast = functools.partial(njit, cache=True, error_model='{}')\n"
    assert load(caller=caller, callee=callee.format("numpy")).f(0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        load(callee=callee.format("python")).f(0.0)


@pytest.mark.parametrize("decorator", ["vectorize(", "cfunc('int64(int64)', "])
def test_ufuncs_and_callbacks(load, decorator):
    caller = f"from numba import cfunc, vectorize\nimport callee\n@{decorator}cache=True)\ndef f(x): return x + callee.K\n"
    load(caller=caller, callee="K = 7\n")
    for constant in (7, 9):
        found = load(callee=f"K = {constant}\n").f
        assert getattr(found, "ctypes", found)(1) == 1 + constant


def test_what_numba_makes_a_cache_of_its_own_for_is_compiled_in_each_process(load, tmp_path):
    caller = (
        "from numba import guvectorize\nimport callee\n"
        "@guvectorize('(int64, int64[:])', '()->()', cache=True)\ndef f(x, out): out[0] = x + callee.K\n"
    )
    load(caller=caller, callee="K = 7\n")
    for constant in (7, 9):
        assert load(callee=f"K = {constant}\n").f(1) == 1 + constant
    assert not list((tmp_path / "__pycache__").glob("guf*"))


def test_an_edit_that_changes_neither_time_nor_size(load, tmp_path):
    source = "from numba import njit\n@njit(cache=True)\ndef f(x): return x + {}\n"
    for constant in (7, 9):
        (tmp_path / "caller.py").write_text(source.format(constant))
        os.utime(tmp_path / "caller.py", (1_000_000_000, 1_000_000_000))
        assert load().f(1) == 1 + constant


def test_code_that_was_loaded_before_an_edit_is_not_kept_as_the_new(load, tmp_path):
    caller = f"{HEAD}@njit(cache=True)\ndef f(x): return x + callee.K\n"
    old = load(caller=caller, callee="K = 7\n")
    (tmp_path / "callee.py").write_text("K = 9\n")
    assert old.f(1) == 8  # compiled after the edit, by a process that has not seen it
    assert load().f(1) == 10


def test_comments_and_lines_move_no_machine_code(load):
    caller = f"{HEAD}@njit(cache=True)\ndef f(x): return callee.part(x)\n"
    callee = "from numba import njit\n{}@njit\ndef part(x): return x + 7\n"
    assert load(caller=caller, callee=callee.format("")).f(1) == 8
    again = load(caller=f"# a line\n{caller}", callee=callee.format("# a line\n\n"))
    assert again.f(1) == 8 and sum(again.f.stats.cache_hits.values()) == 1


def test_a_constant_changed_while_the_process_runs_is_not_kept(load):
    caller = HEAD + "".join(f"@njit(cache=True)\ndef {name}(x): return callee.part(x)\n" for name in "fg")
    callee = "from numba import njit\nK = 7\n@njit\ndef part(x): return x + K\n"
    first = load(caller=caller, callee=callee)
    assert first.f(1) == 8
    sys.modules["callee"].K = 9
    first.g(1)  # numba links `part` as it was compiled, with 7
    second = load()
    sys.modules["callee"].K = 9
    assert second.g(1) == 10


def test_damaged_machine_code_is_compiled_again(load, tmp_path):
    caller = f"{HEAD}@njit(cache=True)\ndef f(x): return x + callee.K\n"
    load(caller=caller, callee="K = 7\n").f(1)
    (kept,) = (tmp_path / "__pycache__").glob("*.nbc")
    for damage in (b"", kept.read_bytes()[:-9], bytes(len(kept.read_bytes()))):
        kept.write_bytes(damage)
        found = load()
        assert found.f(1) == 8 and not found.f.stats.cache_hits


def test_versions_used_longest_ago_make_room(load, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_VERSIONS", 2)
    caller = f"{HEAD}@njit(cache=True)\ndef f(x): return x + callee.K\n"
    hits = []
    for constant in (1, 2, 1, 3, 1, 2):
        found = load(caller=caller, callee=f"K = {constant}\n")
        assert found.f(1) == 1 + constant
        hits.append(sum(found.f.stats.cache_hits.values()))
    assert hits == [0, 0, 1, 0, 1, 0] and len(list((tmp_path / "__pycache__").iterdir())) == 2


def test_where_nothing_can_be_kept_a_function_runs(load, tmp_path, monkeypatch):
    caller = f"{HEAD}@njit(cache=True)\ndef f(x): return x + callee.K\n"
    found = load(caller=caller, callee="K = 7\n")
    monkeypatch.setattr(Path, "write_bytes", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert found.f(1) == 8
    assert list((tmp_path / "__pycache__").iterdir()) == []


def test_what_cannot_be_told_is_not_kept(load, tmp_path):
    caller = (
        "from numba import njit, float64\nfrom numba.experimental import jitclass\n"
        "@jitclass([('x', float64)])\nclass Box:\n    def __init__(self, x): self.x = x\n"
        "@njit(cache=True)\ndef f(x): return Box(x).x\n"
    )
    assert load(caller=caller).f(1.0) == 1.0
    assert list((tmp_path / "__pycache__").glob("*.nbc")) == []


@pytest.mark.parametrize("source, reason", [
    ("def make():\n    @njit\n    def f(x): return later\n    return f\n    later = 1\nf = make()", "later|not set yet"),
    ("from numba.core.compiler import Compiler\nclass My(Compiler): pass\n@njit(pipeline_class=My)\ndef f(x): return x", "My"),
    ("def f(x):\n    import math\n    return x\nf = njit(f)", "imports math"),
    ("import functools\n@functools.lru_cache\ndef part(x): return x\n@njit\ndef f(x): return part(x)", "_lru_cache_wrapper"),
    ("import functools\nimport math\npart = functools.partial(max, 1)\n@njit\ndef f(x): return part(x)", "functools.partial"),
])  # fmt: skip
def test_code_that_cannot_be_told_is_refused_by_name(load, source, reason):
    f = load(caller=f"from numba import njit\n{source}\n").f
    with pytest.raises(UnknownValueError, match=reason):
        code_digest(f.py_func, dispatcher_options(f), (numba.int64,), ())


def test_code_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(digests, "MOST_FUNCTIONS", 0)
    with pytest.raises(UnknownValueError, match="more than 0 functions"):
        digest()


def test_a_list_that_holds_itself_stops_no_function(load, tmp_path):
    caller = "from numba import njit\nK = []\nK.append(K)\n@njit(cache=True)\ndef f(x, k=K): return x + 1\n"
    assert load(caller=caller).f(1, 2) == 2
    assert not list((tmp_path / "__pycache__").glob("*.nbc"))


def test_an_installed_extension_counts_by_its_version(monkeypatch):
    library = ModuleType("some_extension")
    library.__version__ = "1.2.3"
    monkeypatch.setitem(sys.modules, "some_extension", library)
    text = "from numba.extending import overload\ndef part(x): pass\n@overload(part)\ndef _(x): return lambda x: x\n"
    exec(compile(text, f"{sysconfig.get_path('purelib')}/some_extension.py", "exec"), vars(library))
    assert "some_extension 1.2.3" in extensions()


def test_every_compiled_function_of_walkfold_is_kept():
    found = 0
    for package in ("kernels", "loaders", "training", "validation"):
        for path in sorted((REPOSITORY / package).rglob("*.py")):
            if "\n@compiled\n" not in path.read_text(encoding="utf-8"):
                continue
            imported = importlib.import_module(".".join(path.relative_to(REPOSITORY).with_suffix("").parts))
            for function in vars(imported).values():
                if isinstance(function, Dispatcher):
                    assert len(code_digest(function.py_func, dispatcher_options(function), (), ())) == 64
                    found += 1
    assert found > 60


def add(x):
    return x + OFFSET


OFFSET = 1.0


def digest():
    digests._first.clear()
    return code_digest(add, {}, (), ("x86_64", "znver4"))


@pytest.mark.parametrize("owner, name, value", [
    (numba, "__version__", "0.64.9"), (llvmlite, "__version__", "0.46.9"), (np, "__version__", "2.4.9"),
    (sys, "version", "3.13"), (config, "OPT", 1), (config, "USING_SVML", True), (config, "BOUNDSCHECK", 1),
])  # fmt: skip
def test_another_compiler_or_setting_is_another_digest(monkeypatch, owner, name, value):
    before = digest()
    assert digest() == before
    monkeypatch.setattr(owner, name, value)
    assert digest() != before


@pytest.mark.parametrize("one, other", [
    (0.0, -0.0), (1, 1.0), (True, 1), (float("nan"), -float("nan")), (np.float32(1), np.float64(1)), ((1, 2), [1, 2]),
    (np.zeros((2, 3)), np.zeros((3, 2))), (np.zeros(2), np.zeros(2, np.int64)), (np.eye(2), np.asfortranarray(np.eye(2) + 0)),
    (np.datetime64(1, "s"), np.datetime64(1, "ns")), ("1", 1), (None, "None"), (min, max), (np.sqrt, np.cbrt),
    (numba.float32, numba.float64),
])  # fmt: skip
def test_values_are_told_apart(monkeypatch, one, other):
    found = []
    for value in (one, other):
        monkeypatch.setitem(globals(), "OFFSET", value)
        found.append(digest())
    assert found[0] != found[1]


def test_a_value_that_cannot_be_told_is_refused_by_name(monkeypatch):
    monkeypatch.setitem(globals(), "OFFSET", object())
    with pytest.raises(UnknownValueError, match=r"builtins\.object cannot be told"):
        digest()


@pytest.mark.parametrize("importer", ["pipelines.config.user_code", "pipelines.execution.worker_setup"])
def test_the_cache_is_in_place_before_a_users_module_is_imported(importer):
    script = f"import {importer}, numba.core.dispatcher as d; print(d.Dispatcher.enable_caching.__module__)"
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "kernels.compiled"
