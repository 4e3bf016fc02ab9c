"""Which executor runs a sweep, and why: asked for, estimated, or fallen back with a reason."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from kernels.calibration import Calibration
from kernels.fallback import CudaUnavailableError, Refusal


class FallbackWarning(UserWarning):
    """A sweep that asked for the GPU runs on the CPU."""


@dataclass(frozen=True)
class Workload:
    """What is to be computed: work a bar-step, lanes, bars."""

    work: int
    lanes: int
    bars: int


@dataclass(frozen=True)
class Choice:
    """The executor that runs, why, what was estimated (seconds by executor) and why it fell back, if it did.

    ``break_even``: the combinations from which the GPU is estimated to be faster, where a sweep that asked for it has
    fewer.
    """

    executor: str
    why: str
    estimates: dict[str, float]
    fallback_reason: str | None = None
    break_even: int | None = None


def choose(
    asked: str,
    allow_fallback: bool,
    workload: Callable[[], Workload],
    calibration: Calibration | None,
    refusal: Callable[[], Refusal | None],
) -> Choice:
    """Resolves ``executor``; raises ``CudaUnavailableError``, or warns once where falling back is allowed.

    ``workload`` is called only where there is a calibration to estimate with, ``refusal`` only where a GPU may run.
    """
    estimates = {} if calibration is None else _estimates(workload(), calibration)
    if asked in ("numpy", "cpu"):
        return Choice(asked, "asked for", estimates)
    refused = refusal()
    if asked == "cuda":
        if refused is None:
            least = _break_even(workload, calibration, estimates)
            small = "" if least is None else f", though the CPU is estimated faster below about {least:,} combinations"
            return Choice("cuda", f"asked for{small}", estimates, break_even=least)
        if not allow_fallback:
            raise CudaUnavailableError(refused)
        warnings.warn(
            f"executor='cuda' fell back to the CPU ({refused.reason}): {refused.message}", FallbackWarning, stacklevel=5
        )
        return Choice("cpu", f"fell back: {refused.message}", estimates, str(refused.reason))
    if refused is not None:
        return Choice("cpu", f"CUDA cannot run here ({refused.reason})", estimates)
    if "cuda" not in estimates:
        return Choice("cpu", "no calibration: run `pipeline doctor --calibrate` to let auto use the GPU", estimates)
    faster = min(("cpu", "cuda"), key=lambda name: estimates[name])
    return Choice(faster, f"estimated faster: cpu {estimates['cpu']:.3g} s, cuda {estimates['cuda']:.3g} s", estimates)


def _estimates(load: Workload, calibration: Calibration) -> dict[str, float]:
    speeds = {"cpu": calibration.cpu, "cuda": calibration.cuda}
    return {
        name: speed.seconds(load.work, load.lanes, load.bars) for name, speed in speeds.items() if speed is not None
    }


def _break_even(
    workload: Callable[[], Workload], calibration: Calibration | None, estimates: dict[str, float]
) -> int | None:
    """The least power of two of combinations at which CUDA is estimated faster, where it is slower now."""
    if calibration is None or "cuda" not in estimates or estimates["cuda"] <= estimates["cpu"]:
        return None
    load = workload()
    for power in range(40):
        lanes: int = 2**power
        found = _estimates(Workload(load.work, lanes, load.bars), calibration)
        if lanes > load.lanes and found["cuda"] < found["cpu"]:
            return lanes
    return None
