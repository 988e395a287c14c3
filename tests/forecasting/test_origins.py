"""Origins: what lies before and behind a point in time, series by series."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.forecasting.origins import (
    Origins,
    complete,
    futures,
    latest_origins,
    origins_at,
    pasts,
)

from tests.forecasting.planted import Series, panel_of
from tests.naive_forecasting import naive_future, naive_past

NAN = float("nan")
SERIES = st.lists(
    st.tuples(
        st.integers(-8, 8),
        st.lists(st.one_of(st.integers(-9, 9).map(float), st.just(NAN)), max_size=14).map(
            lambda inner: [1.0, *inner, 2.0]
        ),
    ),
    min_size=1,
    max_size=4,
)


@given(series=SERIES, lookback=st.integers(1, 6), horizon=st.integers(1, 6))
@settings(deadline=None)
def test_pasts_and_futures_are_those_of_the_slow_twin_at_every_row(
    series: Series, lookback: int, horizon: int
) -> None:
    panel = panel_of(series)
    origins = origins_at(panel, np.arange(-20, 40))
    expected = [
        (step, number)
        for step in range(-20, 40)
        for number, (start, values) in enumerate(series)
        if start <= step < start + len(values)
    ]
    found = list(zip(origins.steps.tolist(), origins.series.tolist(), strict=True))
    assert found == expected
    before, behind = pasts(panel, origins, lookback), futures(panel, origins, horizon)
    for place, (step, number) in enumerate(expected):
        np.testing.assert_array_equal(before[place], naive_past(series, number, step, lookback))
        np.testing.assert_array_equal(behind[place], naive_future(series, number, step, horizon))
    whole = [not any(np.isnan(row)) for row in before.tolist()]
    assert complete(before).tolist() == whole


def test_the_latest_origin_of_a_series_is_its_own_last_row() -> None:
    panel = panel_of([(0, [1.0, 2.0]), (7, [3.0, 4.0, 5.0])])
    origins = latest_origins(panel)
    assert origins.steps.tolist() == [1, 9]
    assert panel.values[origins.rows(panel)].tolist() == [2.0, 5.0]
    assert np.isnan(futures(panel, origins, 1)).all()


def test_origins_are_picked_by_slice_mask_and_number() -> None:
    origins = Origins(np.array([0, 1, 0]), np.array([5, 5, 6]))
    assert origins[:2].steps.tolist() == [5, 5]
    assert origins[origins.series == 0].steps.tolist() == [5, 6]
    assert origins[np.array([2])].steps.tolist() == [6]
    assert len(origins) == 3


@pytest.mark.parametrize(
    ("step", "past"),
    [
        (2, [1.0, 2.0]),
        (3, [2.0, NAN]),
        (4, [NAN, NAN]),
        (5, [4.0, 5.0]),
    ],
)
def test_a_value_drawn_towards_a_later_one_is_missing_until_that_one_is_there(
    step: int, past: list[float]
) -> None:
    panel = panel_of([(1, [1.0, 2.0, NAN, NAN, 5.0])], gaps="interpolate")
    assert panel.values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    found = pasts(panel, Origins(np.array([0]), np.array([step])), 2)
    np.testing.assert_array_equal(found[0], past)
