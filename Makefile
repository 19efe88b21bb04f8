# The commands of this repository. `make` alone prints them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
PYTHON := $(VENV)/bin/python
# The interpreter that creates the virtual environment: 3.11 or newer.
PYTHON3 ?= python3

# The virtual environment is made anew only when what goes into it has changed: the stamp's name carries that hash.
INPUTS := requirements/dev.txt pyproject.toml packages/*/pyproject.toml
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
	$(PYTHON) -m pip install --quiet --no-deps --no-build-isolation -e packages/kubefacts -e packages/towtank -e .
	@touch $@

.PHONY: assets
assets: setup ## build etcd, kube-apiserver, kubectl, promtool, helm and the rest into a cache folder (first time: minutes)
	@$(PYTHON) tests/tools/assets.py helm
	@$(PYTHON) tests/tools/assets.py

.PHONY: test
test: setup try-assets ## run every check and suite, with a ledger at the end: about 20 minutes
	@$(PYTHON) -m tests.suites

.PHONY: test-all
test-all: setup try-assets ## what `make test` runs, and the longer suites
	@$(PYTHON) -m tests.suites --all

# Where Go is absent, tests on a real API server are skipped and say so. Never where CI is set.
.PHONY: try-assets
try-assets: setup
	@{ $(PYTHON) tests/tools/assets.py && $(PYTHON) tests/tools/assets.py helm; } || { test -z "$${CI:-}" && ! command -v go > /dev/null; }

.PHONY: pythons
pythons: setup ## run the suites unit and core on each Python, from 3.11 on, that there is: make pythons [ON="unit core"]
	@$(PYTHON) -m tests.tools.pythons $(ON)

.PHONY: kind
kind: setup ## build the image and run it on a cluster of kind (needs docker, kind, kubectl)
	@$(PYTHON) -m tests.kind

.PHONY: lint
lint: setup ## run ruff and the import contracts
	@$(PYTHON) -m tests.suites lint

.PHONY: types
types: setup ## run mypy
	@$(PYTHON) -m tests.suites types

.PHONY: format
format: setup ## rewrite the source as ruff wants it
	@$(VENV)/bin/ruff check --fix
	@$(VENV)/bin/ruff format

.PHONY: generate
generate: setup try-assets ## rewrite the generated files: crds/, the chart, and docs/ of conditions, plugins and metrics
	@$(PYTHON) -m tests.generate

.PHONY: screenshots
screenshots: setup ## draw the page's views into docs/screenshots, from the invented cluster (needs chromium)
	@$(PYTHON) -m tests.page.screenshots

.PHONY: vendor
vendor: ## fetch the libraries and fonts of the page anew, as tests/tools/vendor_page.py says (needs npm)
	@$(PYTHON3) tests/tools/vendor_page.py

VECTORS ?= tests/vectors/cases

.PHONY: vectors
vectors: setup ## compare with kube-scheduler's decisions: make vectors [VECTORS=DIR] [FAMILIES=A,B]
	@$(PYTHON) -m tests.vectors $(VECTORS) $(if $(FAMILIES),--families $(FAMILIES))

.PHONY: bench
bench: setup ## time decisions without I/O, for each workload and number of assigned pods
	@$(PYTHON) -m tests.bench.decisions

ROUNDS ?= 3

.PHONY: bench-devices
bench-devices: setup assets ## pods with devices beside kube-scheduler and a floor of the same writes: make bench-devices [ROUNDS=N]
	@$(PYTHON) -m tests.bench.devices --rounds $(ROUNDS)

ORDERS ?= 10
DEMAND ?= learnt

.PHONY: bench-openb
bench-openb: setup ## place a public trace of 6,200 shared GPUs: make bench-openb [ORDERS=N] [DEMAND=told]
	@$(PYTHON) -m tests.bench.openb --orders $(ORDERS) --demand $(DEMAND)

.PHONY: demo
demo: setup ## show the operator at work on the embedded cluster; Ctrl-C ends all: make demo [DEMO="--nodes 20 --tour"]
	@$(VENV)/bin/moorage demo $(DEMO)

.PHONY: demo-real
demo-real: setup assets ## the same on a real kube-apiserver
	@$(PYTHON) -m tests.tools.demo_real $(DEMO)

# Where the files will be uploaded to: what krew is told.
RELEASE_URL ?=

.PHONY: release
release: setup ## write into dist/ what is handed out: make release [RELEASE_URL=https://...]
	@$(PYTHON) -m tests.tools.release $(if $(RELEASE_URL),--url $(RELEASE_URL))

.PHONY: clean
clean: ## remove what was made here; the cache of assets stays
	rm -rf $(VENV) .pythons build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find operator tests -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: docs
docs: setup ## write the documentation as a site to site/, without any network
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet && echo "site/index.html"
