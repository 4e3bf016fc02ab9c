#!/usr/bin/env bash
# The tests and benchmarks of the cuda executor in one call; run from the repository's root on a machine with a GPU.
set -uo pipefail
python=${PYTHON:-python3}
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader
$python -m pytest -q -rs --timeout=240 tests/kernels/test_cuda.py
$python benchmarks/bench_sweep_cuda.py
