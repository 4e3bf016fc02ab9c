# Everything installs itself: `make run` and `make test` work on a fresh clone with Python >= 3.11.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SAMPLE := sample
READY := $(VENV)/.ready

.PHONY: run test test-avx2 check acceptance bench docs clean

run: $(READY)  ## install, write the sample data set if it is absent, run fold 0, print the report's path
	@test -f $(SAMPLE)/truth.json || $(BIN)/pipeline sample $(SAMPLE)
	@$(BIN)/pipeline run fold=0

test: $(READY)  ## the whole suite on all cores, without the long statistical checks
	@$(BIN)/python -m pytest -q -n logical --maxprocesses 8 --dist loadfile

# What compares bits, on an x86 processor without AVX-512 or as if on one: numpy's vectors and the compiled code of numba
# at the level of AVX2. A level that the processor lacks anyway costs a warning at most.
AVX2 := NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR" NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=
BITS := tests/kernels/features tests/kernels/test_canonical_nan.py tests/kernels/test_sweep.py \
        tests/pipelines/test_feature_days.py tests/pipelines/report/test_distributions.py tests/training/test_linear.py

test-avx2: $(READY)  ## what compares bits, once more without AVX-512
	@$(AVX2) $(BIN)/python -m pytest -q -W ignore::ImportWarning $(BITS)

check: $(READY)  ## lint, types, import layers, file sizes
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/test_layers.py tests/test_size.py

acceptance: $(READY)  ## the long statistical and fault checks
	@$(BIN)/python -m pytest -q -m acceptance --timeout=3600

bench: $(READY)  ## every benchmark, one after another
	@for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

docs: $(READY)  ## the pages generated from tables in the code
	@$(BIN)/python docs/generate.py

clean:  ## remove the environment and everything a run has made
	rm -rf $(VENV) $(SAMPLE) store build dist *.egg-info .mypy_cache .ruff_cache .hypothesis

# constraints.txt pins every package, so that an install today and one in a year give the same run
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "walkfold needs Python >= 3.11: make PYTHON=python3.12 run"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)
