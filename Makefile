# Everything runs in one environment, made on first use and remade when pyproject.toml or constraints.txt changes.
# VENV=/path make test uses another one; PYTHON=python3.12 make test makes it with another interpreter.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.draftproof-installed
HOUSE := .build/house/draftproof
FOLDERS := algorithms proofs verify corpora
PYTEST_ARGS ?=
# Two workers with one torch thread each: torch's threads of several processes on few cores wait for each other, and slow
# everything down many times over.
WORKERS ?= 2

.PHONY: help audit audit-real bench-evidence test lint format wheel house install clean
.DELETE_ON_ERROR:

help:
	@echo 'make audit   run draftproof audit (ARGS="..." are passed on)'
	@echo 'make audit-real  the same on SmolLM2 and Gemma 3, which it fetches first'
	@echo 'make bench-evidence  what evidence costs, beside the criteria of engines'
	@echo 'make test    run the tests (PYTEST_ARGS="..." are passed on)'
	@echo 'make lint    ruff, mypy, import-linter'
	@echo 'make format  let ruff rewrite what make lint would complain of'
	@echo 'make wheel   build the wheel into dist/'
	@echo 'make clean   remove builds and caches, not the environment'

audit: $(STAMP)
	$(BIN)/draftproof audit $(ARGS)

audit-real: $(STAMP)
	$(BIN)/draftproof models fetch
	$(BIN)/draftproof audit --pair real --output reports/real $(ARGS)

bench-evidence: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/evidence.py reports

# The pytest command, not `python -m pytest`: the latter puts the repository on sys.path, where the folders would be
# importable a second time under their bare names.
test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) $(PYTEST_ARGS)

lint: $(STAMP) house
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# setuptools puts whatever lies in build/ into the wheel, files that are gone from the source included.
wheel: $(STAMP)
	rm -rf build
	$(BIN)/python -m build --wheel --no-isolation

install: $(STAMP)

# mypy finds modules by their path, and the folders are imported as draftproof.<folder>: here they stand that way.
house:
	@mkdir -p $(HOUSE)
	@for folder in $(FOLDERS); do ln -sfn ../../../$$folder $(HOUSE)/$$folder; done

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt setuptools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

clean:
	rm -rf .build build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
