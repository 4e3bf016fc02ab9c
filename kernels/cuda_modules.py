"""Compiled CUDA programs: text to machine code, once per machine, kept on disk by digest."""

import functools
import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.program_cache import used, write_whole

OPTIONS = ("--fmad=false", "--std=c++17")
"""No contraction: a fused multiply-add rounds once where the other executors round twice."""


class CudaCompileError(RuntimeError):
    """NVRTC refused a printed program: an error in this package; the message holds the compiler's log."""


@dataclass(frozen=True)
class Kernel:
    """A loaded kernel with what the compiler made of it.

    ``local_bytes``: memory a thread that is no register (spills); ``cached``: machine code came from disk.
    """

    function: Any
    digest: str
    registers: int
    local_bytes: int
    seconds: float
    cached: bool


class Modules:
    """Compiles and loads kernels of one device; machine code once a machine, each text once for each of its objects."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kernels: dict[str, Kernel] = {}

    def kernel(self, text: str) -> Kernel:
        """The kernel ``run`` of a text. Raises ``CudaCompileError`` with the log, ``CacheError`` for a bad folder."""
        if text not in self._kernels:
            self._kernels[text] = self._load(text)
        return self._kernels[text]

    def _load(self, text: str) -> Kernel:
        import cupy

        begun = time.perf_counter()
        options = (*OPTIONS, f"--gpu-architecture=sm_{cupy.cuda.Device().compute_capability}")
        digest = hashlib.sha256(repr((text, options, _compiler(options))).encode()).hexdigest()[:24]
        path = self._folder / f"program_{digest}.cubin"
        cached = used(path)
        if not cached:
            write_whole(path, _compiled(text, options)[1])
        function = cupy.RawModule(path=str(path)).get_function("run")
        seconds = time.perf_counter() - begun
        return Kernel(function, digest, function.num_regs, function.local_size_bytes, seconds, cached)


@functools.cache
def _compiler(options: tuple[str, ...]) -> bytes:
    """What NVRTC makes of nothing: its PTX begins with the compiler's build, where a version stands for many."""
    return _compiled("", options)[0]


def _compiled(text: str, options: tuple[str, ...]) -> tuple[bytes, bytes]:
    """PTX and machine code."""
    from cupy.cuda import nvrtc

    program = nvrtc.createProgram(text, "program.cu", (), ())
    try:
        nvrtc.compileProgram(program, options)
        ptx: bytes = nvrtc.getPTX(program)
        machine_code: bytes = nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError as error:
        raise CudaCompileError(f"{error}: {nvrtc.getProgramLog(program)}\n{text}") from error
    finally:
        nvrtc.destroyProgram(program)
    return ptx, machine_code
