"""CUDA text run on the CPU: a few lines of C++ stand for the device, a C++ compiler for NVRTC."""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from kernels.canonical_nan import canonical
from kernels.cuda_text import cuda_text, family_count, records
from kernels.executor import Inputs, Run
from kernels.program import Program

SHIM = """
#include <cmath>
#include <cstddef>
#include <cstring>
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
using std::fabs; using std::sqrt; using std::floor; using std::trunc;
using std::ldexp; using std::logb;
struct double2 { double x, y; };
struct float2 { float x, y; };
struct Place { int x; };
static thread_local Place blockIdx, blockDim, threadIdx;
template <class T> static inline T __ldg(const T* p) { return *p; }
static inline double __longlong_as_double(long long bits) { double x; std::memcpy(&x, &bits, 8); return x; }
static inline float __int_as_float(int bits) { float x; std::memcpy(&x, &bits, 4); return x; }
"""

FLAGS = ("-std=c++17", "-O1", "-ffp-contract=off", "-fno-fast-math", "-shared", "-fPIC", "-w")


def compiler() -> str:
    """The C++ compiler; without one the test skips, and fails where CI=true demands it."""
    found = shutil.which(os.environ.get("CXX", "g++")) or shutil.which("clang++")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no C++ compiler (g++, clang++ or $CXX), and CI=true: the CUDA text must be run")
        pytest.skip("no C++ compiler (g++, clang++ or $CXX) to run the CUDA text with")
    return found


def run_text(
    folder: Path, program: Program, inputs: Inputs, start: int, stop: int, states: np.ndarray, precision: str = "fp64"
) -> Run:
    """What ``kernels.cuda_executor`` does, on the CPU: the printed text over all lanes, one after another."""
    real = np.float64 if precision == "fp64" else np.float32
    library = _library(folder, program, precision)
    count = states.shape[1]
    record = records(program)
    rows = np.zeros((len(inputs.rows), record.width), real)
    rows[:, : len(record.varying)] = inputs.rows[:, list(record.varying)]
    number = ctypes.c_double if precision == "fp64" else ctypes.c_float
    index = np.ascontiguousarray(inputs.index, dtype=np.int32)
    lanes = np.ascontiguousarray(inputs.lanes, dtype=real)
    final = np.ascontiguousarray(states, dtype=real).copy()
    outputs = np.empty((len(program.outputs), stop - start, count), real)
    families = [np.ascontiguousarray(family, dtype=real) for family in inputs.families[: family_count(program)]]
    event = inputs.event.view(np.uint8)
    arrays = [rows, event, index, lanes, final, outputs]
    arguments = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    arguments += [ctypes.c_int(start), ctypes.c_int(stop), ctypes.c_int(count)]
    arguments += [number(inputs.rows[0, row]) for row in record.settings]
    for family in families:
        arguments += [ctypes.c_void_p(family.ctypes.data), ctypes.c_int(family.shape[1])]
    library.launch(ctypes.c_int(count), *arguments)
    return Run(canonical(final.astype(np.float64)), canonical(outputs.astype(np.float64)))


@functools.cache
def _compilers_version() -> str:
    return subprocess.run([compiler(), "--version"], check=True, capture_output=True, text=True).stdout


def _library(folder: Path, program: Program, precision: str) -> ctypes.CDLL:
    text = cuda_text(program, precision)
    head = text[text.index("run(") + 4 : text.index(") {\n", text.index("run("))]
    names = [part.split()[-1].lstrip("*") for part in head.split(",")]
    launch = (
        f'extern "C" void launch(int threads, {head}) {{\n'
        "  blockDim.x = 1;\n  threadIdx.x = 0;\n"
        f"  for (int n = 0; n < threads; ++n) {{ blockIdx.x = n; run({', '.join(names)}); }}\n}}\n"
    )
    source = SHIM + text + launch
    digest = hashlib.sha256("".join([source, *FLAGS, _compilers_version()]).encode()).hexdigest()[:16]
    library = folder / f"{digest}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=folder) as own:  # several processes may build the same library
            path = Path(own) / "program.cpp"
            path.write_text(source)
            command = [compiler(), *FLAGS, "-o", f"{own}/program.so", str(path)]
            subprocess.run(command, check=True, capture_output=True, text=True)
            Path(own, "program.so").replace(library)
    return ctypes.CDLL(str(library))
