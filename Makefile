# Every command of the project by its name. Each verb does the set-up it needs, once.

PY := .venv/bin/python
SET_UP := .venv/.complete

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format bench mutants docs pins clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' Makefile

setup: $(SET_UP) ## make .venv, install the pinned dependencies, find or install Java
	@scripts/java.sh >/dev/null

demo: setup ## compare a rolling deploy's variants, let Spark tell a story, and draw a page of it
	@scripts/java.sh $(PY) -m groupsim.demo

# Two tests at a time, those on Spark one after the other: plain `pytest` runs all in turn.
test: setup lint ## lint, then run every test
	@scripts/java.sh scripts/chromium.sh $(PY) -m pytest -n 2 --dist loadgroup

lint: $(SET_UP) ## check style, format and types
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy

format: $(SET_UP) ## put the code in the format that lint asks for
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

# A benchmark is run as a module: as a file, benchmarks/coordinator.py would hide the package.
bench: setup ## run every benchmark in turn
	@set -e; for file in benchmarks/[!_]*.py; do \
		[ -e "$$file" ] || continue; \
		name=$$(basename "$$file" .py); \
		echo "== $$name"; \
		scripts/java.sh $(PY) -m "benchmarks.$$name"; \
	done

mutants: setup ## plant faults one at a time and show that the tests catch each
	@scripts/java.sh $(PY) -m tests.mutants

docs: $(SET_UP) ## draw the pictures of docs/pictures afresh, one for each scenario
	@PYTHONPATH=. $(PY) scripts/pictures.py

pins: ## write requirements.txt afresh, with the newest versions that pyproject.toml allows
	@scripts/pins.sh

clean: ## remove .venv and every cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(SET_UP): requirements.txt pyproject.toml
	@scripts/setup.sh
