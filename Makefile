# Everything a person needs: `make demo` shows the main job, `make test` checks everything.
# Both work from nothing and are quick the second time.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
PIP := -m pip install --quiet --disable-pip-version-check
QUICK := tests/test_house.py tests/test_readme.py tests/test_path.py tests/test_scales.py \
         tests/rls/test_surface.py tests/cli/test_predict.py
export MPLBACKEND := Agg

.PHONY: help demo quick test check package docs linkcheck lowest bench bench-scale papers clean

help:
	@echo "make demo    install, then select features on bundled data; writes demo-result/"
	@echo "make test    install, then lint, type checks, tests, doctests"
	@echo "make quick   lint and some of the tests, in less than a minute"
	@echo "make docs    the site, build/site/index.html"
	@echo "make package build wheel and sdist, install and try each"
	@echo "make lowest  these tests with the oldest versions of other packages that are allowed;"
	@echo "             with Python 3.11, for which they were made: make lowest PYTHON=python3.11"
	@echo "make bench   ratios against rivals and against the speed of the hardware"
	@echo "make bench-scale ROWS=10000000   files larger than memory, and a Dask cluster"
	@echo "make papers  the experiments of the papers (data from SPARSEPATH_DATA)"
	@echo "make clean   remove what the above made"

$(INSTALLED): pyproject.toml tools/native.py src/sparsepath/rls/leave_one_out/small.c
	@./tools/bootstrap "$(PYTHON)" "$(VENV)"
	@$(BIN)/python $(PIP) --editable .
	@touch $@

$(READY): $(INSTALLED)
	@$(BIN)/python $(PIP) --editable ".[dev]"
	@touch $@

demo: $(INSTALLED)
	@$(BIN)/sparsepath demo --out demo-result

quick: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/python -m pytest -q -n auto $(QUICK)

check: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy

# What takes one core each goes side by side; tests that are left go to whoever has none (worksteal).
test: $(READY)
	@$(MAKE) --no-print-directory -j 2 check package docs
	@$(BIN)/python -m pytest -q -n auto --dist worksteal

package: $(READY)
	@$(BIN)/python tools/package.py

docs: $(READY)
	@$(BIN)/python -m sphinx -W --keep-going -q -j auto -d build/doctrees docs build/site
	@echo "build/site/index.html"

linkcheck: $(READY)
	@$(BIN)/python -m sphinx -b linkcheck -q -d build/doctrees docs build/linkcheck

$(LOWEST)/.ready: pyproject.toml tools/lowest.py
	@./tools/bootstrap "$(PYTHON)" "$(LOWEST)"
	@$(LOWEST)/bin/python tools/lowest.py > $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python $(PIP) --constraint $(LOWEST)/constraints.txt --editable ".[test]"
	@touch $@

lowest: $(LOWEST)/.ready
	@$(LOWEST)/bin/python -m pytest -q -n auto -W ignore::DeprecationWarning $(QUICK)

$(VENV)/.bench: $(READY)
	@$(BIN)/python $(PIP) --editable ".[dev,bench]"
	@touch $@

bench: $(VENV)/.bench
	@for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

ROWS ?= 10000000
bench-scale: $(READY)
	@$(BIN)/python benchmarks/scale.py --rows $(ROWS)

papers: $(READY)
	@for script in experiments/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) $(LOWEST) demo-result build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
