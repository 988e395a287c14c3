"""The examples in the docstrings of core are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "augment",
    "bags",
    "drawing",
    "encoders",
    "errors",
    "geometry",
    "masks",
    "memory",
    "negatives",
    "objective",
    "prototypes",
    "queues",
    "regularisers",
    "seeds",
    "tuning",
    "window_encoder",
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"likewise.core.{name}"))
    assert found.failed == 0
