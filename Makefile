# Both commands set everything up by themselves, with python3 and make.
PYTHON ?= python3
BIN := .venv/bin
MINUTES ?= 10
SEED ?=

# Tests that run again with every index of the kernels checked.
CHECKED := tests/test_compiled.py tests/neighbors tests/scores tests/selection/test_pursuit.py \
	tests/ensemble/test_logistic.py tests/ensemble/test_boosting.py tests/test_row_alone.py \
	tests/representation/test_scaling.py

# Tests of the method alone: no Dask, no browser, no pyarrow, no other process.
CORE := tests/neighbors tests/scores tests/representation tests/ensemble tests/selection \
	tests/test_detector.py tests/test_metrics.py tests/test_validation.py tests/test_text.py

.PHONY: demo test test-core test-checked bench fuzz clean

demo: .venv/ready
	$(BIN)/python examples/first_look.py

test: .venv/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy --config-file benchmarks/mypy.ini
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto --dist worksteal
	$(MAKE) test-checked

test-core: .venv/ready
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not other_parts" $(CORE)

# Numba's cache does not know whether bounds were checked, so this run has one of its own.
test-checked: .venv/ready
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba_checked \
		$(BIN)/python -m pytest -n auto --dist worksteal $(CHECKED)

bench: .venv/ready
	$(BIN)/python -m pip install --quiet -e '.[peers]'
	failed=""; for script in benchmarks/bench_*.py; do \
		echo "$$script"; $(BIN)/python $$script || failed="$$failed $$script"; done; \
	test -z "$$failed" || { echo "Failed:$$failed"; exit 1; }

fuzz: .venv/ready
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .numba_checked .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
