"""T07 and its kind: whatever a function depends on beyond its source changes its key, or the function is refused by name."""

import pytest

from pipelines.graphs.node_checks import GraphError
from pipelines.graphs.planning import uncovered
from tests.pipelines.keying.shops import Shop


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    return Shop(tmp_path)


HALF = "def half(x):\n    return x / 2\n"
MONEY = "class Money:\n    rate = 1\n\ndef half(x):\n    return x * Money.rate\n"
WORK = "\ndef work() -> float:\n    return "
FLOW = "from pipelines.graphs.flow_table import Flow\nfrom pipelines.graphs.node import Node\nfrom SHOP.nodes import work\n"
TABLE = '\nFLOW = Flow((Node("work", work),))\n'
USES_KNOWN = {"nodes.py": f"from SHOP.one import KNOWN\n{WORK}KNOWN[0](1)\n", "one.py": "KNOWN = []\n"}
PARAMS = '{"scale": 2}'
CHANGED = {
    # what only the flow's module puts in place
    "a registry that the flow's module fills": {
        **USES_KNOWN, "flow.py": f"{FLOW}from SHOP.one import KNOWN\nKNOWN.append(lambda x: x / 2)\n{TABLE}",
    },
    "a registry that a module fills which only the flow's module imports": {
        **USES_KNOWN, "flow.py": f"{FLOW}import SHOP.two\n{TABLE}",
        "two.py": f"from SHOP.one import KNOWN\n\n{HALF}\nKNOWN.append(half)\n",
    },
    "a registry that the flow's function fills": {
        **USES_KNOWN,
        "flow.py": f"{FLOW}from SHOP.one import KNOWN\n\ndef FLOW():\n    KNOWN.append(lambda x: x / 2)\n"
        '    return Flow((Node("work", work),))\n',
    },
    "a registry that a function fills which the flow's function calls": {
        **USES_KNOWN,
        "flow.py": f"{FLOW}from SHOP.one import KNOWN\n\ndef fill():\n    KNOWN.append(lambda x: x / 2)\n\n"
        'def FLOW():\n    fill()\n    return Flow((Node("work", work),))\n',
    },
    "a registry that the flow's function fills under another name": {
        **USES_KNOWN,
        "flow.py": f"{FLOW}from SHOP.one import KNOWN\n\ndef FLOW():\n    known = KNOWN\n    known.append(lambda x: x / 2)\n"
        '    return Flow((Node("work", work),))\n',
    },
    "a registry that a module fills which the flow's function imports": {
        **USES_KNOWN, "flow.py": f'{FLOW}\ndef FLOW():\n    import SHOP.two\n    return Flow((Node("work", work),))\n',
        "two.py": f"from SHOP.one import KNOWN\n\n{HALF}\nKNOWN.append(half)\n",
    },
    "a subclass that only the flow's module defines": {
        "nodes.py": f"from SHOP.one import Base\n{WORK}Base.__subclasses__()[0]().half(1)\n",
        "one.py": "class Base:\n    pass\n",
        "flow.py": f"{FLOW}from SHOP.one import Base\n\nclass Own(Base):\n    half = lambda self, x: x / 2\n{TABLE}",
    },
    "a subclass that registers itself in the flow's module": {
        "nodes.py": f"from SHOP.one import Base\n{WORK}Base.known[0]().half(1)\n",
        "one.py": "class Base:\n    known = []\n\n    def __init_subclass__(cls):\n        Base.known.append(cls)\n",
        "flow.py": f"{FLOW}from SHOP.one import Base\n\nclass Own(Base):\n    half = lambda self, x: x / 2\n{TABLE}",
    },
    "a class of another library's base": {
        "nodes.py": f"import yaml\n{WORK}yaml.YAMLObject.__subclasses__()[0]().half(1)\n",
        "flow.py": f"import yaml\n{FLOW}\nclass Own(yaml.YAMLObject):\n    def half(self, x):\n        return x / 2\n{TABLE}",
    },
    "a constant that the flow's module sets": {
        "nodes.py": f"from SHOP import one\n{WORK}1 * one.SCALE\n", "one.py": "SCALE = 1\n",
        "flow.py": f"{FLOW}from SHOP import one\none.SCALE = 1 / 2\n{TABLE}",
    },
    "a method that the flow's module replaces": {
        "nodes.py": f"from SHOP.one import Money\n{WORK}Money().half(1)\n",
        "one.py": "class Money:\n    def half(self, x):\n        return x\n",
        "flow.py": f"{FLOW}from SHOP.one import Money\nMoney.half = lambda self, x: x / 2\n{TABLE}",
    },
    "a built-in that the flow's module adds": {
        "nodes.py": f"{WORK}shop_rate\n", "flow.py": f"{FLOW}import builtins\nbuiltins.shop_rate = 1 / 2\n{TABLE}",
    },
    "what the flow's module puts into a library": {
        "nodes.py": f"import math\n{WORK}math.shop_rate\n", "flow.py": f"{FLOW}import math\nmath.shop_rate = 1 / 2\n{TABLE}",
    },
    "a default that the flow's module gives another value": {
        "nodes.py": "def work(scale: float = 1.0) -> float:\n    return scale\n",
        "flow.py": f"{FLOW}work.__defaults__ = (1 / 2,)\n{TABLE}",
    },
    "an item that an operator registers": {
        **USES_KNOWN,
        "one.py": "KNOWN = []\n\nclass Line:\n    def __rshift__(self, other):\n        KNOWN.append(other)\n\nLINE = Line()\n",
        "flow.py": f"{FLOW}from SHOP.one import LINE\n\n{HALF}\nDONE = LINE >> half\n{TABLE}",
    },
    "an item that a conversion registers": {
        **USES_KNOWN,
        "one.py": "KNOWN = []\n\nclass Line:\n    def __len__(self):\n        KNOWN.append(self.half)\n        return 0\n",
        "two.py": f"from SHOP.one import Line\n\n{HALF}\nLINE = Line()\nLINE.half = half\n",
        "flow.py": f"{FLOW}from SHOP.two import LINE\nDONE = len(LINE)\n{TABLE}",
    },
    # names
    "a star import with a list of modules": {
        "nodes.py": f"from SHOP.deep import *\n{WORK}two.half(1)\n",
        "deep/__init__.py": "__all__ = ['two']\n", "deep/two.py": HALF,
    },
    "an attribute that a package makes when asked": {
        "nodes.py": f"import SHOP.deep\n{WORK}SHOP.deep.half(1)\n", "deep/two.py": HALF,
        "deep/__init__.py": "def __getattr__(name):\n    import importlib\n"
        "    return getattr(importlib.import_module('SHOP.deep.' + 'tw' + 'o'), name)\n",
    },
    "an attribute that a package makes when asked, imported": {
        "nodes.py": f"from SHOP.deep import half\n{WORK}half(1)\n", "deep/two.py": HALF,
        "deep/__init__.py": "def __getattr__(name):\n    from .two import half\n    return half\n",
    },
    "a package that is handed on": {
        "nodes.py": f"import SHOP.deep.two\nfrom SHOP import deep\n{WORK}getattr(deep, 'tw' + 'o').half(1)\n",
        "deep/__init__.py": "", "deep/two.py": HALF,
    },
    "a folder without a package's file": {"nodes.py": f"from SHOP.deep.two import half\n{WORK}half(1)\n", "deep/two.py": HALF},
    "a name that a function of the module gives its module": {
        "nodes.py": f"{HALF}\ndef put():\n    global known\n    known = half\n\nput()\n{WORK}known(1)\n",
    },
    "a module found by a path of dots": {
        "nodes.py": f"import pydoc\nimport SHOP.two\n{WORK}pydoc.locate('SHOP.two.half')(1)\n", "two.py": HALF,
    },
    "a function replaced by its dotted name": {
        "nodes.py": "from unittest import mock\nfrom SHOP import one\n\ndef work() -> float:\n"
        "    with mock.patch('SHOP.one.half', one.other):\n        return one.half(1)\n",
        "one.py": "def half(x):\n    return x\n\ndef other(x):\n    return x / 2\n",
    },
    "an attribute found by an operator": {
        "nodes.py": f"import operator\nfrom SHOP import two\n{WORK}operator.attrgetter('ha' + 'lf')(two)(1)\n", "two.py": HALF,
    },
    "code in a text that pandas evaluates": {
        "nodes.py": f"import pandas as pd\n\n{HALF}{WORK}pd.eval('@ha' + 'lf(1)')\n",
    },
    "code in a text that a table evaluates": {
        "nodes.py": f"import pandas as pd\nfrom SHOP.two import *\n{WORK}pd.DataFrame([1]).query('@ha' + 'lf(1)').size\n",
        "two.py": HALF,
    },
    "globals of a function": {"nodes.py": f"{HALF}{WORK}work.__globals__['ha' + 'lf'](1)\n"},
    "the frame": {"nodes.py": f"import sys\n\n{HALF}{WORK}sys._getframe().f_globals['ha' + 'lf'](1)\n"},
    "modules by name": {
        "nodes.py": f"import sys\nimport SHOP.two\n{WORK}sys.modules['SHOP.' + 'two'].half(1)\n", "two.py": HALF,
    },
    "an import by another name of the function": {
        "nodes.py": f"from importlib import import_module as load\n{WORK}load('SHOP.' + 'two').half(1)\n", "two.py": HALF,
    },
    "T07 d, an import by a name put together": {
        "nodes.py": f"import importlib\n{WORK}importlib.import_module('SHOP.' + 'two').half(1)\n", "two.py": HALF,
    },
    "an import by a name in a text": {
        "nodes.py": f"import importlib\n{WORK}importlib.import_module('SHOP.two').half(1)\n", "two.py": HALF,
    },
    "an import by a relative name": {
        "nodes.py": f"import importlib\n{WORK}importlib.import_module('.two', 'SHOP').half(1)\n", "two.py": HALF,
    },
    "__import__": {"nodes.py": f"{WORK}__import__('SHOP.' + 'two').two.half(1)\n", "two.py": HALF},
    "all modules of a package": {
        "nodes.py": f"import importlib\nimport pkgutil\nimport SHOP.deep\n\n"
        "for one in pkgutil.iter_modules(SHOP.deep.__path__):\n"
        f"    half = importlib.import_module('SHOP.deep.' + one.name).half\n{WORK}half(1)\n",
        "deep/__init__.py": "", "deep/two.py": HALF,
    },
    "a class that a pickle names": {
        "nodes.py": f"import pickle\nfrom SHOP.two import Money\n{WORK}pickle.loads(b'cSHOP.two\\nhalf\\n.')(1)\n",
        "two.py": f"class Money:\n    pass\n\n{HALF}",
    },
    "single dispatch": {
        "nodes.py": f"import functools\n\n@functools.singledispatch\ndef half(x):\n    return x\n\n@half.register\n"
        f"def _(x: int):\n    return x / 2\n{WORK}half(1)\n",
    },
    "a type that single dispatch reads": {
        "nodes.py": f"import functools\n\n@functools.singledispatch\ndef half(x):\n    return x\n\n@half.register\n"
        f"def _(x: int):  # 1 / 2\n    return 0\n{WORK}half(1)\n",
        "edit": "x: int|x: float",
    },
    "annotations that code reads": {
        "nodes.py": f"import typing\n\ndef half(x: int):\n    return x\n{WORK}float(typing.get_type_hints(half)['x'] is int)\n",
        "edit": "x: int|x: float",
    },
    "the type that a node returns": {"nodes.py": f"{WORK}1\n", "edit": "-> float|-> int"},
    "a field's type": {
        "nodes.py": "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Money:\n    rate: float\n\n"
        "def work() -> Money:\n    return Money(1)\n",
        "edit": "rate: float|rate: int",
    },
    "a metaclass": {
        "nodes.py": f"from SHOP.one import Base\n{WORK}Base.half(1)\n",
        "one.py": "class Meta(type):\n    def half(cls, x):\n        return x / 2\n\nclass Base(metaclass=Meta):\n    pass\n",
    },
    "a descriptor that is told its name": {
        "nodes.py": f"from SHOP.one import KNOWN, Base\n{WORK}KNOWN[0](1)\n",
        "one.py": f"KNOWN = []\n\n{HALF}\nclass Mark:\n    def __set_name__(self, owner, name):\n        KNOWN.append(half)\n\n"
        "class Base:\n    mark = Mark()\n",
    },
    "an order of statements that act": {
        "nodes.py": f"from SHOP.one import KNOWN\n{WORK}KNOWN[-1]\n",
        "one.py": "KNOWN = []\nKNOWN.append(1)\nKNOWN.append(2)\n",
        "edit": "KNOWN.append(1)\nKNOWN.append(2)|KNOWN.append(2)\nKNOWN.append(1)",
    },
    "a local that a text names": {
        "nodes.py": "import pandas as pd\n\nlimit = 1\n\ndef work() -> float:\n    limit = 2\n    return pd.eval('@limit')\n",
        "edit": "    limit = 2|    bound = 2",
    },
    # what is no source text of UTF-8
    "a source in latin-1": {
        "nodes.py": f"from SHOP.two import half\n{WORK}half(1)\n", "two.py": f"# coding: latin-1\n# é\n{HALF}",
    },
    "a source with a byte-order mark": {"nodes.py": f"from SHOP.two import half\n{WORK}half(1)\n", "two.py": f"\ufeff{HALF}"},
    "bytecode without a source": {"nodes.py": f"from SHOP.two import half\n{WORK}half(1)\n", "two.pyc": HALF},
    "bytecode that imports": {
        "nodes.py": f"from SHOP.one import half\n{WORK}half(1)\n", "one.pyc": "from SHOP.two import half\n", "two.pyc": HALF,
    },
    "T07 b, an extension in the package": {
        "nodes.py": "def work() -> float:\n    from SHOP import fastk\n    return fastk.value()\n", "fastk.so": "ELF / 2",
    },
    "T07 a, an extension beside the module": {
        "nodes.py": "def work() -> float:\n    import SHOP_fastk\n    return SHOP_fastk.value()\n",
        "../SHOP_fastk.so": "ELF / 2",
    },
    "an extension that only a name reaches": {
        "nodes.py": "def work() -> float:\n    import SHOP.fastk as f\n    return f.value()\n",
        "fastk.cpython-311-x86_64-linux-gnu.so": "ELF / 2", "fastk.abi3.so": "ELF / 2",
    },
    "a library of ctypes": {
        "nodes.py": "import ctypes\nfrom pathlib import Path\n\ndef work() -> float:\n"
        "    return ctypes.CDLL(str(Path(__file__).with_name('libfast.so'))).value()\n",
        "libfast.so": "ELF / 2",
    },
    "code that is run from its file": {
        "nodes.py": f"import runpy\nfrom pathlib import Path\n"
        f"{WORK}runpy.run_path(Path(__file__).parent / 'two.txt')['half'](1)\n",
        "two.txt": HALF,
    },
    # data files
    "T07 c, a file read at import": {
        "nodes.py": "import json\nfrom pathlib import Path\n\n"
        f"SCALE = json.loads(Path(__file__).with_name('params.json').read_text())['scale']\n{WORK}1 / SCALE\n",
        "params.json": PARAMS, "edit": '"scale": 2|"scale": 3',
    },
    "a file in a folder beside": {
        "nodes.py": "import json\nimport os\n\nHERE = os.path.dirname(__file__)\n"
        "with open(os.path.join(HERE, 'data', 'params.json')) as stream:\n    SCALE = json.load(stream)['scale']\n"
        f"{WORK}1 / SCALE\n",
        "data/params.json": PARAMS, "edit": '"scale": 2|"scale": 3',
    },
    "a file above": {
        "nodes.py": f"from SHOP.deep.two import SCALE\n{WORK}1 / SCALE\n",
        "data/params.json": PARAMS, "edit": '"scale": 2|"scale": 3',
        "deep/__init__.py": "",
        "deep/two.py": "import json\nfrom pathlib import Path\n\n"
        "SCALE = json.loads((Path(__file__).parents[1] / 'data/params.json').read_text())['scale']\n",
    },
    "files by a pattern": {
        "nodes.py": "import json\nfrom pathlib import Path\n\n"
        f"SCALE = [json.loads(one.read_text()) for one in Path(__file__).parent.glob('*.json')]\n{WORK}1 / SCALE[0]['scale']\n",
        "params.json": PARAMS, "edit": '"scale": 2|"scale": 3',
    },
    "a resource of the package": {
        "nodes.py": "import json\nfrom importlib import resources\n\ndef work() -> float:\n"
        "    return json.loads((resources.files('SHOP') / 'params.json').read_text())['scale']\n",
        "params.json": PARAMS, "edit": '"scale": 2|"scale": 3',
    },
    "a folder where another distribution is installed": {
        "nodes.py": f"from SHOP_tools import half\n{WORK}half(1)\n", "../SHOP_tools.py": HALF,
        "../other-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n",
    },
}  # fmt: skip


def key_of(shop: Shop, files: dict[str, str], old: str = "", new: str = "") -> str:
    shop.write({"flow.py": FLOW + TABLE} | {name: text.replace(old, new) for name, text in files.items()})
    return shop.graph()["work"].key


@pytest.mark.parametrize("how", sorted(CHANGED))
def test_t07_what_changes_a_result_changes_the_key(shop, how):
    files = dict(CHANGED[how])
    old, new = files.pop("edit", "/ 2|/ 3").split("|")
    assert any(old in text for text in files.values())
    assert key_of(shop, files) != key_of(shop, files, old, new)


WRAPS = (
    "import functools\n\ndef base() -> float:\n    return 1.0\n\ndef wrap(f, by=2):\n    @functools.wraps(f)\n"
    "    def inner() -> float:\n        return f() / by\n    return inner\n"
)
REFUSED = {
    "a function wrapped in another module": ("from SHOP.one import base, wrap\nwork = wrap(base)\n", WRAPS),
    "a function wrapped twice with other values": (
        "from SHOP.one import base, wrap\nwork = wrap(base, 3)\nother = wrap(base, 4)\n", WRAPS,
    ),
    "a function made by another, without a variable of its": (
        "from SHOP.one import make\nwork = make(2)\n",
        "def make(by):\n    def inner(by: float = by) -> float:\n        return by\n    return inner\n",
    ),
    "a function made by another, with a variable of its": (
        "from SHOP.one import make\nwork = make(2)\n",
        "def make(by):\n    def inner() -> float:\n        return by\n    return inner\n",
    ),
    "a copy with other defaults": (
        "import types\nfrom SHOP.one import base\nwork = types.FunctionType(base.__code__, base.__globals__, 'base', (3,))\n"
        "work.__annotations__, work.__qualname__, work.__module__ = {'x': float, 'return': float}, 'base', base.__module__\n",
        "def base(x: float = 2) -> float:\n    return x\n",
    ),
    "a function replaced in its module by another of its name": (
        "from SHOP import one\nwork = one.base\none.base = lambda: 2\n", WRAPS,
    ),
    "a partial": ("import functools\nfrom SHOP.one import base\nwork = functools.partial(base)\n", WRAPS),
    "a method that is bound": (
        "from SHOP.one import A\nwork = A().m\n", "class A:\n    def m(self) -> float:\n        return 1\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", sorted(REFUSED))
def test_what_holds_values_that_no_source_tells_is_refused_by_name(shop, how):
    nodes, one = REFUSED[how]
    with pytest.raises(GraphError, match=r"node work: .*(with def in a module|define a function in a module).* parameters"):
        key_of(shop, {"nodes.py": nodes, "one.py": one})


def test_a_wrapper_that_its_module_holds_is_a_node_and_its_arguments_count(shop):
    files = {"nodes.py": "from SHOP.one import scaled\n\n@scaled(2)\ndef work() -> float:\n    return 1.0\n", "one.py": (
        "import functools\n\ndef scaled(by):\n    def wrap(f):\n        @functools.wraps(f)\n        def inner():\n"
        "            return f() / by\n        return inner\n    return wrap\n"
    )}  # fmt: skip
    first = key_of(shop, files)
    assert len({first, key_of(shop, files, "scaled(2)", "scaled(3)"), key_of(shop, files, "f() / by", "f() * by")}) == 3


ALIKE = {
    "nodes.py": '"""Nodes."""\nimport os\nfrom SHOP.one import half\n\ndef work() -> float:\n    total = 0.0\n'
    "    for row in [1, 2]:\n        part: float = half(row)\n        total += part\n    return total\n",
    "one.py": "def half(x: float, y: int = 0) -> float:\n    return x / 2\n\n\ndef beside(x):\n    return x\n",
    "flow.py": f"{FLOW}\n\ndef rows():\n    found = []\n    found.append(Node('work', work))\n    return found\n\n\n"
    "def FLOW():\n    nodes = rows()\n    return Flow((*nodes,))\n",
}
NEUTRAL = {
    "a comment": ("nodes.py", "return total", "return total  # money"),
    "a docstring": ("nodes.py", '"""Nodes."""', '"""The nodes."""'),
    "layout": ("nodes.py", "half(row)", "half(\n            row\n        )"),
    "a local": ("nodes.py", "total", "sum_of_all"),
    "a loop's variable": ("nodes.py", "row", "line"),
    "a helper's annotation": ("one.py", "x: float", "x: 'float'"),
    "what a helper says it returns": ("one.py", " -> float", ""),
    "a local's annotation": ("nodes.py", "part: float =", "part ="),
    "an unused import": ("nodes.py", "import os\n", "import os\nimport json\n"),
    "an unused import taken away": ("nodes.py", "import os\n", ""),
    "a function beside it": ("one.py", "    return x\n", "    return x + 1\n"),
    "an encoding that is declared": ("one.py", "def half", "# coding: latin-1\ndef half"),
    "what a script does": ("one.py", "def beside", "if __name__ == '__main__':\n    print(1)\n\n\ndef beside"),
    "a flow's function that only makes its table": ("flow.py", "nodes = rows()\n", "nodes = rows()\n    size = len(nodes)\n"),
    "an option of a node": ("flow.py", "Node('work', work)", "Node('work', work, timeout_s=3.0)"),
}  # fmt: skip


@pytest.mark.parametrize("how", sorted(NEUTRAL))
def test_what_changes_no_result_changes_no_key(shop, how):
    name, old, new = NEUTRAL[how]
    assert old in ALIKE[name]
    before = key_of(shop, ALIKE)
    assert key_of(shop, {**ALIKE, name: ALIKE[name].replace(old, new)}) == before


@pytest.mark.parametrize(("old", "new"), [("total += part", "total += row"), ("half(row)", "half(total)"), ("= 0.0", "= 1.0")])
def test_locals_have_numbers_not_one_name(shop, old, new):
    assert key_of(shop, ALIKE) != key_of(shop, ALIKE, old, new)


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (f"import importlib\n{WORK}importlib.import_module('o' + 's').sep\n", "imports modules by names made at run time"),
        (f"import os\nSIZE = len(os.listdir(os.curdir))\n{WORK}1\n", "reads files when it is imported"),
    ],
)
def test_t07_what_no_key_can_see_is_said(shop, nodes, said):
    shop.write({"nodes.py": nodes, "flow.py": FLOW + TABLE})
    graph = shop.graph()
    (text,) = uncovered(graph.tasks)
    assert text.startswith(f"node work: {shop.name}.nodes") and said in text and "docs/flows.md#content-keys" in text
    shop.write({"nodes.py": f"{WORK}1\n", "flow.py": FLOW + TABLE})
    assert uncovered(shop.graph().tasks) == []
