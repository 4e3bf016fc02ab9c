"""Content keys change when anything that could change an artefact does, and only then."""

import importlib
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pipelines.config.configuration import build, load_settings
from pipelines.graphs.input_files import file_constant, hashed_file
from pipelines.keying.keys import code_digest, code_of, content_key, digest, plain

FORMULA = "from shop.helper import half\n\ndef feature(x):\n    return half(x) + 1\n"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A package of a user's with a node function, the function it calls and a module nobody calls."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "nodes.py").write_text(FORMULA)
    (folder / "helper.py").write_text("def half(x):\n    return x / 2\n")
    (folder / "other.py").write_text("def third(x):\n    return x / 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] == "shop"]:
        del sys.modules[name]  # other tests name a shop.nodes of their own


def feature_of(shop: Path):
    module = importlib.import_module("shop.nodes")
    return module.feature


def rewrite(path: Path, text: str) -> None:
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 1_000_000, before + 1_000_000))


def test_a_changed_formula_makes_a_new_key(shop):
    before = code_digest(feature_of(shop))
    rewrite(shop / "nodes.py", FORMULA.replace("+ 1", "+ 2"))
    assert code_digest(feature_of(shop)) != before


def test_a_changed_helper_in_another_module_makes_a_new_key(shop):
    before = code_digest(feature_of(shop))
    rewrite(shop / "helper.py", "def half(x):\n    return x * 0.5\n")
    assert code_digest(feature_of(shop)) != before


def test_comments_docstrings_layout_and_unused_modules_do_not_change_the_key(shop):
    before = code_digest(feature_of(shop))
    rewrite(shop / "helper.py", '"""Halves."""\n\n\ndef half(x):  # exact\n    """Half."""\n    return (x / 2)\n')
    rewrite(shop / "other.py", "def third(x):\n    return x * 3\n")
    assert code_digest(feature_of(shop)) == before


def test_the_real_feature_formulas_are_in_the_key_of_the_feature_node():
    from kernels.features import market
    from pipelines.steps import feature_days

    modules = {name.partition(":")[0] for name in code_of([feature_days.day_features])}
    own = {path.stem for path in Path(market.__file__).parent.glob("*.py")} - {"__init__", "document", "book_flow"}
    assert {f"kernels.features.{name}" for name in own} <= modules


def test_digest_ignores_the_order_of_keys_but_not_values():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert digest([1, 2]) != digest([2, 1])


@pytest.mark.parametrize("part", ["code", "constants", "inputs", "libraries"])
def test_every_part_reaches_the_key(part):
    parts = {"code": "c", "constants": {"limit": 0.1}, "inputs": {"bars": "k"}, "libraries": {"numpy": "2.4.6"}}
    before = content_key(**parts)
    parts[part] = "d" if part == "code" else {"changed": "x"}
    assert content_key(**parts) != before


def test_keys_are_the_same_in_processes_with_other_hash_seeds():
    script = (
        "from pipelines.keying.keys import code_digest, digest\n"
        "from pipelines.graphs.planning import plan\n"
        "print(code_digest(plan), digest({'b': [1.5, 'x'], 'a': None}))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "12345")
    }
    assert len(answers) == 1


@dataclass(frozen=True)
class Options:
    names: frozenset[str] = frozenset({"a", "b", "c"})
    limits: dict[str, float] = field(default_factory=lambda: {"low": 0.0, "high": 1.0})
    scale: float = 1.0
    folder: Path = Path("csv")


def test_configuration_counts_by_value_whatever_way_it_was_written():
    same = digest(plain(Options()))
    assert digest(plain(Options(names=frozenset({"c", "b", "a"}), limits={"high": 1.0, "low": 0.0}))) == same
    assert digest(plain(build(Options, {"scale": 1, "names": ["b", "a", "c"]}, "options"))) == same
    nan = Options(scale=float("nan"))
    assert digest(plain(nan)) == digest(plain(Options(scale=-float("nan")))) != same
    others = [Options(scale=1.5), Options(names=frozenset("ab")), Options(limits={"low": 0.0}), nan]
    others.append(Options(folder=Path("dbn")))
    assert len({digest(plain(one)) for one in others} | {same}) == 6
    with pytest.raises(TypeError, match="object cannot be part of a content key"):
        plain({"limit": object()})


def test_whole_numbers_for_floats_in_the_configuration_are_the_same_key():
    written = [load_settings([f"capital={text}"]).capital for text in ("100000", "100000.0", "1e5")]
    assert len({digest(plain(value)) for value in written}) == 1


def test_a_file_counts_by_its_bytes_not_by_its_name(tmp_path):
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    for path, text in zip(paths, ("1", "1", "2"), strict=True):
        path.write_text(text)
    files = [hashed_file(path, "test") for path in paths]
    keys = [file_constant(Path, "csv", [one], ("csv",), {"csv": 0}) for one in files]
    assert [path for path, _ in keys] == paths
    assert keys[0][1] == keys[1][1] != keys[2][1]


def test_building_the_graph_of_the_flow_loads_no_heavy_library_and_computes_nothing(small_settings, tmp_path):
    settings = [*small_settings, f"store={tmp_path / 'store'}"]
    script = (
        "import sys\n"
        "from pipelines.config.configuration import load_settings\n"
        "from pipelines.flow import flow_graph\n"
        f"graph = flow_graph(load_settings({settings!r}), [0])\n"
        "heavy = {'torch', 'scipy.stats', 'matplotlib', 'distributed', 'dask', 'pandera', 'databento', 'cupy', 'jinja2'}\n"
        "print(len(graph.tasks), sorted(heavy & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.split(maxsplit=1)[1].strip() == "[]" and int(answer.stdout.split()[0]) > 20
    assert not (tmp_path / "store").exists()
