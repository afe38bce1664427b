# slurmpod: the commands of this project. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

ENV ?= dev
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests with random or sampled cases, of which `make test-deep` runs more; the last only there.
SEARCHES := tests/pure/property tests/templates/random tests/pure/rules/test_mutations.py \
	tests/nodes/test_life.py tests/nodes/test_reconfiguration.py \
	tests/nodes/test_take_down.py tests/nodes/test_variants.py
# Four workers: many tests wait for nodes.
PYTEST := pytest --numprocesses=4 --durations=10 --durations-min=1
export PATH := $(CURDIR)/$(BIN):$(CURDIR)/node_modules/.bin:$(PATH)
# Let Python write bytecode even if a container's image disables it: otherwise each start compiles again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help python setup image machine browser rehearse ready test test-all test-deep check synth golden facts docs bench lock clean

help: ## List the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18
	@printf '\n  ENV=name chooses environments/name.yaml (default: dev)\n'

python:
	@PYTHON=$(PYTHON) scripts/setup.sh python

setup: python ## Install what is missing into this folder: virtual environment, Node, the CDK command line
	@PYTHON=$(PYTHON) scripts/setup.sh

image: python
	@$(PYTHON) -m slurmpod.rehearsal.nodes.preparation

machine: ## Prepare this machine for rehearsals: setup, Debian packages and the node image
	@$(MAKE) --jobs=2 setup image

browser: ## Install the browser for tests of pages, unless it is installed
	@scripts/browser.sh

rehearse: machine ## Deploy ENV into an embedded AWS with real Slurm nodes and run a job (KEEP=1: leave it running)
	@slurmpod rehearse environments/$(ENV).yaml $(if $(KEEP),--keep)

test: ready ## Check everything, and test each kind of thing once; docs/testing.md lists what it leaves out
	@$(PYTEST) -m "not further"

test-all: ready ## Check everything, and run all tests, as CI does
	@$(PYTEST)

ready:
	@$(MAKE) --jobs=2 setup image check
	@$(MAKE) browser

test-deep: machine ## Search longer for new bugs: more cases, different each time, all examples with nodes
	@pytest --numprocesses=2 --hypothesis-profile=deep --timeout=3600 --durations=10 --durations-min=1 $(SEARCHES)

check: setup ## Check format, style, types, import rules and shell scripts
	@ruff format --check .
	@ruff check .
	@# On a busy machine workers start too late for mypy (3 s) and end it: then run it without them.
	@mypy --num-workers=2 >/dev/null 2>&1 || mypy
	@mypy --python-version 3.10 lifecycle_scripts
	@# Programs of jobs import each other by name, as they share a folder there; PyTorch is not installed.
	@MYPYPATH=$$(ls -d templates/jobs/*/ | paste -sd:) mypy --python-version 3.10 --allow-subclassing-any \
		--no-warn-return-any --ignore-missing-imports templates/jobs
	@lint-imports
	@# Scripts may source files that are rendered next to them (SC1091).
	@git ls-files -z ':!*.py' ':!*.j2' ':!*.md' ':!tests/cases/job_examples' ':!tests/cases/jobs' | xargs -0 grep --directories=skip -lZE '^#!.*/(env )?(ba)?sh$$' | xargs -0 shellcheck --exclude=SC1091
	@slurmpod schema --check

synth: setup ## Synthesize all environments together, with all findings as errors
	@cdk synth --quiet --strict --no-lookups --context env=all

golden: setup ## Refresh the golden files; review the diff before committing
	@pytest -q --update-golden
	@git status --short tests/cases/golden environments docs embedded_aws/data slurmpod/preflight/checks.json

facts: setup ## Compare slurmpod/data/facts.csv with AWS's current publications; print what a difference affects
	@python -m tools.facts

docs: setup ## Build the handbook from docs/ into build/handbook/site, with links checked
	@python -m tools.handbook

bench: machine ## Run all benchmarks, or PARTS such as "start recipes", and print a table
	@PYTHONPATH=lifecycle_scripts python -m benchmarks $(PARTS)

lock: setup ## Pin all dependencies of pyproject.toml again
	@scripts/lock.sh

clean: ## Remove everything that `make setup` and the CDK created in this folder
	rm -rf $(VENV) .venv-* build/handbook node_modules cdk.out .mypy_cache .ruff_cache .pytest_cache .import_linter_cache *.egg-info
