# make demo | image | test | test-all | check: each does its own set-up on a fresh Debian or Ubuntu.
PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch==2.13.0
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check
APT := $(PYTHON) deskgym/apt.py
.DEFAULT_GOAL := help

.PHONY: help setup setup-test demo docs image test test-all proofs check bench clean

help:  ## what can be made
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1\t/'

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "deskgym needs Python 3.11 or newer; set PYTHON="; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(APT) venv
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: setup.cfg pyproject.toml | $(VENV)/bin/python
	@echo "installing Python packages into $(VENV)"
	@$(PIP) -e .
	@touch $@

# torch first, so that you can choose its build: TORCH='torch --index-url URL' with PyTorch's index of CPU builds spares
# gigabytes of CUDA; TORCH= leaves the choice to pip.
$(VENV)/.installed-dev: setup.cfg pyproject.toml | $(VENV)/bin/python
	@echo "installing Python packages for training, tests and checks into $(VENV)"
	@[ -z "$(TORCH)" ] || $(PIP) $(TORCH)
	@$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.installed

# apt first: it is what may have to wait for another program, and to ask for a password.
setup:  ## Python packages, and what the demo's program needs; `deskgym install SUITE` installs more
	@$(APT) core kalgebra
	@$(MAKE) --no-print-directory $(VENV)/.installed
	@$(BIN)/deskgym install kalgebra --yes

setup-test:  ## the same, with all that training and the tests need
	@$(APT) core suites test view vnc image vm gvisor
	@$(MAKE) --no-print-directory $(VENV)/.installed-dev
	@for tasks in task_suites/*/tasks; do $(BIN)/deskgym install $$(basename $$(dirname $$tasks)) --yes || exit 1; done

demo: setup  ## an oracle solves a real task; leaves out/demo.html with pictures
	$(BIN)/deskgym run science --task kalgebra/plot-2d --agent oracle --seed 7 --screen 1280x720 --record out/demo
	$(BIN)/deskgym view out/demo --out out/demo.html
	@echo "open out/demo.html"

docs: | $(VENV)/bin/python  ## the documentation as a site, in out/docs; a dead link is an error
	@$(PIP) -q -e '.[docs]'
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html docs out/docs
	@echo "open out/docs/index.html"

image:  ## a disk image with the science programs, for virtual machines
	@$(APT) image vm
	@$(MAKE) --no-print-directory setup
	@$(PIP) -e '.[vm]'
	$(BIN)/deskgym image build science

test: setup-test  ## the tests, without those marked slow
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile -m "not slow"

test-all: setup-test  ## all the tests
	$(BIN)/python -m pytest

proofs: setup-test  ## play what has no valid proof, of all suites; commit the ledgers that it writes
	@for tasks in task_suites/*/tasks task_suites/*/dialogues task_suites/*/demonstrations; do suites="$$suites $$(basename $$(dirname $$tasks))"; done; \
	for suite in $$suites "science --interface gui"; do $(BIN)/deskgym verify $$suite --workers 2 --retry || failed=1; done; \
	exit $${failed:-0}

check: $(VENV)/.installed-dev  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p deskgym

bench: setup-test  ## all that is measured, on this machine; writes out/bench
	$(BIN)/deskgym bench --out out/bench

clean:  ## remove what was built, never what you recorded
	rm -rf build dist $(VENV) *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
