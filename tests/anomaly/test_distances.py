"""Exact neighbours: equal to the loop, whatever the scale, the batch or the twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from likewise.anomaly.distances import Lengths
from likewise.core import SettingError, TooFewRows

from tests.naive_anomaly import naive_nearest

finite = st.floats(-1e3, 1e3, width=32)


@settings(max_examples=40, deadline=None)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(1, 4)), elements=finite),
    st.integers(1, 2),
)
def test_neighbours_equal_the_loop(rows: np.ndarray, k: int) -> None:
    found = Lengths(rows).nearest(rows, k)
    for at, expected in enumerate(naive_nearest(rows.tolist(), rows.tolist(), k)):
        np.testing.assert_allclose(found.distances[at], [d for d, _ in expected], atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(hnp.arrays(np.float64, st.tuples(st.integers(3, 12), st.just(2)), elements=finite))
def test_a_row_left_out_never_answers_for_itself(rows: np.ndarray) -> None:
    found = Lengths(rows).leave_one_out(1)
    assert (found.rows[:, 0] != np.arange(len(rows))).all()
    twin = naive_nearest(rows.tolist(), rows.tolist(), 1, leave_out=list(range(len(rows))))
    np.testing.assert_allclose(found.distances[:, 0], [one[0][0] for one in twin], atol=1e-9)


def test_many_rows_over_several_tiles_equal_the_plain_computation() -> None:
    draw = np.random.default_rng(0)
    rows, queries = draw.normal(size=(20_000, 5)), draw.normal(size=(300, 5))
    found = Lengths(rows).nearest(queries, 3)
    plain = np.sqrt(((rows[None, :, :] - queries[:20, None, :]) ** 2).sum(axis=2))
    np.testing.assert_allclose(found.distances[:20], np.sort(plain, axis=1)[:, :3], rtol=1e-12)


def test_an_answer_does_not_depend_on_its_batch() -> None:  # case anomaly#15
    draw = np.random.default_rng(1)
    index = Lengths(draw.normal(size=(5_000, 30)))
    queries = draw.normal(size=(300, 30))
    whole = index.nearest(queries, 4)
    for at in (0, 7, 299):
        assert (index.nearest(queries[at : at + 1], 4).distances[0] == whole.distances[at]).all()


def test_twins_are_exactly_zero_and_finite() -> None:  # case anomaly#10
    rows = np.concatenate([np.tile([1 / 3, 0.1], (10, 1)), [[0.34, 0.1], [0.3, 0.1]]])
    found = Lengths(rows).leave_one_out(5)
    assert (found.distances[:10] == 0).all()
    assert np.isfinite(found.distances).all()
    assert found.distances[10, 0] < 0.01


def test_a_far_origin_costs_no_digits() -> None:  # case anomaly#14
    draw = np.random.default_rng(2)
    near = draw.normal(size=(500, 4)) * 0.01
    there = Lengths(near + 1e4).leave_one_out(1).distances
    here = Lengths(near).leave_one_out(1).distances
    assert np.abs(there / here - 1).max() < 1e-3


def test_too_few_rows_and_no_neighbours_are_refused() -> None:
    with pytest.raises(TooFewRows, match="k=3"):
        Lengths(np.zeros((3, 1))).leave_one_out(3)
    with pytest.raises(SettingError):
        Lengths(np.zeros((3, 1))).nearest(np.zeros((1, 1)), 0)


@pytest.mark.parametrize("k", [1, 7, 40])
def test_ranking_groups_first_loses_no_neighbour(k: int) -> None:
    # Few different values make ties; 1,003 rows leave some outside of the groups.
    rows = np.random.default_rng(4).integers(0, 9, (1_003, 2)).astype(float)
    queries = rows[:60] + 0.25
    plain = np.sqrt(((rows[None] - queries[:, None]) ** 2).sum(axis=2))
    found = Lengths(rows).nearest(queries, k)
    np.testing.assert_allclose(found.distances, np.sort(plain, axis=1)[:, :k], rtol=1e-12)
