# Both commands set everything up by themselves, with python3 and make.
PYTHON ?= python3
BIN := .venv/bin
MINUTES ?= 10
SEED ?=

.PHONY: demo test bench fuzz clean

demo: .venv/ready
	$(BIN)/python examples/first_look.py

test: .venv/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto --dist worksteal

bench: .venv/ready
	$(BIN)/python -m pip install --quiet -e '.[peers]'
	for script in benchmarks/bench_*.py; do echo "$$script"; $(BIN)/python $$script; done

fuzz: .venv/ready
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
