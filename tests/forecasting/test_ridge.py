"""The closed-form ridge, against least squares on stacked windows."""

from __future__ import annotations

import numpy as np
import pytest
from likewise.core import SettingError, TooFewRows
from likewise.forecasting import DirectRidge, read_frame
from likewise.forecasting import ridge as ridge_module
from likewise.forecasting.holdout import hold_out
from likewise.forecasting.origins import futures, origins_at, pasts
from likewise.forecasting.ridge import PENALTIES

from tests.forecasting.planted import forecasts_at, long_frame, panel_of, wave
from tests.naive import naive_windows
from tests.naive_forecasting import naive_deviation, naive_ridge

NAN = float("nan")


@pytest.mark.parametrize("penalty", [1e-4, 1e-1, 10.0])
def test_the_map_is_the_least_squares_of_the_slow_twin(
    penalty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ridge_module, "_BATCH", 7)
    holed = [NAN if place in (30, 31) else value for place, value in enumerate(wave(70, 1) * 40)]
    series = [(0, wave(60).tolist()), (8, holed)]
    panel = panel_of(series)
    model = DirectRidge(3, 6, penalties=[penalty])
    model.learn(panel)
    windows = naive_windows(series, 6, 3)
    units = [naive_deviation(values) for _, values in series]
    origins = origins_at(panel, np.array([20, 59]))
    for past, found in zip(pasts(panel, origins, 6), model.expect(panel, origins), strict=True):
        expected = naive_ridge(windows, units, penalty, past.tolist())
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_a_linear_recurrence_is_found() -> None:
    values = [1.0, 0.3]
    for _ in range(150):
        values.append(1.8 * values[-1] - 0.99 * values[-2])
    model = DirectRidge(5, 8, penalties=[1e-10]).fit(long_frame({"a": (0, values[:140])}))
    found = forecasts_at(model.predict(), "a", "DirectRidge")
    np.testing.assert_allclose(found, values[140:145], atol=1e-5)


@pytest.mark.parametrize(("factor", "shift"), [(1e8, 0.0), (1e-8, 0.0), (1.0, 1e6), (-3.0, 2.0)])
def test_forecasts_move_with_the_unit_and_level_of_the_data(factor: float, shift: float) -> None:
    # case forecasting#39
    frame = {"a": (0, wave(90)), "b": (0, 4 * wave(90, 1))}
    moved = {name: (start, factor * rows + shift) for name, (start, rows) in frame.items()}
    plain = DirectRidge(4, 10).fit(long_frame(frame)).predict()["DirectRidge"].to_numpy()
    found = DirectRidge(4, 10).fit(long_frame(moved)).predict()["DirectRidge"].to_numpy()
    np.testing.assert_allclose((found - shift) / factor, plain, rtol=1e-6, atol=1e-7)


def test_the_penalty_is_the_best_on_the_tail() -> None:
    noise = np.random.default_rng(0).normal(size=200)
    frame = long_frame({"a": (0, noise)})
    errors = {}
    for penalty in PENALTIES:
        model = DirectRidge(2, 20, penalties=[penalty])
        panel = read_frame(frame)
        held = hold_out(panel, 20, 2)
        model.learn(held.before)
        miss = model.expect(panel, held.origins) - futures(panel, held.origins, 2)
        errors[penalty] = float((miss**2).mean())
    assert DirectRidge(2, 20).fit(frame).penalty_ == min(errors, key=errors.__getitem__)


@pytest.mark.parametrize("level", [0.0, 3.0, -1e9])
def test_a_constant_goes_on(level: float) -> None:
    # case forecasting#38
    frame = long_frame({"a": (0, np.full(60, level))})
    assert DirectRidge(3, 8).fit(frame).predict()["DirectRidge"].to_list() == [level] * 3


def test_what_cannot_be_solved_is_an_error() -> None:
    holes = wave(100)
    holes[::5] = NAN
    panel = panel_of([(0, holes[1:-1].tolist())])
    with pytest.raises(TooFewRows, match="close the gaps"):
        DirectRidge(2, 6).learn(panel)
    with pytest.raises(TooFewRows, match="needs 12"):
        DirectRidge(2, 6).fit(long_frame({"a": (0, wave(11))}))
    for penalties in ([], [0.0], [1.0, -1.0]):
        with pytest.raises(SettingError, match="penalties"):
            DirectRidge(2, 6, penalties=penalties)
