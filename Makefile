# Every target sets up what it needs first; `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-done
SCANNERS := .venv-checkov
SCANNERS_STAMP := $(SCANNERS)/.setup-done
TRAINING := .venv-train
RELEASING := .venv-release
MUTATING := .venv-mutation
TRAINING_STAMP := $(TRAINING)/.setup-done

.DEFAULT_GOAL := help
.PHONY: help setup checkov training demo quick test scan frameworks engine soak check format bench mutation sdk breaking generate docs release clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv with everything locked and the packages installed editable

# The stamp names the interpreter, so that a moved checkout or a new Python sets up afresh.
$(STAMP): requirements/bootstrap.txt requirements/dev.txt pyproject.toml
	@echo "setting up $(VENV) (once; one to two minutes) ..."
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Sizewell needs Python 3.11 or later, this is %s; set PYTHON=" % sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

checkov: $(SCANNERS_STAMP) ## make .venv-checkov: Checkov, zizmor and the data of AWS, which cannot share an environment with Pulumi

$(SCANNERS_STAMP): requirements/checkov.txt $(STAMP)
	@echo "setting up $(SCANNERS) (once; about half a minute) ..."
	@test -x $(SCANNERS)/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(SCANNERS)
	@$(BIN)/uv pip install --quiet --no-deps --python $(SCANNERS)/bin/python --require-hashes -r requirements/checkov.txt
	@touch $@

training: $(TRAINING_STAMP) ## make .venv-train: PyTorch and JAX, in which the entry scripts of training jobs are tested

# The lock leaves out what PyTorch names and does not load on a CPU, hence --no-deps.
$(TRAINING_STAMP): requirements/train.txt $(STAMP)
	@echo "setting up $(TRAINING) (once; about a minute, 4 GB) ..."
	@test -x $(TRAINING)/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(TRAINING)
	@$(BIN)/uv pip install --quiet --no-deps --python $(TRAINING)/bin/python --require-hashes -r requirements/train.txt
	@touch $@

demo: setup ## size, price and policy-check the example workloads on three clouds; no account needed
	@$(BIN)/python -m sizewell.cli.demo

# Specs, records, money, rules and the command together: what most changes break first. The test left out evaluates every stack.
QUICK := tests/workload tests/records tests/resources tests/policy/test_cases.py tests/cli/test_rooms.py tests/test_doctests.py \
	--deselect tests/resources/test_component_types.py::test_types_in_stacks_are_known

quick: setup ## lint and a chosen set of tests, under a minute on two cores
	@$(BIN)/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not soak and not engine" $(QUICK)

# Where Python is told to write no bytecode, each command that a test starts would compile the package again.
test: setup ## all tests that need nothing but .venv
	@$(BIN)/python -m compileall -q -x /templates/ src
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not soak and not engine and not scan and not frameworks"

# Beside `make test`, each a job of its own in CI: what judges or runs the output with tools that are not Python's alone.
scan: setup checkov ## only the tests that ask Checkov, zizmor and the data of AWS
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "scan and not soak"

frameworks: setup training ## only the tests that run PyTorch, JAX and the clouds' real clients
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "frameworks and not soak"

engine: setup ## only the tests under the real Pulumi engine
	@$(BIN)/python -m pytest -q -m "engine and not soak"

soak: setup checkov training ## the long runs
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q -rs -m soak

sdk: setup ## the contract with Pulumi's SDK against its three newest releases, each in an environment of its own
	@$(BIN)/python tools/sdk_releases.py

breaking: setup ## what the last release has and the working tree has no more: public Python names, arguments, schemas
	@$(BIN)/python tools/breaking.py $(SINCE)

check: setup ## format, lint, types, import direction, generated files, words of the glossary, the documentation site and its links
	@$(BIN)/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo > .lint-imports.log 2>&1 || { cat .lint-imports.log; rm .lint-imports.log; exit 1; }; rm .lint-imports.log
	@$(BIN)/python tools/generate.py --check
	@$(BIN)/python tools/words.py
	@$(BIN)/python tools/check_links.py
	@$(BIN)/python tools/site.py

format: setup ## format the code
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix-only .

generate: setup ## write every generated file again (schemas, README output, docs tables)
	@$(BIN)/python tools/generate.py

docs: setup ## the documentation site: build/site/index.html
	@$(BIN)/python tools/site.py

release: setup ## dist/: wheel, source archive, SBOM of what they bring with every extra
	@test -x $(RELEASING)/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(RELEASING)
	@$(BIN)/uv pip install --quiet --python $(RELEASING)/bin/python --require-hashes -r requirements/release.txt
	@rm -rf dist && $(RELEASING)/bin/python -m build --no-isolation --outdir dist . > .release.log 2>&1 || { cat .release.log; rm .release.log; exit 1; }; rm .release.log
	@rm -rf $(RELEASING)/shipped && $(BIN)/uv venv --quiet --python $(BIN)/python $(RELEASING)/shipped
	@$(BIN)/uv pip install --quiet --python $(RELEASING)/shipped/bin/python --constraint requirements/dev.txt "sizewell[all] @ file://$(CURDIR)/$$(ls dist/*.whl)"
	@$(RELEASING)/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type application --output-reproducible --of JSON -o dist/sbom.cdx.json $(RELEASING)/shipped/bin/python
	@ls -l dist | awk 'NR > 1 {print $$5, "dist/" $$9}'

# A fault stands in the file on disk while its tests run: not in a checkout that somebody edits.
mutation: setup ## the share of small faults, put into the source one by one, that the tests notice; about a quarter of an hour
	@test -x $(MUTATING)/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(MUTATING)
	@$(BIN)/uv pip install --quiet --python $(MUTATING)/bin/python --require-hashes -r requirements/mutation.txt
	@$(MUTATING)/bin/python benchmarks/mutation.py

bench: setup ## the benchmarks; prints medians and ratios
	@$(BIN)/python -m benchmarks

clean: ## remove .venv and its sisters, dist and caches
	@rm -rf $(VENV) $(SCANNERS) $(TRAINING) $(RELEASING) $(MUTATING) .venv-sdk dist .mypy_cache .pytest_cache .ruff_cache *.egg-info
