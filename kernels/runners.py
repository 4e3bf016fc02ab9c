"""The executor of one sweep with its memory, its timings and what it has to say afterwards."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels import numpy_executor
from kernels.cpu_executor import CpuExecutor
from kernels.cuda_executor import CudaExecutor
from kernels.executor import Device, Timed, host


@dataclass(frozen=True)
class Runner:
    """``timed`` runs programs, ``device`` keeps families; ``cpu`` or ``cuda`` is the executor behind them."""

    name: str
    timed: Timed
    device: Device
    cpu: CpuExecutor | None = None
    cuda: CudaExecutor | None = None

    @property
    def compile_seconds(self) -> float:
        """What building or loading machine code took."""
        return sum(part.compile_seconds for part in (self.cpu, self.cuda) if part is not None)

    @property
    def facts(self) -> dict[str, Any]:
        """What the profile says of the kernels: registers and spilled bytes a thread, seconds on the device."""
        if self.cuda is None:
            return {}
        kernels = [
            {
                "digest": kernel.digest,
                "registers": kernel.registers,
                "local_bytes": kernel.local_bytes,
                "compile_seconds": kernel.seconds,
                "cached": kernel.cached,
            }
            for kernel in self.cuda.kernels
        ]
        return {
            "kernels": kernels,
            "launches": self.cuda.launches,
            "kernel_seconds": self.cuda.kernel_seconds,
            "device_bytes": self.cuda.peak_bytes,
        }


def runner(name: str, precision: str, threads: int, cache: Path, device_bytes: int | None) -> Runner:
    """The executor of that name."""
    if name == "numpy":
        timed = Timed(numpy_executor.run)
        return Runner(name, timed, host(timed.run))
    if name == "cpu":
        cpu = CpuExecutor(threads, cache)
        timed = Timed(cpu.run)
        return Runner(name, timed, host(timed.run, threads), cpu=cpu)
    cuda = CudaExecutor(cache, precision, device_bytes)
    return Runner(name, Timed(cuda.run), cuda.device, cuda=cuda)
