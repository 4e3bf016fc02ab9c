"""Which code is in a key: every way a function can reach code is seen, and code beside it is not."""

import importlib
import sys

import pytest

from pipelines.graphs.graph import build_graph
from pipelines.graphs.node import Node
from pipelines.graphs.planning import note_code, plan
from pipelines.keying import keys
from pipelines.keying.code_reading import CodeReader
from pipelines.keying.module_files import is_project
from pipelines.nodes import NODES
from pipelines.storage.store import Store
from tests.pipelines.keying.shops import Shop


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    return Shop(tmp_path)


HALF = "def half(x):\n    return x / 2\n"
REACHED = {
    "a private helper in the same module": {
        "nodes.py": "def _half(x):\n    return x / 2\n\ndef work(x):\n    return _half(x)\n",
    },
    "a helper of a helper in another module": {
        "nodes.py": "from SHOP.one import step\n\ndef work(x):\n    return step(x)\n",
        "one.py": "from SHOP.two import half\n\ndef step(x):\n    return half(x)\n",
        "two.py": HALF,
    },
    "a module under another name": {
        "nodes.py": "import SHOP.two as t\n\ndef work(x):\n    return t.half(x)\n",
        "two.py": HALF,
    },
    "a module by its whole name": {
        "nodes.py": "import SHOP.two\n\ndef work(x):\n    return SHOP.two.half(x)\n",
        "two.py": HALF,
    },
    "an import inside the function": {
        "nodes.py": "def work(x):\n    from SHOP.two import half\n\n    return half(x)\n",
        "two.py": HALF,
    },
    "a module imported inside the function": {
        "nodes.py": "def work(x):\n    import SHOP.two as t\n\n    return t.half(x)\n",
        "two.py": HALF,
    },
    "a relative import": {"nodes.py": "from .two import half\n\ndef work(x):\n    return half(x)\n", "two.py": HALF},
    "a name passed on by the package": {
        "__init__.py": "from SHOP.two import half\n",
        "nodes.py": "import SHOP\n\ndef work(x):\n    return SHOP.half(x)\n",
        "two.py": HALF,
    },
    "a star import": {"nodes.py": "from SHOP.two import *\n\ndef work(x):\n    return half(x)\n", "two.py": HALF},
    "a star import passed on": {
        "nodes.py": "from SHOP.one import half\n\ndef work(x):\n    return half(x)\n",
        "one.py": "from SHOP.two import *\n",
        "two.py": HALF,
    },
    "an import that may fail": {
        "nodes.py": "try:\n    from SHOP.two import half\nexcept ImportError:\n    half = None\n\n"
        "def work(x):\n    return half(x)\n",
        "two.py": HALF,
    },
    "a constant": {"nodes.py": "from SHOP.two import SCALE\n\ndef work(x):\n    return x / SCALE\n", "two.py": "SCALE = 2\n"},
    "a constant of several": {"nodes.py": "A, SCALE = 1, 2\n\ndef work(x):\n    return x / SCALE\n"},
    "a default argument": {"nodes.py": "SCALE = 2\n\ndef work(x, scale=SCALE):\n    return x / scale\n"},
    "a name passed on by a module handed on": {
        "nodes.py": "from SHOP import one\nfrom SHOP.three import call\n\ndef work(x):\n    return call(one, x)\n",
        "one.py": "from SHOP.two import half\n",
        "two.py": HALF,
        "three.py": "def call(module, x):\n    return module.half(x)\n",
    },
    "a decorator": {
        "nodes.py": "from SHOP.two import halved\n\n@halved\ndef work(x):\n    return x\n",
        "two.py": "import functools\n\ndef halved(f):\n    @functools.wraps(f)\n    def inner(x):\n        return f(x) / 2\n"
        "    return inner\n",
    },
    "a base class": {
        "nodes.py": "from SHOP.two import Base\n\nclass Own(Base):\n    pass\n\ndef work(x):\n    return Own().half(x)\n",
        "two.py": "class Base:\n    def half(self, x):\n        return x / 2\n",
    },
    "the class of a parameter": {
        "nodes.py": "from SHOP.two import Money\n\ndef work(x: Money):\n    return x.half()\n",
        "two.py": "class Money:\n    def half(self):\n        return 1 / 2\n",
    },
    "the class of a parameter as text": {
        "nodes.py": "from SHOP.two import Money\n\ndef work(x: 'list[Money] | None'):\n    return x\n",
        "two.py": "class Money:\n    def half(self):\n        return 1 / 2\n",
    },
    "a class only type checkers import": {
        "nodes.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from SHOP.two import Money\n\n"
        "def work(x: 'Money'):\n    return x\n",
        "two.py": "class Money:\n    def half(self):\n        return 1 / 2\n",
    },
    "a table of functions": {
        "nodes.py": "from SHOP.two import TABLE\n\ndef work(x):\n    return TABLE['half'](x)\n",
        "two.py": HALF + "\nTABLE = {'half': half}\n",
    },
    "a list that another statement fills": {
        "nodes.py": "from SHOP.two import TABLE\n\ndef work(x):\n    return TABLE[0](x)\n",
        "two.py": HALF + "\nTABLE = []\nTABLE.append(half)\n",
    },
    "a list that another statement extends": {
        "nodes.py": "from SHOP.two import TABLE\n\ndef work(x):\n    return TABLE[0](x)\n",
        "two.py": HALF + "\nTABLE = []\nTABLE += [half]\n",
    },
    "a registry filled by a module imported for that": {
        "nodes.py": "import SHOP.two\nfrom SHOP.one import KNOWN\n\ndef work(x):\n    return KNOWN['half'](x)\n",
        "one.py": "KNOWN = {}\n\ndef known(f):\n    KNOWN[f.__name__] = f\n    return f\n",
        "two.py": "from SHOP.one import known\n\n@known\ndef half(x):\n    return x / 2\n",
    },
    "a registry filled by a call whose result has a name": {
        "nodes.py": "import SHOP.two\nfrom SHOP.one import KNOWN\n\ndef work(x):\n    return KNOWN[0](x)\n",
        "one.py": "KNOWN = []\n\ndef known(f):\n    KNOWN.append(f)\n    return len(KNOWN)\n",
        "two.py": "from SHOP.one import known\n\ndef half(x):\n    return x / 2\n\nhandle = known(half)\n",
    },
    "a registry filled by the package": {
        "__init__.py": "from SHOP.one import KNOWN\n\ndef half(x):\n    return x / 2\n\nKNOWN['half'] = half\n",
        "nodes.py": "from SHOP.one import KNOWN\n\ndef work(x):\n    return KNOWN['half'](x)\n",
        "one.py": "KNOWN = {}\n",
    },
    "classes that register themselves": {
        "nodes.py": "import SHOP.two\nfrom SHOP.one import Base\n\ndef work(x):\n    return Base.known[0]().half(x)\n",
        "one.py": "class Base:\n    known = []\n\n    def __init_subclass__(cls):\n        Base.known.append(cls)\n",
        "two.py": "from SHOP.one import Base\n\nclass Own(Base):\n    def half(self, x):\n        return x / 2\n",
    },
    "classes found by their base": {
        "nodes.py": "import SHOP.two\nfrom SHOP.one import Base\n\n"
        "def work(x):\n    return Base.__subclasses__()[0]().half(x)\n",
        "one.py": "class Base:\n    pass\n",
        "two.py": "from SHOP.one import Base\n\nclass Own(Base):\n    def half(self, x):\n        return x / 2\n",
    },
    "a method put on a class elsewhere": {
        "nodes.py": "import SHOP.two\nfrom SHOP.one import Money\n\ndef work(x):\n    return Money().half(x)\n",
        "one.py": "class Money:\n    pass\n",
        "two.py": "from SHOP.one import Money\n\ndef half(self, x):\n    return x / 2\n\nMoney.half = half\n",
    },
    "a name made at run time, of a module": {
        "nodes.py": "from SHOP import two\n\ndef work(x):\n    return getattr(two, 'ha' + 'lf')(x)\n",
        "two.py": HALF,
    },
    "a name made at run time, of its own module": {
        "nodes.py": HALF + "\ndef work(x):\n    return globals()['ha' + 'lf'](x)\n",
    },
    "a module handed on": {
        "nodes.py": "from SHOP import two\nfrom SHOP.one import call\n\ndef work(x):\n    return call(two, x)\n",
        "one.py": "def call(module, x):\n    return module.half(x)\n",
        "two.py": HALF,
    },
    "a module found by a name made at run time": {
        "nodes.py": "import importlib\nimport SHOP.two\n\ndef work(x):\n"
        "    return importlib.import_module('SHOP.' + 'two').half(x)\n",
        "two.py": HALF,
    },
    "code in a text": {"nodes.py": HALF + "\ndef work(x):\n    return eval('ha' + 'lf(x)')\n"},
    "a module attribute made when asked for": {
        "nodes.py": "from SHOP.two import third\n\ndef work(x):\n    return third(x)\n",
        "two.py": HALF + "\ndef __getattr__(name):\n    return half\n",
    },
    "what a function sets in its module": {
        "nodes.py": "STATE = None\n\ndef _set():\n    global STATE\n    STATE = 1 / 2\n\n_set()\n\n"
        "def work(x):\n    return STATE\n",
    },
    "a definition that depends": {
        "nodes.py": "import sys\nif sys.maxsize > 2**40:\n    def half(x):\n        return x / 2\nelse:\n    half = None\n\n"
        "def work(x):\n    return half(x)\n",
    },
    "a class's default": {
        "nodes.py": "from dataclasses import dataclass, field\n\n@dataclass(frozen=True)\nclass Money:\n"
        "    parts: float = field(default=1 / 2)\n\ndef work(x):\n    return Money()\n",
    },
    "a part of a function's own function": {
        "nodes.py": "def work(x):\n    def inner(y):\n        return y / 2\n    return inner(x)\n",
    },
}  # fmt: skip


@pytest.mark.parametrize("how", sorted(REACHED))
def test_a_change_of_code_that_is_reached_is_seen(shop, how):
    shop.write(REACHED[how])
    before = shop.code()
    changed = {name: text.replace("/ 2", "/ 3").replace("SCALE = 2", "SCALE = 3").replace("1, 2", "1, 3")
               for name, text in REACHED[how].items()}  # fmt: skip
    assert changed != REACHED[how]
    shop.write(changed)
    assert shop.code() != before


BASE = {
    "nodes.py": "from SHOP.two import half\n\nLIMIT = 3\n\n\ndef work(x):\n    return half(x)\n\n\n"
    "def other(x):\n    return x + LIMIT\n",
    "two.py": '"""Halves."""\n' + HALF + "\n\ndef third(x):\n    return x / 3\n",
    "three.py": "def fourth(x):\n    return x / 4\n",
}
BESIDE = {
    "a comment": ("nodes.py", "return half(x)", "return half(x)  # exact"),
    "a docstring": ("two.py", '"""Halves."""', '"""Divides by two."""'),
    "a docstring of a function": ("two.py", "def half(x):\n", 'def half(x):\n    """Half."""\n'),
    "layout": ("two.py", "return x / 2", "return (\n        x\n        / 2\n    )"),
    "a function beside it": ("nodes.py", "return x + LIMIT", "return x - LIMIT"),
    "a constant beside it": ("nodes.py", "LIMIT = 3", "LIMIT = 4"),
    "a function beside its helper": ("two.py", "x / 3", "x * 3"),
    "a new function": ("two.py", "def third(x):", "def fifth(x):\n    return x / 5\n\n\ndef third(x):"),
    "a module that nothing imports": ("three.py", "x / 4", "x * 4"),
    "an import of a library beside it": ("two.py", "def third(x):\n", "import math\n\n\ndef third(x):\n    math.sin(x)\n"),
}


@pytest.mark.parametrize("how", sorted(BESIDE))
def test_a_change_beside_the_code_reruns_nothing(shop, how):
    shop.write(BASE)
    before = shop.code()
    name, old, new = BESIDE[how]
    assert old in BASE[name]
    shop.write({**BASE, name: BASE[name].replace(old, new)})
    assert shop.code() == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from math import sin as f", "from math import cos as f"),
        ("import math as m", "import cmath as m"),
        ("import math as m", "import math as m\nimport yaml"),
        ("from SHOP.two import half", "from SHOP.two import third as half"),
    ],
)
def test_another_thing_under_the_same_name_is_seen(shop, old, new):
    """A function of a library counts by its name, and a library that nothing reads by being imported at all."""
    text = "from math import sin as f\nimport math as m\nfrom SHOP.two import half\n\n"
    text += "def work(x):\n    return f(m.tan(half(x)))\n"
    two = HALF + "\ndef third(x):\n    return x / 2\n"
    shop.write({"nodes.py": text, "two.py": two})
    before = shop.code()
    shop.write({"nodes.py": text.replace(old, new), "two.py": two})
    assert shop.code() != before


def test_a_second_package_of_the_users_counts_and_installed_ones_do_not(shop, tmp_path, monkeypatch):
    (tmp_path / f"{shop.name}_tools.py").write_text(HALF)
    shop.write({"nodes.py": "import numpy as np\nfrom SHOP_tools import half\n\ndef work(x):\n    return np.sum(half(x))\n"})
    code = shop.code()
    defined = [name for name in sorted(code) if ":import " not in name]
    assert defined == [f"{shop.name}.nodes:work", f"{shop.name}_tools:half"]


def test_a_users_module_of_the_name_of_one_of_pythons_counts(shop, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "turtle", raising=False)
    shop.write({"nodes.py": "import math\nfrom turtle import half\n\ndef work(x):\n    return math.exp(half(x))\n"})
    codes = []
    for source in (HALF, HALF.replace("2", "3")):
        (tmp_path / "turtle.py").write_text(source)
        sys.modules.pop("turtle", None)
        codes.append(shop.code())
    del sys.modules["turtle"]
    assert codes[0]["turtle:half"] != codes[1]["turtle:half"] and not [name for name in codes[0] if "math:" in name]
    assert not any(is_project(name) for name in ("statistics", "math", "os", "json", "_decimal"))


def test_modules_that_import_a_name_from_each_other_end(shop):
    shop.write({
        "nodes.py": "from SHOP import one\n\ndef work(x):\n    return one\n",
        "one.py": "def go():\n    from SHOP.two import thing\n    return thing\n\nif False:\n    from SHOP.two import thing\n",
        "two.py": "if False:\n    from SHOP.one import thing\n",
    })  # fmt: skip
    assert shop.code()


def test_a_long_line_of_modules_is_followed_to_its_end(shop):
    last = 60  # Python itself imports little more than a hundred inside each other
    modules = {f"m{n}.py": f"from SHOP import m{n + 1}\n\ndef half(x):\n    return m{n + 1}\n" for n in range(last)}
    shop.write({"nodes.py": "from SHOP import m0\n\ndef work(x):\n    return m0\n", **modules, f"m{last}.py": HALF})
    before = shop.code()
    shop.write({f"m{last}.py": HALF.replace("2", "3")})
    assert shop.code() != before


def test_packages_beside_which_their_metadata_lies_are_installed_ones(shop, tmp_path, monkeypatch):
    site = tmp_path / "site"
    (site / "thing-1.0.dist-info").mkdir(parents=True)
    (site / "thing-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    (site / "thing").mkdir()
    (site / "thing" / "__init__.py").write_text("def half(x):\n    return x / 2\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    shop.write({"nodes.py": "from thing import half\n\ndef work(x):\n    return half(x)\n"})
    before = shop.code()
    (site / "thing" / "__init__.py").write_text("def half(x):\n    return x / 3\n", encoding="utf-8")
    assert shop.code() == before


def test_what_was_parsed_before_is_read_and_a_damaged_file_of_it_is_no_file(shop, tmp_path):
    shop.write(REACHED["a helper of a helper in another module"])
    module = importlib.import_module(f"{shop.name}.nodes")
    first = CodeReader(tmp_path / "cache")
    before = keys.code_of([module.work], reader=first)
    first.save()
    (path,) = (tmp_path / "cache").iterdir()
    assert "two" in path.read_text() or path.stat().st_size > 200
    for text in (path.read_text(), "{", '{"format": 1}', ""):
        path.write_text(text)
        from pipelines.keying import code_reading

        code_reading._stored_facts.cache_clear()
        assert keys.code_of([module.work], reader=CodeReader(tmp_path / "cache")) == before


def total(x: int) -> int:
    return x


def test_the_plan_names_the_definition_that_changed(shop, tmp_path):
    shop.write(BASE)
    store = Store.open(tmp_path / "store")

    def graph():
        shop.code()
        work = sys.modules[f"{shop.name}.nodes"].work
        work.__annotations__ = {"x": int, "return": int}
        return build_graph((Node("start", start), Node("work", work, inputs={"x": "start"})), None, {}, {})

    before = graph()
    note_code(before, store)
    store.remember("work", {"key": before["work"].key, "parts": before["work"].parts})
    shop.write({**BASE, "two.py": BASE["two.py"].replace("x / 2", "x * 0.5")})
    rows = {row.task.name: row.reason for row in plan(graph(), store)}
    assert rows["work"] == f"code changed: {shop.name}.two:half"


def start() -> int:
    return 1


def test_the_tables_of_opcodes_and_features_are_in_the_keys_of_the_nodes_that_use_them():
    named = ("sweep", "feature_days", "sanitised")
    code = {node.name: keys.code_of([node.function]) for node in NODES if node.name in named}
    sweep = {name.partition(":")[0] for name in code["sweep"]}
    assert {"kernels.opcodes", "kernels.portfolio", "kernels.numba_text", "kernels.cuda_text"} <= sweep
    assert any(name.startswith("kernels.opcodes:") for name in code["sweep"])
    features = {name.partition(":")[0] for name in code["feature_days"]}
    assert {"kernels.features.oscillators", "validation.returns", "validation.clamp", "kernels.features.targets"} <= features
    assert not any(name.startswith(("pipelines.storage.store", "kernels.sweep")) for name in code["feature_days"])
    compiled = {"kernels.compiled", "kernels.code_digest", "kernels.numba_extensions", "kernels.program_cache"}
    assert {module for name in code["sanitised"] if (module := name.partition(":")[0]).startswith("kernels.")} <= compiled
