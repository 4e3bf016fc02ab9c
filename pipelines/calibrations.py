"""Calibrations of this machine: where they are kept, and whether one holds for the machine as it is now."""

import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

from kernels.calibration import Calibration, Machine, Speed, measure, this_machine
from kernels.cpu_executor import CpuExecutor
from kernels.cuda_executor import CudaExecutor
from kernels.fallback import cuda_refusal
from kernels.program_cache import default_cache
from pipelines.storage.json_values import json_value

CPU_LANES, CUDA_LANES, BARS = 2**14, 2**18, 2_000
"""Lanes that keep a CPU and a GPU busy, and bars that take them tens of milliseconds."""


def calibration_file() -> Path:
    """The user's file of calibrations, by the platform's convention for configuration."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming")) / "walkfold" / "calibration.json"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "walkfold" / "calibration.json"
    return Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config")) / "walkfold" / "calibration.json"


def calibrate(threads: int, cache: Path | None = None) -> Calibration:
    """Measure this machine: about five seconds, most of it compiling where nothing is cached."""
    folder = cache or default_cache()
    cpu = measure(CpuExecutor(threads, folder).run, CPU_LANES, BARS)
    cuda = None if cuda_refusal() is not None else measure(CudaExecutor(folder).run, CUDA_LANES, BARS)
    return Calibration(this_machine(threads), cpu, cuda)


def save(calibration: Calibration, path: Path) -> None:
    """Write the calibration whole, in place of the one before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}.tmp")
    fresh.write_text(json.dumps(asdict(calibration), indent=2) + "\n", encoding="utf-8")
    fresh.replace(path)


def load(path: Path, machine: Machine) -> Calibration | None:
    """The calibration of the file, where it holds for that machine; None for another machine, no file, or damage."""
    try:
        facts = json_value(path.read_text(encoding="utf-8"))
        cuda = None if facts["cuda"] is None else Speed(**facts["cuda"])
        found = Calibration(Machine(**facts["machine"]), Speed(**facts["cpu"]), cuda)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.machine == machine else None


def for_threads(calibration: Calibration, threads: int) -> Calibration:
    """What of the calibration holds for a sweep that gets so many threads of the CPU: the same, with its share of the rate."""
    share = min(threads / calibration.machine.threads, 1.0)
    return replace(calibration, cpu=replace(calibration.cpu, work_per_second=calibration.cpu.work_per_second * share))
