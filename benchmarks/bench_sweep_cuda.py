"""Speed of sweeps on a GPU: kernel time, wall time to the table, registers, and how far from the hardware's limit.

The reference is a public Strategy: fast and slow average with a band, 100 x 20 x 500 combinations; beside it, in the same
run, a kernel written by hand for it alone. "limit" is the fp64 issue rate (64 instructions a clock and multiprocessor)
over the program's fp64 instructions a bar-step, divisions counted as ten and branches as always taken. Usage:
``python benchmarks/bench_sweep_cuda.py [folder for compiled programs]``; needs a GPU and the [gpu] extra.
"""

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.sma_band_by_hand import TALLIES, seconds_by_hand
from kernels.counters import counting_states, whole_registers
from kernels.execution import Execution, Instrument
from kernels.expressions import col, hold, minimum, param, prev, where
from kernels.fallback import cuda_refusal
from kernels.indicators import ema, kalman_level, rolling_max, rolling_min, rolling_std, sma, zscore
from kernels.metrics import METRICS, reads
from kernels.opcodes import OPCODES
from kernels.program import Program
from kernels.program_result import ProgramResult
from kernels.specialise import quiet
from kernels.strategy import Strategy
from kernels.sweep import sweep

CONTRACT = Instrument("ES", tick_size=0.25, multiplier=50.0, fee_per_contract=2.1)
CAPITAL = 1_000_000.0
FIVE = ("total_return", "volatility", "sharpe", "max_drawdown", "trades")
SORTINO = ("total_return", "sharpe", "sortino", "max_drawdown", "trades")
ALL = tuple(METRICS)
REFERENCE = {"fast": range(5, 105), "band": [0.25 * n for n in range(20)], "slow": range(110, 610)}
REPEATS = 3


@dataclass(frozen=True)
class Job:
    """One line of the table."""

    name: str
    strategy: Strategy
    grid: dict[str, Any]
    bars: int
    metrics: tuple[str, ...] = FIVE
    precision: str = "fp64"
    contracts: int = 1
    target: float | None = None
    """Bar-steps a second that issue 4 asks for, in units of 1e9."""


def walk(bars: int) -> pd.DataFrame:
    """A seeded random walk of hourly bars on a tick of 0.25, with an exogenous price."""
    draw = np.random.default_rng(7)
    close = 5000 + 0.25 * np.cumsum(draw.integers(-6, 7, bars))
    opened = np.concatenate([[5000.0], close[:-1]])
    other = 1.1 * (5000 + 0.25 * np.cumsum(draw.integers(-6, 7, bars)))
    times = pd.date_range("2010-01-01", periods=bars, freq="h", tz="UTC").as_unit("ns")
    return pd.DataFrame({"ts_event": times, "open": opened, "close": close, "other": other})


def reference() -> Strategy:
    fast, slow, band = sma(col("close"), param("fast")), sma(col("close"), param("slow")), param("band")
    return Strategy("sma_band", where(fast > slow + band, 1.0, where(fast < slow - band, -1.0, hold())))


def z_surface() -> Strategy:
    z, entry = zscore(col("close") / col("other"), param("window")), param("entry")
    return Strategy("z_surface", where(z > entry, -1.0, where(z < -entry, 1.0, hold())))


def kalman_surface() -> Strategy:
    """Local level, its process noise swept, against the threshold of a deviation from it."""
    gap, threshold = col("close") - kalman_level(col("close"), param("noise"), 1.0), param("threshold")
    return Strategy("kalman_surface", where(gap > threshold, -1.0, where(gap < -threshold, 1.0, hold())))


def others() -> list[Job]:
    """Five strategies of other shapes."""
    close, window = col("close"), param("window")
    crossed = Strategy("ema_cross", where(ema(close, param("fast")) > ema(close, param("slow")), 1.0, -1.0))
    z, current, leave = zscore(close, window), hold(), param("exit")
    back = ((current < 0.0) & (z < leave)) | ((current > 0.0) & (z > -leave))
    enter = param("entry")
    reverted = Strategy("reversion", where(z > enter, -1.0, where(z < -enter, 1.0, where(back, 0.0, current))))
    upper, lower = prev(rolling_max(close, param("up"))), prev(rolling_min(close, param("down")))
    broken = Strategy("breakout", where(close > upper, 1.0, where(close < lower, -1.0, hold())))
    calm = rolling_std(close, window) < param("calm")
    quiet_trend = Strategy("calm_trend", where(calm, where(close > sma(close, param("slow")), 1.0, -1.0), 0.0))
    scale = (close - sma(close, window)) / rolling_std(close, param("slow"))
    sized = Strategy("sized", where(scale > 0.0, minimum(scale * param("gain"), 1.0), 0.0))
    thousands = {"window": range(20, 120)}
    grids = [
        {"fast": range(2, 1002), "slow": range(1010, 2010)},
        {**thousands, "entry": list(np.linspace(0.5, 3.0, 100)), "exit": list(np.linspace(-0.4, 0.4, 100))},
        {"up": range(10, 1010), "down": range(10, 1010)},
        {**thousands, "calm": list(np.linspace(2.0, 30.0, 100)), "slow": range(200, 300)},
        {**thousands, "slow": range(200, 300), "gain": list(np.linspace(0.1, 2.0, 100))},
    ]
    made = (crossed, reverted, broken, quiet_trend, sized)
    return [Job(s.name, s, g, 8_760, contracts=10 if s is sized else 1) for s, g in zip(made, grids, strict=True)]


def jobs() -> list[Job]:
    made = []
    for bars, five, single in ((8_760, 250.0, 400.0), (100_000, 220.0, 340.0)):
        made += [
            Job("reference, 5 metrics", reference(), REFERENCE, bars, target=five),
            Job("reference, 5 with sortino", reference(), REFERENCE, bars, SORTINO, target=five),
            Job("reference, all metrics", reference(), REFERENCE, bars, ALL, target=120.0),
            Job("reference, 5 metrics, fp32", reference(), REFERENCE, bars, precision="fp32", target=single),
        ]
    surface = {"window": range(10, 310), "entry": list(np.linspace(0.5, 2.5, 100))}
    levels = {"noise": list(np.geomspace(1e-4, 10.0, 1_000)), "threshold": list(np.linspace(0.25, 25.0, 1_000))}
    return [
        *made,
        Job("z-score surface", z_surface(), surface, 26_000),
        Job("Kalman surface", kalman_surface(), levels, 100_000),
        *others(),
    ]


def run(job: Job, cache: Path, repeats: int = REPEATS) -> tuple[ProgramResult, float]:
    """The result with the shortest kernel time of some sweeps, and the shortest wall time to a table."""
    bars, best, wall = walk(job.bars), None, float("inf")
    for _ in range(repeats):
        begun = time.perf_counter()
        result = sweep(
            job.strategy,
            bars,
            instrument=CONTRACT,
            grid=job.grid,
            capital=CAPITAL,
            execution=Execution(contracts=job.contracts),
            metrics=job.metrics,
            returns="bar",
            executor="cuda",
            precision=job.precision,
            cache=cache,
            row_bytes=2**33,
        )
        wall = min(wall, time.perf_counter() - begun)
        if best is None or result.profile["kernel_seconds"] < best.profile["kernel_seconds"]:
            best = result
    assert best is not None
    return best, wall


def instructions(program: Program) -> int:
    """fp64 instructions of a bar without events, branches included, counts in integers not."""
    short = quiet(program) if program.events else program
    whole = whole_registers(short, counting_states(program, short))
    floats = (
        item
        for register, item in enumerate(short.instructions)
        if item.op in OPCODES and register not in whole and not whole.issuperset(item.operands)
    )
    return sum(OPCODES[item.op].slots for item in floats)


def fp64_rate() -> float:
    """fp64 instructions a second of the device: 64 a clock and multiprocessor (compute capability 9.0)."""
    import cupy

    attributes = cupy.cuda.Device().attributes
    return 64.0 * attributes["MultiProcessorCount"] * attributes["ClockRate"] * 1e3


def line(job: Job, result: ProgramResult, wall: float, rate: float) -> str:
    profile = result.profile
    account = result._plan._account(sorted(reads(job.metrics))).program
    count = instructions(account)
    speed = profile["bar_steps"] / profile["kernel_seconds"]
    kernel = profile["kernels"][-1]
    limit = f"{speed / (rate / count):5.0%}" if job.precision == "fp64" else ""
    target = f"{job.target:5.0f}" if job.target else "     "
    return (
        f"{job.name:28} {job.bars:7,} {profile['combinations']:9,} {profile['kernel_seconds'] * 1e3:9.2f} "
        f"{wall * 1e3:9.1f} {speed / 1e9:7.1f} {target} {kernel['registers']:4} {kernel['local_bytes']:4} "
        f"{count:4} {limit}"
    )


def by_hand(bars: int, cache: Path) -> str:
    """The hand-written kernel over the same rows, and whether all of its tallies equal the sweep's on bits."""
    result, _ = run(Job("", reference(), REFERENCE, bars, SORTINO), cache)
    plan, lanes, count = result._plan, result._lanes, len(result.table)
    window = plan.windows[0]
    inputs = plan._inputs(plan._account(sorted(reads(SORTINO))), lanes, count, window, {})
    bands = np.array(REFERENCE["band"])
    seconds, tallies = seconds_by_hand(walk(bars), inputs.families, bands, window[0], plan.conditions.terms, CAPITAL)
    totals = plan.totals(list(TALLIES), lanes, count)[0]
    equal = all(np.array_equal(tallies[place], totals[name]) for place, name in enumerate(TALLIES))
    speed = result.profile["bar_steps"] / seconds / 1e9
    return f"{'by hand, 5 with sortino':28} {bars:7,} {count:9,} {seconds * 1e3:9.2f} {'':9} {speed:7.1f}   equal bits: {equal}"


def busy(name: str, cache: Path) -> str:
    """Time that all kernels of a sweep keep the GPU busy, rows included, by torch's profiler."""
    import torch

    job = next(job for job in jobs() if job.name == name)
    run(job, cache)  # compiled and warm
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiled:
        result, _ = run(job, cache, repeats=1)
    kernels = [event for event in profiled.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    copies = [event for event in kernels if event.name.startswith(("Memcpy", "Memset"))]
    seconds = (sum(event.device_time_total for event in some) / 1e6 for some in (kernels, copies))
    total, copying = seconds
    own = result.profile["kernel_seconds"]
    return (
        f"{name}: {len(kernels) - len(copies):,} kernels keep the GPU busy for {(total - copying) * 1e3:.1f} ms, "
        f"its own for {own * 1e3:.1f} ms"
    )


def compile_times(folder: Path) -> str:
    """Compiling the reference in fresh processes, cold and from the cache, and a second sweep with other values."""
    script = (
        "import sys, time, pathlib; begun = time.perf_counter()\n"
        "from benchmarks.bench_sweep_cuda import *\n"
        "job = Job('', reference(), {'fast': range(5, 15), 'band': [0.5], 'slow': range(20, 30)}, 8_760)\n"
        "first, _ = run(job, pathlib.Path(sys.argv[1]))\n"
        "other = sweep(reference(), walk(8_760), instrument=CONTRACT, grid={'fast': [6], 'band': [1.0], 'slow': [77]},\n"
        "              metrics=FIVE, returns='bar', executor='cuda', cache=pathlib.Path(sys.argv[1]))\n"
        "print(time.perf_counter() - begun, other.profile['kernels'][0]['compile_seconds'], end=' ')\n"
        "print(other.profile['kernels'][0]['cached'])\n"
    )
    cold = _compile(folder / "cold")
    warm = _compile(folder / "cold")
    process = subprocess.run(
        [sys.executable, "-c", script, str(folder / "cold")], capture_output=True, text=True, check=True,
        cwd=Path(__file__).resolve().parent.parent,
    )  # fmt: skip
    return f"compile cold {cold:.3f} s, from the cache {warm:.3f} s; fresh process and other values: {process.stdout.strip()}"


def _compile(cache: Path) -> float:
    job = Job("", reference(), {"fast": range(5, 15), "band": [0.5], "slow": range(20, 30)}, 8_760)
    result = sweep(
        job.strategy, walk(job.bars), instrument=CONTRACT, grid=job.grid, metrics=FIVE, returns="bar",
        executor="cuda", cache=cache,
    )  # fmt: skip
    return float(result.profile["seconds"]["compile"])


def main() -> None:
    refusal = cuda_refusal()
    if refusal is not None:
        print(f"bench_sweep_cuda: not run, {refusal.message}")
        return
    import cupy

    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    rate = fp64_rate()
    print(
        f"{device}, CUDA driver {cupy.cuda.runtime.driverGetVersion()}, NVRTC {cupy.cuda.nvrtc.getVersion()}, "
        f"cupy {cupy.__version__}, numpy {np.__version__}; fp64 issue rate {rate / 1e12:.1f} T/s"
    )
    print(
        f"{'':28} {'bars':>7} {'lanes':>9} {'kernel ms':>9} {'wall ms':>9} {'G bs/s':>7} {'asked':>5} {'regs':>4} "
        f"{'spil':>4} {'fp64':>4} limit"
    )
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder)
        for job in jobs():
            result, wall = run(job, cache)
            print(line(job, result, wall, rate), flush=True)
        for bars in (8_760, 100_000):
            print(by_hand(bars, cache), flush=True)
        print(busy("z-score surface", cache))
        mixed, wall = run(Job("", reference(), REFERENCE, 8_760, precision="mixed"), cache)
        print(f"mixed precision: wall {wall * 1e3:.0f} ms, {mixed.profile['rank_agreement']}")
        print(compile_times(Path(folder)))


if __name__ == "__main__":
    main()
