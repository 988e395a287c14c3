"""How near becomes how heavy, against loops over every window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from likewise.core import SettingError
from likewise.forecasting.embeddings import RawEmbedding
from likewise.forecasting.kernels import Relative, Softmax, build_kernel, describe_kernel

from tests.naive_forecasting import naive_relative


def lifted_cosines(
    embedding: RawEmbedding, asking: np.ndarray, held: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Cosines of raw windows on the sphere, and the lengths of those that ask."""
    asked, stored = embedding.ask(asking), embedding.hold(held, held)
    lengths = np.linalg.norm(asked, axis=1)
    stored = stored / np.linalg.norm(stored, axis=1, keepdims=True)
    return (asked / lengths[:, None]) @ stored.T, lengths


@given(st.integers(0, 10_000), st.floats(1e-3, 1e3))
def test_cosines_on_the_sphere_stand_for_the_distances_of_raw_windows(
    seed: int, size: float
) -> None:
    draw = np.random.default_rng(seed)
    held, asking = size * draw.normal(size=(9, 5)), size * draw.normal(size=(3, 5))
    embedding = RawEmbedding.around(held)
    cosines, lengths = lifted_cosines(embedding, asking, held)
    for query, length, row in zip(asking, lengths, cosines, strict=True):
        squares = embedding.squares(row, np.repeat(length, len(row)))
        exact = ((held - query) ** 2).sum(axis=1)
        np.testing.assert_allclose(squares / embedding.unit**2, exact, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("reach", [0.1, 1.0, 10.0])
def test_relative_weights_are_those_of_the_slow_twin(reach: float) -> None:
    draw = np.random.default_rng(3)
    held, asking = draw.normal(size=(40, 6)), draw.normal(size=(2, 6))
    embedding = RawEmbedding.around(held)
    cosines, lengths = lifted_cosines(embedding, asking, held)
    flat, starts = cosines.ravel(), np.array([0, 40])
    logits = Relative(reach).logits(embedding, flat, lengths, starts).reshape(2, 40)
    for query, row in zip(asking, logits, strict=True):
        squares = ((held - query) ** 2).sum(axis=1).tolist()
        weights = np.exp(row - row.max())
        expected = naive_relative(squares, reach, 40)
        np.testing.assert_allclose(weights / weights.sum(), expected, rtol=1e-6)


def test_a_window_seen_before_takes_all_the_weight_and_nothing_divides_by_zero() -> None:
    held = np.random.default_rng(4).normal(size=(20, 6))
    embedding = RawEmbedding.around(held)
    cosines, lengths = lifted_cosines(embedding, held[7:8], held)
    logits = Relative(0.3).logits(embedding, cosines[0], lengths, np.array([0]))
    weights = np.exp(logits - logits.max())
    assert weights[7] / weights.sum() == pytest.approx(1)


def test_kernels_survive_as_plain_settings_and_refuse_a_reach_of_nothing() -> None:
    for kernel in (Softmax(), Softmax(0.25), Relative(0.3), Relative(3.0, neighbours=7)):
        assert build_kernel(describe_kernel(kernel)) == kernel
    with pytest.raises(SettingError, match="reach must be positive"):
        Relative(0.0)
