"""The examples in the docstrings of the anomaly room are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "blindspots",
    "combining",
    "detector",
    "distances",
    "evaluation",
    "events",
    "outlier",
    "threshold",
    "vus",
    "window_joining",
    "windows",
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"likewise.anomaly.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
