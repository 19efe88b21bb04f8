# The commands of this repository. `make` alone prints them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
PYTHON := $(VENV)/bin/python
# The interpreter that creates the virtual environment: 3.11 or newer.
PYTHON3 ?= python3

# The virtual environment is made anew only when what goes into it has changed: the stamp's name carries that hash.
INPUTS := requirements/dev.txt pyproject.toml
STAMP := $(VENV)/.made-$(shell cat $(INPUTS) | sha256sum | cut -c1-16)

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) ## create .venv with everything pinned (quick when nothing changed)

$(STAMP):
	@$(PYTHON3) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version + ": make setup PYTHON3=/path/to/python3.11")'
	test -x $(PYTHON) || $(PYTHON3) -m venv $(VENV)
	rm -f $(VENV)/.made-*
	$(PYTHON) -m pip install --quiet --require-hashes -r requirements/dev.txt
	$(PYTHON) -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@
