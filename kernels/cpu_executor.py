"""The ``cpu`` executor: compiles a program's numba text once per machine and runs its lane blocks on threads."""

import functools
import hashlib
import importlib.util
import itertools
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.canonical_nan import canonical
from kernels.executor import Inputs, Run
from kernels.numba_text import numba_text
from kernels.program import Program
from kernels.program_cache import CacheError, default_cache, write_whole

__all__ = ["CacheError", "CpuExecutor", "default_cache", "write_source"]

BLOCK = 64
RECORDING_BLOCK = 8
"""Lanes of a block in a program that records every bar: lanes are padded to whole blocks, and each takes memory there.

The size depends on the program alone, never on the number of lanes: one lane runs the code compiled for a million.
"""

TASKS_PER_THREAD = 4
"""More tasks than threads, so that a thread that was held up does not keep the others waiting."""


@dataclass
class CpuExecutor:
    """Runs programs on ``threads`` threads; ``compile_seconds`` sums what building or loading machine code took."""

    threads: int
    cache: Path
    compile_seconds: float = 0.0
    _compiled: dict[str, Callable[..., None]] = field(default_factory=dict)

    def run(self, program: Program, inputs: Inputs, start: int, stop: int, states: NDArray[np.float64]) -> Run:
        """Runs bars [start, stop) from ``states`` [states, lanes], which is not changed."""
        count = states.shape[1]
        block = RECORDING_BLOCK if program.outputs else BLOCK
        blocks = -(-count // block)
        padded = np.minimum(np.arange(blocks * block), count - 1)  # lanes past the end repeat the last one
        final = np.ascontiguousarray(states[:, padded])
        outputs = np.empty((len(program.outputs), stop - start, blocks * block))
        arguments = (
            np.ascontiguousarray(inputs.index[:, padded]),
            np.ascontiguousarray(inputs.lanes[:, padded]),
            final,
            outputs,
            *inputs.families,
        )
        event = inputs.event.view(np.uint8)
        compiled = self._function(numba_text(program, block), (inputs.rows, event, 0, 0, 0, 0, *arguments))

        def part(first: int, last: int) -> None:
            compiled(inputs.rows, event, start, stop, first, last, *arguments)

        self._spread(part, blocks)
        kept = (np.ascontiguousarray(final[:, :count]), np.ascontiguousarray(outputs[..., :count]))
        return Run(canonical(kept[0]), canonical(kept[1]))

    def _spread(self, part: Callable[[int, int], None], blocks: int) -> None:
        threads = min(self.threads, blocks)
        if threads <= 1:
            part(0, blocks)
            return
        cuts = np.linspace(0, blocks, min(blocks, threads * TASKS_PER_THREAD) + 1).astype(int)
        pool = ThreadPoolExecutor(threads)
        try:
            for done in [pool.submit(part, int(a), int(b)) for a, b in itertools.pairwise(cuts)]:
                done.result()
        finally:
            pool.shutdown(cancel_futures=True)  # interrupted: what has not begun is left out

    def _function(self, text: str, nothing: tuple[Any, ...]) -> Callable[..., None]:
        digest = hashlib.sha256(text.encode()).hexdigest()[:24]
        if digest not in self._compiled:
            begun = time.perf_counter()
            self._compiled[digest] = _load(write_source(self.cache, digest, text), digest)
            self._compiled[digest](*nothing)  # no bars, no blocks: compiles, or reads numba's cache
            self.compile_seconds += time.perf_counter() - begun
        return self._compiled[digest]


def write_source(folder: Path, digest: str, text: str) -> Path:
    """The text as ``program_<digest>.py`` in the folder."""
    return write_whole(folder / f"program_{digest}.py", text.encode())


@functools.lru_cache(maxsize=64)
def _load(path: Path, digest: str) -> Callable[..., None]:
    import kernels.compiled  # noqa: F401  # the cache of its machine code; here, since numba takes a moment to import

    name = f"walkfold_program_{digest}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded; remove it and run again")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba imports a cached function's module by name
    spec.loader.exec_module(module)
    run: Callable[..., None] = module.run
    return run
