"""The examples in the docstrings of the room are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "bootstrap",
    "candidates",
    "content",
    "cooccurrence",
    "events",
    "generator",
    "histories",
    "linear",
    "popularity",
    "ranking",
    "shards",
    "spectral",
    "spread",
    "strata",
    "vocabulary",
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"likewise.recsys.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
