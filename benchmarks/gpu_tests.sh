#!/usr/bin/env bash
# Everything that needs a GPU, in one call: the machine, then the tests marked gpu. Run from the repository's root with the
# packages of the [gpu] and [dev] extras importable.
set -uo pipefail
python=${PYTHON:-python3}
nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
$python -m pipelines.cli doctor
$python -m pytest -q -rs -m gpu --timeout=600 tests/pipelines tests/kernels tests/validation
