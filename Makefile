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

.PHONY: help demo quick test check sanitize package docs linkcheck lowest bench bench-scale papers fuzz clean

help:
	@echo "make demo    install, then select features on bundled data; writes demo-result/"
	@echo "make test    install, then lint, type checks, tests, doctests, docs, wheel, sanitizers"
	@echo "make quick   lint and some of the tests, in less than a minute"
	@echo "make sanitize  tests of the compiled core with address and undefined-behaviour sanitizers"
	@echo "make docs    the site, build/site/index.html"
	@echo "make package build sdist and wheel, install the wheel and try it"
	@echo "make lowest  these tests with the oldest versions of other packages that are allowed;"
	@echo "             with Python 3.11, for which they were made: make lowest PYTHON=python3.11"
	@echo "make bench   ratios against rivals and against the speed of the hardware"
	@echo "make bench-scale ROWS=10000000   files larger than memory, and a Dask cluster"
	@echo "make papers  the experiments of the papers (data from SPARSEPATH_DATA)"
	@echo "make fuzz N=1000   generated command lines and damaged files; results in build/fuzz"
	@echo "make clean   remove what the above made"

# The compiled core is built here, and again by the next make after a change to its sources.
# Its tools, and a compiler where the machine has none, are in the environment.
WITH_TOOLS = [ ! -x $(1)/bin/c++ ] || export CC=$(abspath $(1)/bin/cc) CXX=$(abspath $(1)/bin/c++); \
             PATH="$(abspath $(1)/bin):$$PATH"
INSTALL = $(call WITH_TOOLS,$(1)) $(1)/bin/python $(PIP) --no-build-isolation --editable

$(INSTALLED): pyproject.toml CMakeLists.txt tools/bootstrap $(wildcard src/sparsepath/_core/*.[ch]pp)
	@./tools/bootstrap "$(PYTHON)" "$(VENV)"
	@$(call INSTALL,$(VENV)) .
	@touch $@

$(READY): $(INSTALLED)
	@$(call INSTALL,$(VENV)) ".[dev]"
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
	@$(BIN)/python tools/wording.py

# What takes one core each goes side by side; tests that are left go to idle workers (worksteal).
test: $(READY)
	@$(MAKE) --no-print-directory -j 2 check package docs
	@$(call WITH_TOOLS,$(VENV)) $(BIN)/python tools/sanitize.py
	@$(BIN)/python -m pytest -q -n auto --dist worksteal

sanitize: $(READY)
	@$(call WITH_TOOLS,$(VENV)) $(BIN)/python tools/sanitize.py

package: $(READY)
	@$(call WITH_TOOLS,$(VENV)) $(BIN)/python tools/package.py

docs: $(READY)
	@$(BIN)/python -m sphinx -W --keep-going -q -j auto -d build/doctrees docs build/site
	@echo "build/site/index.html"

linkcheck: $(READY)
	@$(BIN)/python -m sphinx -b linkcheck -q -d build/doctrees docs build/linkcheck

$(LOWEST)/.ready: pyproject.toml tools/lowest.py
	@./tools/bootstrap "$(PYTHON)" "$(LOWEST)"
	@$(LOWEST)/bin/python tools/lowest.py > $(LOWEST)/constraints.txt
	@$(call INSTALL,$(LOWEST)) ".[test]" --constraint $(LOWEST)/constraints.txt
	@touch $@

lowest: $(LOWEST)/.ready
	@$(LOWEST)/bin/python -m pytest -q -n auto -W ignore::DeprecationWarning $(QUICK)

$(VENV)/.bench: $(READY)
	@$(call INSTALL,$(VENV)) ".[dev,bench]"
	@touch $@

bench: $(VENV)/.bench
	@for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

ROWS ?= 10000000
bench-scale: $(READY)
	@$(BIN)/python benchmarks/scale.py --rows $(ROWS)

# Fast scripts run first; finished parts are kept in build/, so that an interrupted run resumes.
papers: $(READY)
	$(BIN)/python experiments/exact_search.py
	$(BIN)/python experiments/strong_search.py
	$(BIN)/python experiments/coefficient_coverage.py
	$(BIN)/python experiments/false_discoveries.py
	$(BIN)/python experiments/greedy_rls.py
	$(BIN)/python experiments/floating_rls.py
	$(BIN)/python experiments/elmfs_claims.py --parts build/elmfs
	$(BIN)/python experiments/elmfs.py --full --parts build/elmfs
	$(BIN)/python experiments/elmfs_honest.py --parts build/elmfs-honest
	$(BIN)/python experiments/grafting.py
	$(BIN)/python experiments/grown_networks.py --parts build/grown-networks
	$(BIN)/python experiments/rbf.py --grid 10 --turns 4 --parts build/rbf
	$(BIN)/python experiments/arena.py
	$(BIN)/python experiments/honest.py 20 200 100 build/honest

N ?= 100000
fuzz: $(READY)
	@$(BIN)/python tools/fuzz.py --cases $(N)

clean:
	rm -rf $(VENV) $(LOWEST) demo-result build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
