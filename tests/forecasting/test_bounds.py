"""Ranks among draws, and back."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from likewise.core import SettingError
from likewise.forecasting.bounds import at_ranks, check_quantiles, ranks

numbers = st.floats(-100, 100, allow_subnormal=False)


def naive_rank(draws: list[float], value: float, spread: float) -> float:
    """The rank by walking from draw to draw."""
    middle = (len(draws) - 1) / 2
    if value <= draws[0]:
        return (value - draws[0]) / spread - middle
    if value > draws[-1]:
        return (value - draws[-1]) / spread + middle
    for place in range(len(draws) - 1):
        low, high = draws[place], draws[place + 1]
        if low < value <= high:
            return place + (value - low) / (high - low) - middle
    raise AssertionError


@given(
    draws=st.lists(numbers, min_size=1, max_size=9).map(sorted),
    value=numbers,
    spread=st.floats(0.1, 10),
)
def test_ranks_are_those_of_the_slow_twin(draws: list[float], value: float, spread: float) -> None:
    found = ranks(np.array(draws)[None, :, None], np.array([[value]]), np.array([spread]))
    expected = naive_rank(draws, value, spread)
    assert found[0, 0] == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(
    draws=st.lists(st.integers(-50, 50), min_size=1, max_size=9, unique=True).map(sorted),
    value=numbers,
)
def test_a_value_comes_back_from_its_rank(draws: list[int], value: float) -> None:
    there = np.array(draws, dtype=float)[None, :, None]
    rank = ranks(there, np.array([[value]]), np.array([2.0]))
    assert at_ranks(there, rank[0], np.array([2.0]))[0, 0] == pytest.approx(value, abs=1e-9)


@given(
    draws=st.lists(numbers, min_size=1, max_size=9).map(sorted),
    places=st.lists(st.floats(-20, 20), min_size=2, max_size=5).map(sorted),
)
def test_higher_ranks_are_higher(draws: list[float], places: list[float]) -> None:
    there = np.array(draws)[None, :, None]
    found = [at_ranks(there, np.array([p]), np.array([1.0]))[0, 0] for p in places]
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(found))


def test_quantiles_lie_between_0_and_1() -> None:
    assert check_quantiles([0.9, 0.1, 0.9]) == [0.1, 0.9]
    for wrong in ([0.0], [1.0], [0.5, 1.2], [float("nan")]):
        with pytest.raises(SettingError, match="between 0 and 1"):
            check_quantiles(wrong)
