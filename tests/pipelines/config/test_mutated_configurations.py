"""Over 1,000 mutated configurations: each is exit code 2 with one short line that names the key, never a traceback."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from pipelines.cli import main
from pipelines.config.configuration import CONFIGS
from pipelines.config.yaml_text import read_yaml

LONGEST = 700  # characters of an error; one that lists the metrics has some 500
ANY_KEYS = ("options", "store_options", "grid")  # what lies below has no fixed names
WORDS = ("[[1]]", "{a: 1}", "{a: {b: [1, null]}}", "[{a: 1}]", "[null]", "[[], []]")
NOT_NUMBERS = ("many", "true", "''", "' '", "٣", "'5'", "1_000", "0x10", "1e", "--1", "1,5x", "2024-01-01", "5 bars", "½", "∞")
BEYOND = ("-1", "-.inf", ".nan", "1" + "0" * 400, "-1" + "0" * 30)
LINES = ("a\0b", "two\nlines", "tab\there", "x" * 5000, "\x1b[31mred", "a\ud800")
NOT_TEXT = (*LINES, " spaces ", 5, 0.5, True, None, ["a", "b"], [["a"]], {"a": 1}, 10**400)
YAML = (
    "data: !!python/object/apply:os.system ['true']", "data: !!python/name:os.system", "data: !!binary aGk=", "data: !own x",
    "data: [", "data: {", "data: 'a", "data: a\ndata: b", "data: \tb", "data: *nobody", "a: &a [*a]", "%YAML 9.9\n---\ndata: a",
    "--- a\n--- b", "data: a\n  b: c", "data: \x07", "[1, 2]", "text", "", "null", "12", "data: " + "[" * 3000, "? [a]\n: 1",
    "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
        f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]" for below, name in zip("abcdefgh", "bcdefghi", strict=True)
    ),
    "<<: {data: a}", "1: a", "null: a", "true: a", ".nan: a", "é: a", "data : a\nDATA: b", "daтa: sample",
)  # fmt: skip


def whole() -> dict[str, Any]:
    """The default configuration with its instrument written out."""
    return {**read_yaml(CONFIGS / "default.yaml"), "instrument": read_yaml(CONFIGS / "instruments" / "ES.yaml")}


WHOLE = whole()


def whole_copy() -> dict[str, Any]:
    return copy.deepcopy(WHOLE)


def leaves(tree: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), value


def branches(tree: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, value in tree.items():
        if isinstance(value, dict) and name not in ANY_KEYS:
            yield from branches(value, (*path, name))


def mistyped(name: str, dice: random.Random) -> Iterator[str]:
    at = dice.randrange(1, len(name) - 1)
    yield name[:at] + name[at + 1 :]
    yield name[:at] + name[at] + name[at:]
    yield name[: at - 1] + name[at] + name[at - 1] + name[at + 1 :] if name[at] != name[at - 1] else name + "x"
    yield name.replace("e", "е", 1) if "e" in name else name.capitalize()


def wrong_words(path: tuple[str, ...], value: Any) -> Iterator[str]:
    """What is no value of a key whose default is `value`; on a command line text is text, whatever it looks like."""
    if "grid" in path:
        yield from (*WORDS, *(word for word in NOT_NUMBERS if word != "'5'"), "1:0:1", "1:2:0", "0:1e9:1e-9", "[]")
    elif isinstance(value, str):
        yield from LINES
    elif isinstance(value, bool):
        yield from (*WORDS, *NOT_NUMBERS[:1], *NOT_NUMBERS[2:], "yes", "1", "0", "null")
    elif isinstance(value, int | float):
        yield from (*WORDS, *NOT_NUMBERS, *BEYOND, "null")
    elif not isinstance(value, dict):
        yield from WORDS
    else:
        yield from ("3", "[1]", "many")


def overrides() -> Iterator[tuple[str, str]]:
    """Words of a command line and what their error must name."""
    tree, dice = WHOLE, random.Random(5)
    for path, value in leaves(tree):
        key = ".".join(path)
        if path[0] in ANY_KEYS[:2] or key == "instrument":
            continue
        for name in mistyped(path[-1], dice):
            if len(path) == 1 or path[-2] not in ANY_KEYS:
                yield f"{'.'.join((*path[:-1], name))}=1", name
        for word in wrong_words(path, value):
            yield f"{key}={word}", path[-1]
        yield f"{key}.deeper=1", path[-1]


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["plan", "fold=0", *words])
    return code, capsys.readouterr().err


def wrong_answer(code: int, error: str, named: str) -> str | None:
    """Say what is wrong with how a mutated configuration was refused."""
    if code != 2:
        return f"exit code {code}"
    if "Traceback" in error or error.count("\n") != 1 or len(error) > LONGEST:
        return f"{error.count(chr(10))} lines, {len(error)} characters"
    return None if named in error else f"does not name {named}"


MUTATED = list(overrides())


@pytest.mark.parametrize("part", range(8))
def test_a_mutated_override_is_refused_in_one_line_that_names_it(part, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # reading takes longer than all the rest
    monkeypatch.setattr("pipelines.config.configuration.read_yaml", lambda file: whole_copy())
    wrong = []
    for word, named in MUTATED[part::8]:
        code, error = run([word], capsys)
        if found := wrong_answer(code, error, named):
            wrong.append(f"{word[:80]}: {found}: {error[:200]}")
    assert wrong == []
    assert list(tmp_path.iterdir()) == [], "nothing is written"


def test_text_that_is_none_is_refused_in_a_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = []
    for path, value in leaves(WHOLE):
        for other in NOT_TEXT if isinstance(value, str) and "grid" not in path else ():
            tree = whole_copy()
            place = tree
            for name in path[:-1]:
                place = place[name]
            place[path[-1]] = other
            monkeypatch.setattr("pipelines.config.configuration.read_yaml", lambda file, tree=tree: tree)
            code, error = run([], capsys)
            if found := wrong_answer(code, error, path[-1]):
                wrong.append(f"{'.'.join(path)}: {other!r:.60}: {found}: {error[:200]}")
    assert wrong == []
    assert list(tmp_path.iterdir()) == []


def test_there_are_over_a_thousand():
    assert len({word for word, _ in MUTATED}) > 1000


def test_an_unknown_key_at_every_level_of_a_file_names_the_nearest(capsys, tmp_path):
    path, dice = tmp_path / "mine.yaml", random.Random(6)
    for branch in branches(WHOLE):
        tree = whole_copy()
        place = tree
        for name in branch:
            place = place[name]
        known = next(iter(place), None)
        if known is None:
            continue
        for name in mistyped(known, dice):
            place[name] = 1
            path.write_text(yaml.safe_dump(tree, allow_unicode=True))
            del place[name]
            code, error = run(["--config", str(path)], capsys)
            assert wrong_answer(code, error, ".".join((*branch, name))) is None, error
            assert f"did you mean '{known}'?" in error or name.lower() == name, error


@pytest.mark.parametrize("text", YAML, ids=lambda text: repr(text[:24]))
def test_yaml_that_is_broken_code_or_endless_is_refused(text, capsys, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    code, error = run(["--config", str(path)], capsys)
    assert wrong_answer(code, error, "") is None, error


@pytest.mark.parametrize(
    "raw",
    [b"\xff\xfe\x00d", b"data: \xc3\x28", b"\x00" * 100, b"\x1f\x8b\x08rest", "data: \ud800".encode("utf-8", "surrogatepass")],
)
def test_a_file_that_is_no_text_is_refused(raw, capsys, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(raw)
    code, error = run(["--config", str(path)], capsys)
    assert wrong_answer(code, error, "mine.yaml") is None, error


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["store="], "store"), (["data="], "data"), (["store=~/store"], "store"), (["data=$HOME/x"], "data"),
        (["store=" + "x" * 300], "store"), (["store_cache=~"], "store_cache"),
        (["="], "'='"), (["=5"], "'=5'"), ([".=5"], "'.'"),
        (["sweep..grid=1"], "sweep..grid"), (["sweep.=1"], "sweep."), ([".capital=1"], ".capital"),
        (["options.x=1"], "options"),
        (["options=3"], "options"), (["options=[1]"], "options"), (["instrument.root=../x"], "instrument.root"),
        (["instrument.contract.symbol=''"], "symbol"), (["instrument.contract.multiplier=1e300"], "multiplier"),
        (["instrument.costs.slippage_ticks=1e300"], "slippage_ticks"), (["instrument.bars.tick_size=.inf"], "tick_size"),
        (["instrument.bars.tick_size=1e308"], "tick_size"), (["instrument=../ES"], "instrument"),
        (["instrument="], "instrument"),
        (["workers=100000"], "workers"), (["cluster=tcp://x"], "cluster"), (["cluster=tcp://x:999999"], "cluster"),
        (["store=s3://me:secret@host/x"], "store"), (["store=gopher://x/y"], "store"), (["flow=no.such:thing"], "flow"),
        (["flow="], "flow"), (["store_budget=٣"], "store_budget"), (["load.bars_from_trades=2m"], "bars_from_trades"),
        (["features.include=[]"], "features"), (["exogenous=[{path: x}]"], "exogenous"), (["exogenous=x.csv"], "exogenous"),
        (["instrument.session.timezone=../../etc/passwd"], "timezone"),
        (["instrument.session.timezone=" + "x" * 500], "timezone"),
        (["instrument.session.exceptions={x: y}"], "exceptions"), (["capital=1", "capital="], "capital"),
    ],
)  # fmt: skip
def test_values_that_no_run_can_use_are_refused(words, named, capsys, small_sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, error = run([f"data={small_sample}", *words] if not words[0].startswith("data") else words, capsys)
    assert wrong_answer(code, error, named) is None, error
    assert list(tmp_path.iterdir()) == []
