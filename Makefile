# All tools live in .venv, installed from the lock files once.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
# Most tests wait for servers rather than compute. Those of one file stay together, and each job has servers of its own.
JOBS ?= 3
READY := .venv/.ready
LOCKS := requirements-build.lock requirements-dev.lock
COMPILE := CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links

.DEFAULT_GOAL := help
.PHONY: help setup demo test bench lint lock clean

help: ## Show these targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 8

setup: $(READY) ## Install everything into .venv

demo: $(READY) ## Show ratings at work; KAFKA=host:port and REDIS=url use servers of yours
	@$(BIN)/gammon-ratings demo $(if $(KAFKA),--kafka "$(KAFKA)") $(if $(REDIS),--redis "$(REDIS)")

test: lint ## Run all checks and all tests; JOBS=1 one after the other
	$(BIN)/pytest -n $(JOBS) --dist loadfile

bench: $(READY) ## Measure throughput
	$(BIN)/python -m tests.bench

lint: $(READY) ## Run the checks that need no server
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

lock: $(READY) ## Renew the lock files from pyproject.toml
	$(COMPILE) --only-build-deps --build-deps-for editable --build-deps-for wheel -o requirements-build.lock pyproject.toml
	$(COMPILE) -o requirements.lock pyproject.toml
	$(COMPILE) --extra demo --extra dev -c requirements.lock -o requirements-dev.lock pyproject.toml

clean: ## Remove .venv and everything made by tools
	rm -rf .venv .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache dist

$(READY): $(LOCKS) pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed: install it, or name it with make PYTHON=..." >&2; exit 1; }
	@echo "Installing into .venv (once; a minute or so)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(LOCKS:%=-r %)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
