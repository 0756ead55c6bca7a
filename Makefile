# Everything runs inside .venv, made on first use. PYTHON picks the interpreter: make test PYTHON=python3.12
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= auto

.PHONY: help install demo test test-quick test-long test-browser test-gpu test-all web check format bench examples docs notebooks clean
.DEFAULT_GOAL := help

help:
	@echo "make install   make .venv and install regard with its development tools"
	@echo "make demo      train two translators on the built-in corpus and see what attention is for, two to four minutes"
	@echo "make test      the tests: all but the long ones, those in a browser and those that need an accelerator"
	@echo "make test-quick    the operator, the layers and the rules of the house, a minute"
	@echo "make test-long     trainings, kills, several processes, compiled kernels"
	@echo "make test-browser  the studio in a real browser; needs Chromium and Node"
	@echo "make test-gpu      kernels and captured steps on a CUDA device"
	@echo "make test-all      all of these"
	@echo "make web       build the studio's page from web/; needs Node"
	@echo "make check     ruff (format and lint) and mypy --strict"
	@echo "make bench     the operator against SDPA, nn.MultiheadAttention, FlexAttention and eager"
	@echo "make examples  run every example; figures go to runs/examples"
	@echo "make docs      build the guide into site/, to be opened from the disk; under five minutes, seconds when built before"
	@echo "make notebooks write the chapters of the course as notebooks, from their pages"
	@echo "make clean     remove .venv and caches"

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "regard needs Python 3.11 or newer; found $$($(PYTHON) --version 2>&1). Name another: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing regard into $(VENV) (a minute or two the first time)"
	@PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

demo: install
	@$(BIN)/regard demo

# Two passes: torch.compile cannot trace jaxtyping's checks, and where tensors are not the subject they double the time.
SHAPES := tests/laws tests/reference tests/unit/attention tests/unit/layers tests/unit/models tests/unit/decoding
test: install
	@$(BIN)/python -m pytest -n $(JOBS) -m "shapes and not compiled and not gpu and not slow" $(SHAPES)
	@JAXTYPING_DISABLE=1 $(BIN)/python -m pytest -n $(JOBS) -m "(compiled or not shapes) and not gpu and not browser and not slow"

test-quick: install
	@$(BIN)/python -m pytest -n $(JOBS) -m "not compiled and not gpu and not slow" tests/house tests/reference tests/unit/attention tests/unit/layers

test-long: install
	@JAXTYPING_DISABLE=1 $(BIN)/python -m pytest -n $(JOBS) -m "slow and not gpu and not browser"

# Not part of test-all: it wants a CUDA device. Shape checks would hide Triton's functions from its compiler.
test-gpu: install
	@JAXTYPING_DISABLE=1 $(BIN)/python -m pytest -m gpu

test-all: test test-long test-browser

# Node is needed to build the studio's page and to test it, never to use it: what is built is committed.
web/node_modules: web/package-lock.json
	@cd web && npm ci --silent --ignore-scripts
	@touch web/node_modules

web: web/node_modules
	@cd web && npx --no-install tsc --noEmit && node build.mjs

test-browser: install web/node_modules
	@JAXTYPING_DISABLE=1 $(BIN)/python -m pytest -n $(JOBS) -m browser tests/browser

check: install
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: install
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: install
	@$(BIN)/regard bench attention

examples: install
	@for script in examples/*.py; do $(BIN)/python $$script || exit 1; done

# Figures and pages of chapters are kept in .cache/docs under a hash of their code.
docs: install
	@NO_MKDOCS_2_WARNING=1 OMP_NUM_THREADS=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

notebooks: install
	@$(BIN)/python docs/building/notebooks.py

clean:
	rm -rf site .cache $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
