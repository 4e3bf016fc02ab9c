"""The cuda executor on a GPU: the other executors' bits, in chunks, windows and mixed precision; spills are a fault."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import numpy_executor
from kernels.calibration import Calibration, measure, this_machine
from kernels.cuda_executor import CudaExecutor, DeviceMemoryError
from kernels.cuda_modules import CudaCompileError, Modules
from kernels.execution import Costs
from kernels.fallback import cuda_refusal
from kernels.hoisting import hoist
from kernels.metrics import METRICS
from kernels.trace import trace
from tests.kernels.programs import EXPRESSIONS, SPECIAL, inputs_of, special_program
from tests.kernels.shipped import CASES, CONTRACT, GRIDS, same_tables, sma_band

SPILLS = {
    "sma_band_all_by_bar": "16 bytes of its tallies make room for a fifth block: 124 instead of 111 G bar-steps/s",
    "donchian_breakout_rolls": "24 bytes of its tallies make room for a fifth block: 60 instead of 69 ms a million lanes",
}
"""Case → why its kernel may keep values in local memory."""


@pytest.fixture(scope="module", autouse=True)
def gpu():
    refusal = cuda_refusal()
    if refusal is not None:
        pytest.skip(f"no CUDA here ({refusal.reason}): {refusal.message}")


pytestmark = pytest.mark.gpu


def test_special_values_equal_numpy(program_cache, same_bits):
    hoisted, inputs, start = special_program()
    expected = numpy_executor.run(hoisted.program, inputs, 0, len(SPECIAL), start)
    found = CudaExecutor(program_cache).run(hoisted.program, inputs, 0, len(SPECIAL), start)
    for place, output in enumerate(hoisted.program.outputs):
        assert same_bits(found.outputs[place], expected.outputs[place]), output.name
    assert same_bits(found.states, expected.states)


@settings(max_examples=6, deadline=None, derandomize=True)
@given(expressions=st.lists(EXPRESSIONS, min_size=12, max_size=12), seed=st.integers(0, 1000))
def test_random_expressions_equal_numpy(program_cache, same_bits, expressions, seed):
    draw = np.random.default_rng(seed)
    columns = {"x": draw.normal(0, 1, 60), "y": draw.choice([*SPECIAL, 3.0, 7.0], 60)}
    columns["x"][draw.choice(60, 5)] = np.nan
    lanes = {"p": draw.choice(SPECIAL, 300), "q": draw.normal(0, 2, 300), "n": draw.integers(2, 6, 300).astype(float)}
    outputs = {f"o{place}": expression for place, expression in enumerate(expressions)}
    hoisted = hoist(trace(lambda states: ({"s": expressions[0]}, outputs), {"s": 0.5}))
    inputs = inputs_of(hoisted, columns, lanes, 300)
    start = np.full((len(hoisted.program.states), 300), 0.5)
    expected = numpy_executor.run(hoisted.program, inputs, 8, 60, start)
    cuda = CudaExecutor(program_cache)
    found = cuda.run(hoisted.program, inputs, 8, 60, start)
    assert same_bits(found.outputs, expected.outputs) and same_bits(found.states, expected.states)
    # families written on the device, where indicators run as programs or as arrays of the device
    device = inputs_of(hoisted, columns, lanes, 300, cuda.device)
    again = cuda.run(hoisted.program, device, 8, 60, start)
    assert same_bits(again.outputs, expected.outputs) and same_bits(again.states, expected.states)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_strategies_equal_numpy_and_spill_nothing(case, program_cache):
    found = case.run("cuda", cache=program_cache)
    assert same_tables(found.table, case.run().table)
    assert found.profile["executor"] == "cuda" and found.profile["fallback_reason"] is None
    for kernel in found.profile["kernels"]:
        assert kernel["registers"] > 0
        assert kernel["local_bytes"] == 0 or case.name in SPILLS, f"{case.name} spills {kernel['local_bytes']} bytes"


def test_cpu_equals_cuda(program_cache):
    pytest.importorskip("numba")
    for case in CASES[:4]:
        both = [case.run(executor, cache=program_cache).table for executor in ("cpu", "cuda")]
        assert same_tables(*both), case.name


@settings(max_examples=5, deadline=None, derandomize=True)
@given(
    case=st.sampled_from(CASES[:3]),
    rolls=st.integers(0, 4),
    masks=st.integers(0, 20),
    gaps=st.integers(0, 20),
    windows=st.sampled_from([None, [(30, 120), (100, 260)]]),
)
def test_any_data_gives_the_same_bits(program_cache, case, rolls, masks, gaps, windows):
    drawn = replace(case, rolls=rolls, masks=masks, gaps=gaps)
    both = [drawn.run(executor, cache=program_cache, windows=windows).table for executor in ("numpy", "cuda")]
    assert same_tables(*both)


def test_chunks_change_no_bits(program_cache):
    case = CASES[0]
    whole = case.run("cuda", cache=program_cache)
    parts = case.run("cuda", cache=program_cache, row_bytes=9_000)
    assert parts.profile["chunks"] > 1 and same_tables(parts.table, whole.table)
    lanes = case.run("cuda", cache=program_cache, device_bytes=2_000)
    assert lanes.profile["launches"] > whole.profile["launches"] and same_tables(lanes.table, whole.table)
    with pytest.raises(DeviceMemoryError, match=r"a lane takes .* bytes on the device, 100 may be used"):
        case.run("cuda", cache=program_cache, device_bytes=100)


def test_a_trace_equals_numpys(program_cache, same_bits):
    traces = [CASES[2].run(executor, cache=program_cache).trace(3) for executor in ("numpy", "cuda")]
    for name in ("target", "position", "equity", "profit", "costs"):
        assert same_bits(traces[0][name], traces[1][name]), name


def test_machine_code_is_built_once(program_cache, tmp_path):
    case = CASES[1]
    first = case.run("cuda", cache=tmp_path)
    second = case.run("cuda", cache=tmp_path)
    assert not any(kernel["cached"] for kernel in first.profile["kernels"])
    assert all(kernel["cached"] for kernel in second.profile["kernels"])
    assert {path.suffix for path in tmp_path.iterdir()} == {".cubin"}
    with pytest.raises(CudaCompileError, match="error"):
        Modules(tmp_path).kernel('extern "C" __global__ void run() { nonsense; }')


@pytest.mark.parametrize("precision", ["fp32", "mixed"])
def test_a_scan_says_so_and_stays_near(precision, program_cache):
    case = replace(CASES[-1], gaps=0)
    exact = case.run("cuda", cache=program_cache)
    found = case.run("cuda", cache=program_cache, precision=precision, rank_by="sharpe", confirm=5)
    assert found.profile["precision"] == precision
    assert np.allclose(found.table["total_return"], exact.table["total_return"], rtol=2e-3, atol=1e-5)
    if precision == "mixed":
        confirmed = found.table["precision"] == "fp64"
        assert confirmed.sum() == 5 and found.profile["rank_agreement"]["confirmed"] == 5
        assert found.profile["rank_agreement"]["spearman"] > 0.8
        assert same_tables(found.table[confirmed].drop(columns="precision"), exact.table[confirmed])
        assert found.best("sharpe").name == exact.best("sharpe").name


def test_sums_over_blocks_equal_numpy(program_cache, same_bits):
    case = CASES[-1]
    found, expected = (case.run(executor, cache=program_cache, blocks=3) for executor in ("cuda", "numpy"))
    assert same_tables(found.table, expected.table)
    for window in range(len(expected.windows)):
        one, two = found.session_sums(window), expected.session_sums(window)
        assert same_bits(one.sums, two.sums) and same_bits(one.squares, two.squares) and one.squares.any()


def test_the_top_of_a_mixed_scan_is_confirmed(program_cache):
    case = replace(CASES[-1], gaps=0)
    exact, found = (
        case.run("cuda", cache=program_cache, precision=precision, rank_by="sharpe", confirm=50, top=3)
        for precision in ("fp64", "mixed")
    )
    assert same_tables(found.table, exact.table) and found.profile["precision"] == "mixed"


def test_calibration_orders_small_and_large_sweeps(program_cache):
    cuda = measure(CudaExecutor(program_cache).run, 2**16, 1_000)
    slow = measure(functools.partial(numpy_executor.run), 2**8, 200)
    both = Calibration(this_machine(1), slow, cuda)
    case = CASES[1]
    found = case.run("auto", cache=program_cache, calibration=both)
    assert found.profile["executor"] in ("cpu", "cuda") and set(found.profile["estimated_seconds"]) == {"cpu", "cuda"}
    assert cuda.work_per_second > slow.work_per_second
    assert both.cuda is not None and both.cuda.seconds(60, 10**6, 8_760) < both.cpu.seconds(60, 10**6, 8_760)


def test_rows_of_many_windows_on_the_device(program_cache):
    grid = {"fast": list(range(2, 40)), "band": [0.0], "slow": list(range(40, 90))}
    case = CASES[-1]
    options = {"instrument": CONTRACT, "grid": grid, "costs": Costs(), "metrics": list(METRICS)[:3], "returns": "bar"}
    from kernels.sweep import sweep

    both = [sweep(sma_band(), case.bars(), executor=e, cache=program_cache, **options).table for e in ("numpy", "cuda")]
    assert same_tables(*both) and len(both[0]) == 38 * 50 and set(GRIDS["sma_band"]) == set(grid)
