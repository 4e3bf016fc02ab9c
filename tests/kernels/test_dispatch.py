"""Dispatch: what was asked for runs or raises, auto follows the estimates, a fallback is never silent."""

import pickle
import warnings

import pytest

from kernels.calibration import Calibration, Machine, Speed, measure
from kernels.dispatch import FallbackWarning, Workload, choose
from kernels.fallback import CudaUnavailableError, FallbackReason, Refusal, cuda_refusal
from kernels.numpy_executor import run
from tests.kernels.shipped import CASES, same_tables

# the GPU pays 10 ms once, the CPU nothing; the GPU is a thousand times faster
CALIBRATION = Calibration(Machine("x", 2, "gpu", "1", "v"), Speed(0.0, 1e9, 1e-9, 0.0), Speed(0.01, 1e12, 1e-9, 0.0))
NO_GPU = Refusal(FallbackReason.NO_DEVICE, "no NVIDIA GPU is visible")


def chosen(asked, lanes=1000, calibration=CALIBRATION, refusal=None, allow=False):
    return choose(asked, allow, lambda: Workload(50, lanes, 1_000), calibration, lambda: refusal)


def test_an_estimate_is_overhead_and_the_longer_of_one_lane_and_all_work():
    speed = Speed(overhead=0.5, work_per_second=1e6, lane_seconds=1e-5, lane_overhead=0.001)
    assert speed.seconds(work=10, lanes=1, bars=100) == pytest.approx(0.5 + 10 * 100 * 1e-5 + 0.001)
    assert speed.seconds(work=10, lanes=100, bars=100) == pytest.approx(0.5 + 10 * 100 * 100 / 1e6 + 0.1)


def test_auto_takes_what_is_estimated_faster():
    small, large = chosen("auto", lanes=10), chosen("auto", lanes=100_000)
    # 10 lanes: 0.5 ms on the CPU; 100,000 lanes: 5 s on the CPU, 15 ms on the GPU
    assert (small.executor, large.executor) == ("cpu", "cuda")
    assert large.estimates == {"cpu": pytest.approx(5.0), "cuda": pytest.approx(0.015)}
    assert "cpu 5 s, cuda 0.015 s" in large.why and large.fallback_reason is None


def test_auto_never_guesses():
    assert chosen("auto", calibration=None).executor == "cpu"
    assert "pipeline doctor --calibrate" in chosen("auto", calibration=None).why
    refused = chosen("auto", lanes=10**6, refusal=NO_GPU)
    assert refused.executor == "cpu" and "no_cuda_device" in refused.why and refused.fallback_reason is None


def test_a_grid_too_small_for_the_gpu_asked_for_names_the_break_even():
    small = chosen("cuda", lanes=10)
    # 50 * 1,000 * lanes / 1e9 > 0.01 + … from 201 lanes on; the next power of two
    assert small.executor == "cuda" and small.break_even == 256
    assert small.why == "asked for, though the CPU is estimated faster below about 256 combinations"
    assert chosen("cuda", lanes=100_000).break_even is None


def test_cuda_that_cannot_run_raises_or_warns_once():
    with pytest.raises(CudaUnavailableError, match=r"\(no_cuda_device\): no NVIDIA GPU is visible; or use") as raised:
        chosen("cuda", refusal=NO_GPU)
    assert raised.value.reason is FallbackReason.NO_DEVICE
    again = pickle.loads(pickle.dumps(raised.value))
    assert again.reason is FallbackReason.NO_DEVICE and "no_cuda_device" in str(again)
    with pytest.warns(FallbackWarning, match="fell back to the CPU") as warned:
        fallen = chosen("cuda", refusal=NO_GPU, allow=True)
    assert len(warned) == 1 and fallen.executor == "cpu" and fallen.fallback_reason == "no_cuda_device"


def test_reasons_are_stable_strings():
    assert [str(reason) for reason in FallbackReason] == [
        "cupy_missing", "no_cuda_device", "driver_too_old", "nvrtc_missing",
    ]  # fmt: skip


def test_a_sweep_falls_back_by_name_and_never_silently(program_cache):
    refusal = cuda_refusal()
    if refusal is None:
        pytest.skip("this machine has a GPU: nothing falls back")
    with pytest.raises(CudaUnavailableError, match=str(refusal.reason)):
        CASES[1].run("cuda")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = CASES[1].run("cuda", allow_fallback=True, cache=program_cache)
    assert [warning.category for warning in caught] == [FallbackWarning]
    assert caught[0].filename.endswith("shipped.py")  # the caller of sweep(), not a line of ours
    assert found.profile["executor"] == "cpu" and found.profile["fallback_reason"] == str(refusal.reason)
    assert same_tables(found.table, CASES[1].run().table)
    with pytest.raises(CudaUnavailableError):  # the CPU has no fp32 to fall back to
        CASES[1].run("cuda", allow_fallback=True, precision="fp32")


def test_measuring_follows_the_clock():
    ticks = iter(range(10_000))
    speed = measure(run, lanes=8, bars=4, clock=lambda: next(ticks))
    # every run takes one tick: all of it overhead, nothing left for work
    assert speed.overhead == 1 and speed.lane_overhead == 0.0 and speed.work_per_second > 1e9


def test_a_profile_says_estimate_and_actual(program_cache):
    found = CASES[1].run("auto", calibration=CALIBRATION, cache=program_cache).profile
    assert set(found["estimated_seconds"]) == {"cpu", "cuda"} and found["actual_seconds"] > 0
    assert found["why"]
