"""CUDA text without a GPU: NVRTC compiles it without fma, a C++ compiler runs it with numpy's bits, golden files pin it."""

import functools
import hashlib
import os
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import numpy_executor, windows
from kernels.cuda_modules import OPTIONS
from kernels.cuda_text import Shape, cuda_text, records
from kernels.device_windows import doubling
from kernels.execution import Execution, Instrument
from kernels.executor import host
from kernels.expressions import col, param
from kernels.hoisting import hoist
from kernels.metrics import METRICS, reads
from kernels.opcodes import BOOL, F64, OPCODES
from kernels.program import Instruction, Output, Program, State
from kernels.rows import distinct
from kernels.sinking import Branch, schedule
from kernels.specialise import quiet
from kernels.strategy import Strategy
from kernels.trace import trace
from tests.kernels.host_shim import run_text
from tests.kernels.nvrtc import Nvrtc, library_path
from tests.kernels.paths import minutes, run
from tests.kernels.programs import EXPRESSIONS, SPECIAL, inputs_of, special_program
from tests.kernels.shipped import CASES, WRITTEN_OUT


@pytest.fixture(scope="module")
def nvrtc():
    path = library_path()
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("nvidia-cuda-nvrtc is not installed, and CI=true: every CUDA text must compile")
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")
    return Nvrtc(path)


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_text_compiles_and_has_no_fma(case, precision, nvrtc):
    ptx, cubin = nvrtc.compile(cuda_text(case.program(), precision), OPTIONS)
    assert ".entry run" in ptx and cubin[:4] == b"\x7fELF"
    assert "fma." not in ptx
    assert (".f64" in ptx) == (precision == "fp64")


def test_every_opcode_compiles(nvrtc):
    ptx, _ = nvrtc.compile(cuda_text(special_program()[0].program), OPTIONS)
    assert "fma." not in ptx and "div.rn.f64" in ptx and "sqrt.rn.f64" in ptx


def test_without_the_option_nvrtc_would_contract(nvrtc):
    # what the test above would miss if the option stopped working: the text itself does not forbid fma
    ptx, _ = nvrtc.compile(cuda_text(CASES[0].program()), ("--std=c++17",))
    assert "fma.rn.f64" in ptx


def test_special_values_of_the_text_equal_numpy(shim_folder, same_bits):
    hoisted, inputs, start = special_program()
    expected = numpy_executor.run(hoisted.program, inputs, 0, len(SPECIAL), start)
    found = run_text(shim_folder, hoisted.program, inputs, 0, len(SPECIAL), start)
    for place, output in enumerate(hoisted.program.outputs):
        assert same_bits(found.outputs[place], expected.outputs[place]), output.name
    assert same_bits(found.states, expected.states)


@settings(max_examples=2, deadline=None, derandomize=True)
@given(expressions=st.lists(EXPRESSIONS, min_size=12, max_size=12), seed=st.integers(0, 1000))
def test_random_expressions_of_the_text_equal_numpy(shim_folder, same_bits, expressions, seed):
    draw = np.random.default_rng(seed)
    columns = {"x": draw.normal(0, 1, 60), "y": draw.choice([*SPECIAL, 3.0, 7.0], 60)}
    columns["x"][draw.choice(60, 5)] = np.nan
    lanes = {"p": draw.choice(SPECIAL, 70), "q": draw.normal(0, 2, 70), "n": draw.integers(2, 6, 70).astype(float)}
    outputs = {f"o{place}": expression for place, expression in enumerate(expressions)}
    hoisted = hoist(trace(lambda states: ({"s": expressions[0]}, outputs), {"s": 0.5}))
    inputs = inputs_of(hoisted, columns, lanes, 70)
    start = np.full((len(hoisted.program.states), 70), 0.5)
    expected = numpy_executor.run(hoisted.program, inputs, 8, 60, start)
    found = run_text(shim_folder, hoisted.program, inputs, 8, 60, start)
    assert same_bits(found.outputs, expected.outputs) and same_bits(found.states, expected.states)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_strategies_of_the_text_equal_numpy(case, shim_folder, same_bits):
    result = case.run()
    execute = functools.partial(run_text, shim_folder)
    plan = replace(result._plan, execute=execute, device=host(execute))
    states = sorted(reads(case.metrics))
    lanes, count = result._lanes, len(result.table)
    found, expected = (p.totals(states, lanes, count)[0].states for p in (plan, result._plan))
    for name in states:
        assert same_bits(found[name], expected[name]), name


def test_single_precision_stays_near(shim_folder):
    case = CASES[-1]
    result = case.run()
    execute = functools.partial(run_text, shim_folder, precision="fp32")
    plan = replace(result._plan, execute=execute, device=host(numpy_executor.run))
    found, expected = (p.totals(["return_sum"], result._lanes, len(result.table)) for p in (plan, result._plan))
    near, exact = found[0]["return_sum"], expected[0]["return_sum"]
    assert np.allclose(near, exact, rtol=1e-3, atol=1e-5) and not np.array_equal(near, exact)


@pytest.mark.parametrize("case", [case for case in CASES if case.name in WRITTEN_OUT], ids=lambda case: case.name)
def test_texts_equal_their_golden_files(case, expect_golden):
    program = case.program()
    expect_golden(f"{case.name}.program.txt", f"{program}\n")
    expect_golden(f"{case.name}.cu", cuda_text(program))


def test_metrics_equal_their_golden_digests(shim_folder, expect_golden):
    """All metrics of the cases, but for those that need a library's power: fp64 on numpy, fp32 by the text."""
    lines = []
    for case in CASES:
        result = case.run()
        kept = result.table.drop(columns=["cagr", "calmar"], errors="ignore")
        states = sorted(reads(case.metrics))
        execute = functools.partial(run_text, shim_folder, precision="fp32")
        plan = replace(result._plan, execute=execute)
        totals = plan.totals(states, result._lanes, len(result.table))[0].states
        single = np.stack([totals[name] for name in states])
        digests = [
            hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest()[:16] for x in (kept.to_numpy(), single)
        ]
        lines.append(f"{case.name} fp64 {digests[0]} fp32 {digests[1]}")
    expect_golden("digests.txt", "\n".join(lines) + "\n")


def test_constants_are_exact_and_settings_are_read_once():
    program = Program(
        (
            Instruction("constant", (), F64, 0.1),
            Instruction("constant", (), F64, -0.0),
            Instruction("constant", (), F64, float("-inf")),
            Instruction("row", (), F64, 0),
            Instruction("row", (), F64, 1),
            Instruction("add", (3, 4), F64),
        ),
        (State("s", 0.0, 5),),
        (Output("a", 0), Output("b", 1), Output("c", 2)),
        settings=(0,),
    ).check()
    text = cuda_text(program)
    assert "0x1.999999999999ap-4;" in text and "-0x0.0p+0;" in text and "-__longlong_as_double(0x7ff0" in text
    assert "0x1.99999a0000000p-4f;" in cuda_text(program, "fp32")  # rounded to float here, not by a compiler
    loop = text.index("for (int t")
    assert text.index("const real setting0") < loop < text.index("v3 = setting0;")
    assert records(program).varying == (1,) and records(program).settings == (0,) and records(program).width == 2


def test_a_text_depends_on_the_shape_it_is_printed_for():
    program = CASES[0].program()
    assert "__launch_bounds__(256, 3)" in cuda_text(program, shape=Shape(256, 3, 4))
    assert "#pragma unroll 4" in cuda_text(program, shape=Shape(256, 3, 4))


def sinkable() -> Program:
    # %4 = a > b; the division and what follows from it matter only there
    return Program(
        (
            Instruction("state", (), F64, "a"),
            Instruction("lane", (), F64, 0),
            Instruction("gt", (0, 1), BOOL),
            Instruction("div", (0, 1), F64),
            Instruction("sqrt", (3,), F64),
            Instruction("gt", (4, 1), BOOL),
            Instruction("and", (2, 5), BOOL),
            Instruction("select", (6, 4, 0), F64),
            Instruction("select", (2, 7, 1), F64),
            Instruction("add", (7, 8), F64),
        ),
        (State("a", 0.0, 9),),
    ).check()


def test_what_one_condition_needs_alone_is_sunk():
    branch = next(part for part in schedule(sinkable()) if isinstance(part, Branch))
    assert branch.condition == 2 and branch.body == (3, 4, 5, 6, 7, 8)
    assert branch.members == (6, 7, 8) and branch.local == {6}
    text = cuda_text(sinkable())
    assert "real v7 = v0;" in text and "real v8 = v1;" in text and "if (v2) {" in text and "const bool v6" in text


@settings(max_examples=60, deadline=None, derandomize=True)
@given(expressions=st.lists(EXPRESSIONS, min_size=3, max_size=6))
def test_a_schedule_defines_everything_once_and_before_its_use(expressions):
    outputs = {f"o{place}": expression for place, expression in enumerate(expressions)}
    program = hoist(trace(lambda states: ({"s": states["s"] * 2.0}, outputs), {"s": 0.5})).program
    assert_each_is_defined_once(program)


def assert_each_is_defined_once(program):
    defined: list[int] = []
    for part in schedule(program):
        for register in part.body if isinstance(part, Branch) else (part,):
            assert set(program.instructions[register].operands) <= set(defined)
            defined.append(register)
        if isinstance(part, Branch):
            assert part.condition in defined and part.condition not in part.body
            assert all(OPCODES[program.instructions[r].op].arity for r in part.body)
    assert sorted(defined) == list(range(len(program.instructions)))


def test_branches_do_not_share_instructions():
    """Swept stop and target, a roll, levels at ticks: two branches held the new level, and the text did not compile."""
    target = [1.0, 1.0, -1.0, -1.0, 0.0, 1.0]
    roll = {"old_price": [np.nan, np.nan, 101.0, np.nan, np.nan, np.nan], "contract": [1, 1, 2, 2, 2, 2]}
    bars = minutes([100.0] * 6, [100.0] * 6, target, session=[20240102] * 3 + [20240103] * 3, **roll)
    strategy = Strategy("r", col("target"), stop_loss=param("p") * 2.0, take_profit=param("p"))
    given = {"grid": {"p": [0.01]}, "returns": "session", "metrics": tuple(METRICS)}
    instrument, execution = Instrument("X", 0.01, 50.0), Execution("next_close", contracts=7)
    for program in run(bars, strategy, instrument=instrument, execution=execution, **given).programs:
        assert_each_is_defined_once(program.program)
        assert_each_is_defined_once(quiet(program.program))


@pytest.mark.parametrize("spans", [[1], [2, 3, 7, 8, 64, 100], list(range(2, 40)), [300]])
def test_all_windows_at_once_equal_one_after_another(spans, same_bits, monkeypatch):
    draw = np.random.default_rng(3)
    x = np.cumsum(draw.normal(0, 1, 150)) + 1e6
    x[[20, 21, 90]] = np.nan
    monkeypatch.setattr("kernels.device_windows.ELEMENTS", 2_000)  # several batches
    nothing = np.where(np.isnan(x), np.nan, 0.0)
    for blocks, join in (((x,), lambda a, _, b, __: (a[0] + b[0],)), ((x, nothing, nothing), windows.join_moments)):
        with np.errstate(all="ignore"):
            found = doubling(blocks, spans, join)
            expected = windows.doubled(blocks, spans, join)
        for one, other in zip(found, expected, strict=True):
            assert all(
                same_bits(np.where(np.isnan(a), np.nan, a), np.where(np.isnan(b), np.nan, b))
                for a, b in zip(one, other, strict=True)
            )


def test_distinct_values_by_hash_equal_those_by_sorting():
    draw = np.random.default_rng(1)
    column = draw.choice([3.0, -1.5, 0.0, 7.25], 50)
    values, index = distinct(["p"], {"p": column})
    assert np.array_equal(values[:, 0], np.unique(column)) and np.array_equal(values[index, 0], column)


def test_a_text_names_nothing_of_the_data():
    texts = {cuda_text(replace(CASES[0], costs=CASES[0].costs).program()) for _ in range(2)}
    assert len(texts) == 1 and not re.search(r"adj_close|TEST", texts.pop())
