"""What rounds a result on this machine: two machines whose bits may differ have different names for it."""

import hashlib
import os
import platform
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

DISPATCHED = ("exp", "log", "log1p", "power", "sin", "cos", "tanh")  # numpy has several kernels of each
SIDE = 40  # of the matrices that BLAS is asked about


def arithmetic(libraries: Collection[str] = ()) -> dict[str, str]:
    """Return what rounds a result here: the back end, for each function whose last bit depends on the processor the
    instruction set that numpy runs it on, the C library behind the others, and what numpy's BLAS makes of a product.

    With torch among the `libraries` of a node also the maker of the processor and its instruction set, by which torch, MKL and
    oneDNN choose. Sums, means, deviations and cumulative sums of numpy are not named: their order is fixed.
    """
    named = {"back end": "numpy", **_dispatched(), "C library": _c_library(), "BLAS": _product()}
    return {**named, "processor": _processor()} if "torch" in libraries else named


@lru_cache(maxsize=1)
def _dispatched() -> dict[str, str]:
    import numpy as np

    found = np.lib.introspect.opt_func_info(func_name=f"^({'|'.join(DISPATCHED)})$", signature="float64")
    used = {name: signature["current"] for name, kinds in found.items() for signature in kinds.values()}
    return dict(sorted(used.items()))


@lru_cache(maxsize=1)
def _c_library() -> str:
    name, version = platform.libc_ver()
    return f"{name} {version}" if name else f"{platform.system()} {platform.release()}"


@lru_cache(maxsize=1)
def _product() -> str:
    """A digest of products of fixed matrices: BLAS picks its kernels by the processor's model and tells nobody which.

    They are small enough for one thread, so that a driver with many and a worker with one agree.
    """
    import numpy as np

    numbers = (np.arange(SIDE * SIDE) * 7919 % 10007 / 10007.0 - 0.5).reshape(SIDE, SIDE)
    found = hashlib.sha256()
    for matrix in (numbers, numbers.astype(np.float32)):
        found.update((matrix @ matrix).tobytes() + (matrix @ matrix[0]).tobytes() + (matrix.ravel() @ matrix.ravel()).tobytes())
    found.update(np.linalg.solve(numbers + SIDE * np.eye(SIDE), numbers[0]).tobytes())
    return found.hexdigest()[:16]


@lru_cache(maxsize=1)
def _processor() -> str:
    asked = os.environ.get("ATEN_CPU_CAPABILITY", "")
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    maker = next((line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id")), platform.machine())
    return f"{maker} {_dispatched()['exp']} {asked}".rstrip()
