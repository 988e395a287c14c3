"""Repeat and seasonal naive, against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from likewise.core import SettingError
from likewise.forecasting import Repeat, SeasonalNaive
from likewise.forecasting.origins import origins_at

from tests.forecasting.planted import forecasts_at, long_frame, panel_of, wave


@pytest.mark.parametrize(("season", "horizon"), [(1, 3), (4, 3), (4, 4), (4, 11)])
def test_the_last_season_comes_again_as_often_as_needed(season: int, horizon: int) -> None:
    values = wave(40).tolist()
    panel = panel_of([(0, values), (5, values[::-1])])
    origins = origins_at(panel, np.arange(10, 40))
    found = SeasonalNaive(horizon, season).expect(panel, origins)
    for place, (number, step) in enumerate(zip(origins.series, origins.steps, strict=True)):
        start, rows = [(0, values), (5, values[::-1])][number]
        here = step - start
        expected = []
        for h in range(1, horizon + 1):
            back = here + h
            while back > here:
                back -= season
            expected.append(rows[back])
        assert found[place].tolist() == expected


def test_repeat_is_the_last_value() -> None:
    frame = long_frame({"a": (0, wave(30)), "b": (9, wave(40, 1))})
    table = Repeat(3).fit(frame).predict()
    assert forecasts_at(table, "a", "Repeat") == [wave(30)[-1]] * 3
    assert forecasts_at(table, "b", "Repeat") == [wave(40, 1)[-1]] * 3
    assert table["ds"].to_list() == [30, 31, 32, 49, 50, 51]


@pytest.mark.parametrize("horizon", [0, -3])
def test_a_horizon_below_one_is_an_error_at_the_call(horizon: int) -> None:
    # case forecasting#33
    with pytest.raises(SettingError, match="horizon"):
        Repeat(horizon)


def test_a_season_below_one_is_an_error_at_the_call() -> None:
    with pytest.raises(SettingError, match="season"):
        SeasonalNaive(3, 0)
