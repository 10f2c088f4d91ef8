# `make run`: the main job. `make quick`: tests of about a minute. `make test`: all of them.
# They make and share the virtual environment .venv.
PYTHON ?= python3
VENV ?= .venv
OLDEST ?= .venv-oldest
DOCS ?= .venv-docs
BIN = $(VENV)/bin
# setuptools warns in every editable installation that folders of the same name win.
pip = PYTHONWARNINGS=ignore $(1)/bin/python -m pip install --quiet \
  --disable-pip-version-check
# pip reads [dependency-groups] only from 25.1 on, so the names are handed to it.
group = $$($(1)/bin/python -c "import tomllib; \
  print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['$(2)'])")
# Without ensurepip (Debian: python3-venv) a folder is left that looks complete. A new pip
# builds what has no wheel without notes on what an old one would do later.
make_venv = $(PYTHON) -m venv --upgrade-deps $(1) || { rm -rf $(1); exit 1; }
# One test process a core: BLAS threads on top of that only wait for each other.
SINGLE = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS ?= 2
TESTS ?=
FAULTS ?=
# What a minute can say: the parts in which nothing is trained for long.
QUICK ?= tests/test_import.py tests/test_space.py tests/test_history.py \
  tests/test_storage.py tests/test_evaluation.py tests/test_predictions.py \
  tests/test_stopping.py tests/acquisition tests/surrogates tests/optimizers \
  tests/hypergradients tests/execution/test_runner.py tests/search/test_base.py
# Extras that need a compiler, or are large: tests that miss them are skipped.
EXTRAS = liblinear openml
GALLERY ?= 1
# What the oldest supported scikit-learn is tested with; see test-oldest.
OLDEST_TESTS ?= tests/test_space.py tests/search tests/optimizers tests/cases tests/conformance

.PHONY: run quick test test-oldest test-wheel mutants check docs benchmarks clean

run: $(VENV)/.installed
	$(SINGLE) $(BIN)/python benchmarks/quickstart.py

quick: $(VENV)/.tests
	$(SINGLE) $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(QUICK)

test: $(VENV)/.tests
	$(SINGLE) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(TESTS)

test-oldest: $(OLDEST)/.installed
	$(SINGLE) $(OLDEST)/bin/python -m pytest -n $(WORKERS) --dist worksteal \
	  $(wildcard $(OLDEST_TESTS))

# Whether the tests notice faults in the numerical core, some ten minutes; see
# tests/mutants.py. FAULTS=hypergradients/ takes those of a folder.
mutants: $(VENV)/.installed
	$(SINGLE) $(BIN)/python tests/mutants.py $(FAULTS)

# GALLERY=0 leaves the examples unexecuted.
docs: $(DOCS)/.installed
	$(SINGLE) $(DOCS)/bin/sphinx-build -W --keep-going --fresh-env -b html \
	  -D plot_gallery=$(GALLERY) docs docs/_build/html

check: $(VENV)/.linters
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/repo-review .

# Whether every micro-benchmark runs; for figures: asv run in a quiet machine's checkout.
benchmarks: $(VENV)/.benchmarks
	$(BIN)/asv machine --yes
	$(BIN)/asv check --python=same
	$(SINGLE) $(BIN)/asv run --python=same --quick

# The wheel and the sdist, and the tests on what they install; see .ci/test_wheel.sh.
test-wheel: $(VENV)/.linters
	.ci/test_wheel.sh $(BIN)/python

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "accsmbo needs Python >= 3.11; name one: PYTHON=python3.12 make run"; exit 1; }
	$(call make_venv,$(VENV))

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "Installing accsmbo into $(VENV) ..."
	$(call pip,$(VENV)) --editable ".[plot]"
	@touch $@

$(VENV)/.tests: $(VENV)/.installed
	@echo "Installing the test requirements into $(VENV) ..."
	$(call pip,$(VENV)) $(call group,$(VENV),test)
	@for extra in $(EXTRAS); do \
	  $(call pip,$(VENV)) --editable ".[$$extra]" 2>$(VENV)/$$extra.log || \
	  echo "Left out: accsmbo[$$extra] cannot be installed here, its tests are skipped" \
	    "($(VENV)/$$extra.log says why; rm $@ to try again)."; \
	done
	@touch $@

$(VENV)/.linters: $(VENV)/.tests
	$(call pip,$(VENV)) $(call group,$(VENV),lint)
	@touch $@

$(VENV)/.benchmarks: $(VENV)/.installed
	$(call pip,$(VENV)) $(call group,$(VENV),benchmark)
	@touch $@

$(OLDEST)/bin/python:
	$(call make_venv,$(OLDEST))

$(OLDEST)/.installed: pyproject.toml | $(OLDEST)/bin/python
	$(call pip,$(OLDEST)) --editable . \
	  "scikit-learn==1.6.*" "numpy==2.0.*" "scipy==1.13.*" "joblib==1.4.*" \
	  "pandas==2.2.*" $(call group,$(OLDEST),test)
	@touch $@

$(DOCS)/bin/python:
	$(call make_venv,$(DOCS))

$(DOCS)/.installed: pyproject.toml | $(DOCS)/bin/python
	$(call pip,$(DOCS)) --editable . \
	  $(call group,$(DOCS),docs)
	@touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(DOCS) build dist *.egg-info
	rm -rf docs/_build docs/auto_examples docs/generated docs/sg_execution_times.rst
