"""Levels: what a continuation hangs on, and that it moves with the series."""

from __future__ import annotations

import numpy as np
import pytest
from likewise.core import SettingError
from likewise.forecasting.levels import LEVELS, check_level, fit_levels, summarise
from likewise.forecasting.windows import Windows

from tests.forecasting.planted import panel_of, wave
from tests.naive import naive_windows
from tests.naive_forecasting import naive_base, naive_deviation

SERIES = [(0, wave(90).tolist()), (5, (20 + 7 * wave(60, 1)).tolist())]


@pytest.mark.parametrize("lookback", [1, 2, 3, 8, 13])
def test_bases_are_those_of_the_slow_twin(lookback: int) -> None:
    panel = panel_of(SERIES)
    windows = Windows(panel, lookback, 4)
    units = np.array([naive_deviation(values) for _, values in SERIES])
    levels = fit_levels(windows, units)
    assert {level.kind for level in levels.values()} >= set(LEVELS) - {"recent"}
    assert ("recent 3" in levels) == (lookback > 3)
    before = windows.pasts(slice(0, 20))
    for kind, level in levels.items():
        np.testing.assert_allclose(level.coefficients.sum(axis=0), 1.0, atol=1e-12)
        bases = level.base(summarise(before))
        for past, base in zip(before.tolist(), bases, strict=True):
            expected = naive_base(past, kind, level.coefficients.tolist())
            np.testing.assert_allclose(base, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(level.base(summarise(before + 5)), bases + 5, atol=1e-9)
        np.testing.assert_allclose(level.base(summarise(before * 3)), bases * 3, atol=1e-9)


def test_trailing_weights_are_the_least_squares_of_stacked_windows() -> None:
    units = [naive_deviation(values) for _, values in SERIES]
    rows, targets = [], []
    for _, number, past, future in naive_windows(SERIES, 8, 4):
        mean = sum(past) / 8
        # of the spans 1, 2, 3, 4, 6 and 7, the powers of two are mixed
        rows.append([(sum(past[-s:]) / s - mean) / units[number] for s in (1, 2, 4)])
        targets.append([(value - mean) / units[number] for value in future])
    square = np.array(rows)
    strength = np.sqrt(0.1 * (square**2).sum() / 3)
    stacked = np.vstack([square, strength * np.eye(3)])
    weights = np.linalg.lstsq(stacked, np.vstack([targets, np.zeros((3, 4))]), rcond=None)[0]
    found = fit_levels(Windows(panel_of(SERIES), 8, 4), np.array(units))["trailing"].coefficients
    np.testing.assert_allclose(found[[1, 2, 4]], weights, atol=1e-9)
    assert not found[[3, 5, 6]].any()
    np.testing.assert_allclose(found[0], 1 - weights.sum(axis=0), atol=1e-9)


def test_a_random_walk_hangs_on_its_last_value() -> None:
    walk = np.cumsum(np.random.default_rng(1).normal(size=2000))
    panel = panel_of([(0, walk.tolist())])
    trailing = fit_levels(Windows(panel, 16, 1), np.array([walk.std()]))["trailing"]
    assert trailing.coefficients[1, 0] > 0.5


@pytest.mark.parametrize("values", [np.full(50, 3.0), np.zeros(50)])
def test_a_constant_has_finite_levels(values: np.ndarray) -> None:
    windows = Windows(panel_of([(0, values.tolist())]), 8, 2)
    for level in fit_levels(windows, np.ones(1)).values():
        base = level.base(summarise(windows.pasts([0])))
        np.testing.assert_allclose(base, values[0], rtol=1e-12)


def test_an_unknown_level_is_refused() -> None:
    check_level("last", 4, 16)
    with pytest.raises(SettingError, match="'median' is not one of auto, mean, last, recent"):
        check_level("median", 4, 16)
