"""Programs: grammar, tracing, hoisting, specialisation; and numpy against cpu, op by op, on bits."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import numpy_executor
from kernels import program_cache as cache_module
from kernels.canonical_nan import canonical
from kernels.cpu_executor import CacheError, CpuExecutor, default_cache, write_source
from kernels.expressions import col, param, prev
from kernels.hoisting import hoist
from kernels.indicators import ema, sma
from kernels.numba_text import numba_text
from kernels.opcodes import BOOL, F64, OPCODES
from kernels.program import Instruction, Output, Program, ProgramError, State
from kernels.program_inputs import Input, read
from kernels.specialise import quiet
from kernels.trace import TraceError, pruned, trace
from kernels.values import Value, exponent, scale, where
from tests.kernels.programs import EXPRESSIONS, SPECIAL, inputs_of, special_program


@pytest.mark.parametrize("name", OPCODES)
def test_every_opcode_is_documented_and_has_its_texts(name):
    row = OPCODES[name]
    assert row.doc and row.nan and row.result in (F64, BOOL) and set(row.operands) <= {F64, BOOL}
    for text in (row.numba, row.cuda):
        assert text.format(*(f"v{place}" for place in range(row.arity))).count("v") >= row.arity
    assert row.slots >= 0


def test_special_values_on_cpu_equal_numpy(program_cache, same_bits):
    hoisted, inputs, start = special_program()  # every operation over every pair of special values: one program
    expected = numpy_executor.run(hoisted.program, inputs, 0, len(SPECIAL), start)
    found = CpuExecutor(2, program_cache).run(hoisted.program, inputs, 0, len(SPECIAL), start)
    for place, output in enumerate(hoisted.program.outputs):
        assert same_bits(found.outputs[place], expected.outputs[place]), output.name
    assert same_bits(found.states, expected.states)


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("minimum", (np.nan, 1.0), np.nan),
        ("minimum", (1.0, np.nan), np.nan),
        ("minimum", (0.0, -0.0), -0.0),
        ("minimum", (-0.0, 0.0), 0.0),
        ("maximum", (np.nan, 1.0), np.nan),
        ("maximum", (-0.0, 0.0), 0.0),
        ("maximum", (2.0, 1.0), 2.0),
        ("div", (1.0, -0.0), -np.inf),
        ("div", (0.0, 0.0), np.nan),
        ("sqrt", (-1.0,), np.nan),
        ("sqrt", (-0.0,), -0.0),
        ("neg", (0.0,), -0.0),
        ("floor", (-0.5,), -1.0),
        ("trunc", (-0.5,), -0.0),
        ("select", (False, np.nan, 2.0), 2.0),
        ("mul", (0.0, np.inf), np.nan),
        ("mul", (5e-324, 0.5), 0.0),
    ],
)
def test_definitions_by_hand(name, operands, expected, same_bits):
    with np.errstate(all="ignore"):
        found = np.array([OPCODES[name].numpy(*map(np.asarray, operands))], dtype=float)
    assert same_bits(canonical(found), [expected])  # the bits of a NaN are no part of the definition


@settings(max_examples=2, deadline=None, derandomize=True)
@given(expressions=st.lists(EXPRESSIONS, min_size=12, max_size=12), seed=st.integers(0, 1000))
def test_random_expressions_on_cpu_equal_numpy(program_cache, same_bits, expressions, seed):
    draw = np.random.default_rng(seed)
    columns = {"x": draw.normal(0, 1, 60), "y": draw.choice([*SPECIAL, 3.0, 7.0], 60)}
    columns["x"][draw.choice(60, 5)] = np.nan
    lanes = {"p": draw.choice(SPECIAL, 70), "q": draw.normal(0, 2, 70), "n": draw.integers(2, 6, 70).astype(float)}
    outputs = {f"o{place}": expression for place, expression in enumerate(expressions)}
    hoisted = hoist(trace(lambda states: ({"s": expressions[0]}, outputs), {"s": 0.5}))
    inputs = inputs_of(hoisted, columns, lanes, 70)
    start = np.full((len(hoisted.program.states), 70), 0.5)
    expected = numpy_executor.run(hoisted.program, inputs, 8, 60, start)
    found = CpuExecutor(2, program_cache).run(hoisted.program, inputs, 8, 60, start)
    assert same_bits(found.outputs, expected.outputs) and same_bits(found.states, expected.states)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(expressions=st.lists(EXPRESSIONS, min_size=3, max_size=3), seed=st.integers(0, 1000))
def test_a_quiet_program_has_the_same_values_without_events(same_bits, expressions, seed):
    draw = np.random.default_rng(seed)
    columns = {"x": draw.normal(0, 1, 20), "y": draw.normal(0, 1, 20), Input.MASKED: np.zeros(20, dtype=bool)}
    lanes = {"p": draw.normal(0, 1, 3), "q": draw.normal(0, 2, 3), "n": draw.integers(2, 6, 3).astype(float)}
    rare = read(Input.MASKED)
    a, b, c = expressions
    outputs = {"o": where(rare & (a > b), c, where(~rare | (b > c), a, b)), "p": where(rare | (a > b), a, c)}
    hoisted = hoist(trace(lambda states: ({"s": where(rare, a, states["s"] + 1.0)}, outputs), {"s": 0.0}))
    inputs = inputs_of(hoisted, columns, lanes, 3)
    short = quiet(hoisted.program)
    assert not any(item.op == "row" and item.detail in hoisted.program.events for item in short.instructions)
    start = np.zeros((1, 3))
    full, brief = (numpy_executor.run(program, inputs, 8, 20, start) for program in (hoisted.program, short))
    assert same_bits(full.outputs, brief.outputs) and same_bits(full.states, brief.states)


def test_each_value_goes_where_it_is_computed_least_often():
    close, n = col("close"), param("n")
    shared = (close - sma(close, 5)) / 2.0
    body = where(ema(close, n) > prev(ema(close, n)), shared * (n * 2.0), Value("state", (), F64, "s"))
    hoisted = hoist(trace(lambda states: ({"s": body}, {}), {"s": 0.0}))
    assert [repr(node) for node in hoisted.rows] == ["((col('close') - sma(col('close'), 5.0)) / 2.0)"]
    assert [repr(node) for node in hoisted.families] == [
        "ema(col('close'), param('n'))"
    ]  # two uses and a lag: one family
    assert [repr(node) for node in hoisted.lanes] == ["(param('n') * 2.0)"]
    assert str(hoisted.program) == (
        "%0: f64 = family 0\n%1: f64 = family 0 lag 1\n%2: bool = gt %0 %1\n%3: f64 = row 0\n%4: f64 = lane 0\n"
        "%5: f64 = mul %3 %4\n%6: f64 = state s\n%7: f64 = select %2 %5 %6\nstate s = 0.0 → %7"
    )


def test_zeros_of_both_signs_stay_apart():
    hoisted = hoist(trace(lambda states: ({"s": where(states["s"] > 1, 0.0, -0.0)}, {}), {"s": 0.0}))
    assert [item.detail for item in hoisted.program.instructions if item.op == "constant"] == [1.0, 0.0, -0.0]


def test_a_state_that_never_changes_is_a_constant():
    def step(states):
        return {"fixed": states["fixed"], "s": states["s"] + states["fixed"]}, {}

    graph = trace(step, {"fixed": 2.0, "s": 0.0})
    assert graph.constants == {"fixed": 2.0} and list(graph.initial) == ["s"]
    assert repr(graph.following["s"]) == "(state('s') + 2.0)"


def test_pruning_keeps_what_wanted_states_depend_on():
    def step(states):
        a, b, c = (states[name] for name in "abc")
        return {"a": a + 1.0, "b": a + b, "c": c + b}, {}

    graph = trace(step, dict.fromkeys("abc", 0.0))
    assert list(pruned(graph, frozenset("b")).initial) == ["a", "b"]
    assert list(pruned(graph, frozenset()).initial) == []


def test_a_step_must_return_its_states():
    with pytest.raises(TraceError, match="these differ: a, b"):
        trace(lambda states: ({"b": states["a"]}, {}), {"a": 0.0})


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (Program((Instruction("add", (0, 1), F64),), ()), "an operand is not defined before its use"),
        (Program((Instruction("pow", (), F64),), ()), "unknown opcode"),
        (
            Program((Instruction("lane", (), F64, 0), Instruction("not", (0,), BOOL)), ()),
            r"types \('f64',\) → bool, but not takes",
        ),
        (Program((Instruction("state", (), F64, "x"),), ()), "no such state"),
        (Program((Instruction("lane", (), F64, 0),), (State("s", 0.0, 0), State("s", 0.0, 0))), "defined twice"),
        (Program((Instruction("lane", (), F64, 0),), (State("s", 0.0, 3),)), "register %3 does not exist"),
        (Program((Instruction("lane", (), BOOL, 0),), (), (Output("o", 0),)), "states and outputs are f64"),
        (Program((Instruction("lane", (0,), F64, 0),), ()), "a source takes no operands"),
    ],
)
def test_a_program_that_breaks_the_grammar_is_refused(program, message):
    with pytest.raises(ProgramError, match=message):
        program.check()


def test_a_run_cut_in_two_equals_one_run(same_bits):
    hoisted = hoist(trace(lambda s: ({"a": s["a"] * 0.9 + col("x") * param("p")}, {"o": s["a"]}), {"a": 1.0}))
    inputs = inputs_of(hoisted, {"x": np.arange(30.0)}, {"p": np.array([0.1, 0.7])}, 2)
    start = np.ones((1, 2))
    whole = numpy_executor.run(hoisted.program, inputs, 0, 30, start)
    first = numpy_executor.run(hoisted.program, inputs, 0, 11, start)
    second = numpy_executor.run(hoisted.program, inputs, 11, 30, first.states)
    assert same_bits(second.states, whole.states)
    assert same_bits(np.concatenate([first.outputs, second.outputs], axis=1), whole.outputs)


def test_the_printed_text_has_no_constants_of_a_sweep():
    # parameters are arrays: another grid prints the same text
    def text(scale):
        hoisted = hoist(trace(lambda s: ({"a": s["a"] + col("x") * param("p")}, {}), {"a": scale}))
        return numba_text(hoisted.program, 64)

    assert text(1.0) == text(2.0)


def test_source_files_are_written_once(tmp_path):
    first = write_source(tmp_path / "new", "abc", "x = 1\n")
    stamp = first.stat()
    second = write_source(tmp_path / "new", "abc", "x = 1\n")
    assert first == second and first.read_text() == "x = 1\n" and second.stat().st_mtime_ns == stamp.st_mtime_ns
    assert [path.name for path in first.parent.iterdir()] == ["program_abc.py"]  # no temporary file is left


def test_t01_a_file_that_holds_another_text_is_not_run(tmp_path):
    write_source(tmp_path, "abc", "x = 2\n")  # as of a disk that lost what was written last
    assert write_source(tmp_path, "abc", "x = 1\n").read_text() == "x = 1\n"


def test_t01_a_program_holds_all_its_code(tmp_path):
    # Machine code of a program is found by its text: what the text imports has a version that is in the digest too.
    text = numba_text(hoist(trace(lambda s: ({"a": exponent(scale(s["a"], 2.0))}, {}), {"a": 0.0})).program, 64)
    tree = ast.parse(text)
    assert {name.partition(".")[0] for name in imported(tree)} == {"numba", "numpy"}
    assert "def exponent(" in text and "def scale(" in text


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_programs_used_longest_ago_make_room_with_their_machine_code(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_module, "MOST_PROGRAMS", 2)
    for digest in ("a", "b", "a", "c"):
        source = write_source(tmp_path, digest, "x = 1\n")
        (tmp_path / "__pycache__").mkdir(exist_ok=True)
        (tmp_path / "__pycache__" / f"{source.stem}.run-0.nbc").touch()
    assert sorted(path.name for path in tmp_path.rglob("program_*")) == [
        "program_a.py", "program_a.run-0.nbc", "program_c.py", "program_c.run-0.nbc",
    ]  # fmt: skip


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match=r"file/programs: compiled programs cannot be stored .* pass cache="):
        write_source(tmp_path / "file" / "programs", "abc", "x = 1\n")


def test_another_process_finds_the_compiled_program(tmp_path):
    script = (
        "import numpy as np, sys; from pathlib import Path\n"
        "from kernels.cpu_executor import CpuExecutor; from kernels.executor import Inputs\n"
        "from kernels.hoisting import hoist; from kernels.trace import trace\n"
        "p = hoist(trace(lambda s: ({'a': s['a'] + 1.0}, {}), {'a': 0.0})).program\n"
        "i = Inputs(np.empty((9, 0)), (), np.empty((0, 2), np.int64), np.empty((0, 2)), np.zeros(9, bool))\n"
        "print(CpuExecutor(1, Path(sys.argv[1])).run(p, i, 0, 9, np.zeros((1, 2))).states.tolist())\n"
    )
    repository = Path(__file__).resolve().parents[2]
    made = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], cwd=repository, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "[[9.0, 9.0]]"
        made.append({path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()})
    assert made[0] == made[1] and any(name.endswith(".nbc") for name in made[0])  # machine code, written once


def test_the_default_cache_is_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert default_cache() == tmp_path / "walkfold" / "programs"
