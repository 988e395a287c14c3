"""Least squares on the simplex, against a fine grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from likewise.forecasting.simplex import mix


@given(seed=st.integers(0, 10_000), shrinkage=st.sampled_from([0.0, 0.1, 10.0]))
def test_no_point_of_a_grid_is_better(seed: int, shrinkage: float) -> None:
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(3, 20)) * rng.uniform(0.1, 2, size=(3, 1)) + rng.normal(size=20)
    gram, prior = errors @ errors.T / 20, np.array([0.2, 0.3, 0.5])
    weights = mix(gram, prior, shrinkage)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    strength = shrinkage * gram.diagonal().min()

    def cost(point: np.ndarray) -> float:
        return float(point @ gram @ point + strength * ((point - prior) ** 2).sum())

    steps = np.linspace(0, 1, 21)
    grid = [np.array([a, b, 1 - a - b]) for a in steps for b in steps if a + b <= 1]
    assert cost(weights) <= min(map(cost, grid)) + 1e-12


@pytest.mark.parametrize("count", [1, 2, 5])
def test_forecasts_without_errors_keep_the_prior(count: int) -> None:
    prior = np.full(count, 1 / count)
    np.testing.assert_allclose(mix(np.zeros((count, count)), prior, 0.1), prior)


def test_two_equal_forecasts_share_by_the_prior() -> None:
    gram = np.ones((2, 2))
    np.testing.assert_allclose(mix(gram, np.array([0.25, 0.75]), 0.1), [0.25, 0.75])


def test_a_strong_prior_wins() -> None:
    prior = np.array([0.1, 0.9])
    np.testing.assert_allclose(mix(np.diag([1.0, 100.0]), prior, 1e9), prior, atol=1e-6)


def test_a_forecast_that_is_far_better_than_the_others_is_not_held_back_by_them() -> None:
    weights = mix(np.diag([1.0, 1000.0]), np.array([0.5, 0.5]), 0.1)
    assert weights[0] > 0.99
