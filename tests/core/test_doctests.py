"""The examples in the docstrings of core are true."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["errors", "geometry", "masks", "objective", "regularisers"])
def test_the_examples_of_a_module_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"likewise.core.{name}"))
    assert found.failed == 0
