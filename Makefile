# Everything from a bare Python 3.11 or later; README.md spells the same out without make.
PYTHON ?= python3
bin := .venv/bin
# The install links files one by one, so a folder that gained or lost a file asks for it again.
folders := $(shell find core forecasting anomaly recsys -type d -not -name __pycache__)

.PHONY: demo test slow lint results install

demo: install
	$(bin)/likewise demo

test: install
	$(bin)/python -m pytest

slow: install
	$(bin)/python -m pytest -m slow

lint: install
	$(bin)/ruff format --check .
	$(bin)/ruff check .
	$(bin)/mypy -p likewise.core -p likewise.forecasting -p likewise.anomaly -p likewise.recsys
	$(bin)/lint-imports

results: install
	$(bin)/python -m benchmarks.assemble

install: .venv/installed

.venv/installed: pyproject.toml setup.cfg constraints.txt $(folders)
	$(PYTHON) -m venv .venv
	$(bin)/python -m pip install -c constraints.txt -e '.[demo,dev]'
	touch $@
