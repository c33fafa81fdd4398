# Everything a person needs: `make demo` shows the main job, `make test` checks everything.
# Both work from nothing and are quick the second time.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export MPLBACKEND := Agg

.PHONY: help demo test check docs bench papers clean

help:
	@echo "make demo    install, then select features on bundled data; writes demo-result/"
	@echo "make test    install, then lint, type checks, tests, doctests"
	@echo "make bench   ratios against rivals and against the speed of the hardware"
	@echo "make papers  the experiments of the papers (data from SPARSEPATH_DATA)"
	@echo "make clean   remove what the above made"

$(READY): pyproject.toml
	@./tools/bootstrap "$(PYTHON)" "$(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $(READY)

demo: $(READY)
	@$(BIN)/sparsepath demo --out demo-result

check: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy

test: check
	@$(BIN)/python -m pytest -q -n auto

$(VENV)/.bench: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,bench]"
	@touch $@

bench: $(VENV)/.bench
	@for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

papers: $(READY)
	@for script in experiments/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) demo-result build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
