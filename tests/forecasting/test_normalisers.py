"""Normalisers: the same units for pasts and continuations, whatever the scale of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import SettingError
from likewise.forecasting.frames import Panel, read_frame
from likewise.forecasting.normalisers import Normaliser, training_deviations

from tests.naive import naive_moments, naive_normalised

KINDS = ("mean", "last", "z", "none")
NAN = float("nan")
WINDOWS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12)


def panel_of(*series: list[float]) -> Panel:
    rows = [
        (f"s{number}", place, value)
        for number, values in enumerate(series)
        for place, value in enumerate(values)
    ]
    return read_frame(pl.DataFrame(rows, schema=["unique_id", "ds", "y"], orient="row"), freq=1)


@pytest.mark.parametrize("kind", KINDS)
@given(window=WINDOWS, deviation=st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_a_past_in_its_units_is_that_of_the_slow_twin(
    kind: Any, window: list[float], deviation: float
) -> None:
    normaliser = Normaliser(kind)
    past, deviations = np.array([window]), np.array([deviation])
    found = normaliser.apply(past, *normaliser.measure(past, deviations))[0]
    np.testing.assert_allclose(found, naive_normalised(window, kind, deviation), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@given(past=WINDOWS, future=WINDOWS, deviation=st.floats(1e-3, 1e6))
@settings(deadline=None)
def test_undo_brings_back_what_apply_took(
    kind: Any, past: list[float], future: list[float], deviation: float
) -> None:
    normaliser = Normaliser(kind)
    base, scale = normaliser.measure(np.array([past]), np.array([deviation]))
    units = normaliser.apply(np.array([future]), base, scale)
    np.testing.assert_allclose(normaliser.undo(units, base, scale)[0], future, atol=1e-6)


@pytest.mark.parametrize("kind", ["mean", "last", "z"])
@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_do_not_know_the_scale_or_level_of_the_data(kind: Any, factor: float) -> None:
    # case forecasting#39
    rng = np.random.default_rng(5)
    walk = rng.normal(size=200).cumsum()
    walk[60:100] = walk[60]
    normaliser = Normaliser(kind)

    def units(values: np.ndarray) -> np.ndarray:
        deviation = training_deviations(panel_of(values.tolist()))
        pasts = np.lib.stride_tricks.sliding_window_view(values, 24)
        return normaliser.apply(pasts, *normaliser.measure(pasts, np.repeat(deviation, len(pasts))))

    np.testing.assert_allclose(units(factor * walk), units(walk), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(units(walk + 1e6), units(walk), atol=1e-6)


def test_a_flat_window_cannot_blow_up_what_followed_it() -> None:
    # cases forecasting#38 and #53
    rng = np.random.default_rng(6)
    values = np.concatenate([np.full(48, 3.0), rng.normal(size=400)])
    deviations = training_deviations(panel_of(values.tolist()))
    normaliser = Normaliser("z", floor=0.2, cap=10.0)
    pasts = np.stack([values[:24], values[400:424]])
    base, scale = normaliser.measure(pasts, np.repeat(deviations, 2))
    assert base[0] == 3
    assert scale[0] == pytest.approx(0.2 * deviations[0])
    future = values[48:72][None]
    elsewhere = normaliser.undo(normaliser.apply(future, base[:1], scale[:1]), base[1:], scale[1:])
    reach = np.abs(future - base[0]).max()
    assert np.abs(elsewhere - base[1]).max() <= normaliser.cap * reach


@given(pasts=st.lists(st.lists(st.floats(-1e9, 1e9), min_size=6, max_size=6), min_size=2))
@settings(deadline=None)
def test_two_scales_of_one_series_never_differ_by_more_than_the_cap(
    pasts: list[list[float]],
) -> None:
    _, scale = Normaliser("z", floor=0.5, cap=4.0).measure(np.array(pasts), np.ones(len(pasts)))
    assert scale.max() / scale.min() <= 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_masked_past_is_measured_by_what_it_holds(kind: Any) -> None:
    normaliser = Normaliser(kind)
    masked = np.array([[NAN, 1.0, 5.0], [2.0, NAN, NAN], [NAN, NAN, NAN]])
    base, scale = normaliser.measure(masked, np.ones(3))
    whole = [normaliser.measure(np.array([row]), np.ones(1)) for row in ([1.0, 5.0], [2.0])]
    assert base[:2].tolist() == [float(part[0][0]) for part in whole]
    if kind == "none":
        assert base[2] == 0
    else:
        assert np.isnan(base[2])
    assert scale[:2].tolist() == [float(part[1][0]) for part in whole]


def test_constant_pasts_are_all_zero_and_finite() -> None:
    # case forecasting#38
    deviations = training_deviations(panel_of([0.1] * 30, [0.0] * 30, [1e8] * 30))
    assert deviations.tolist() == pytest.approx([0.1, 1.0, 1e8])
    pasts = np.array([[0.1] * 10, [0.0] * 10, [1e8] * 10])
    for kind in ("mean", "last", "z"):
        normaliser = Normaliser(kind)
        units = normaliser.apply(pasts, *normaliser.measure(pasts, deviations))
        np.testing.assert_allclose(units, 0, atol=1e-12)


@given(
    series=st.lists(
        st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(NAN)), max_size=9).map(
            lambda inner: [1.0, *inner, 2.5]
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(deadline=None)
def test_training_deviations_are_those_of_the_values_present(series: list[list[float]]) -> None:
    found = training_deviations(panel_of(*series))
    for deviation, values in zip(found.tolist(), series, strict=True):
        present = [value for value in values if not np.isnan(value)]
        assert deviation == pytest.approx(naive_moments(present)[1], rel=1e-9)


def test_small_movements_on_a_high_level_are_movements() -> None:
    rng = np.random.default_rng(7)
    values = 1e8 + 1e-3 * rng.normal(size=500)
    assert training_deviations(panel_of(values.tolist()))[0] == pytest.approx(1e-3, rel=0.1)


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "minmax"}, {"floor": 0.0}, {"floor": 2.0}, {"cap": 0.5}, {"cap": float("inf")}],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=next(iter(wrong))):
        Normaliser(**wrong)
