"""Quantiles and intervals from weighted continuations, corrected by rank."""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import SettingError, TooFewRows
from likewise.forecasting import (
    Blend,
    DirectRidge,
    Forecaster,
    Repeat,
    RetrievalForecaster,
    backtest,
    track_intervals,
)
from likewise.forecasting.draws import DRAWS, _systematic, draw_windows, fence
from likewise.forecasting.levels import summarise
from likewise.forecasting.origins import Origins, origins_at, pasts

from tests.forecasting.planted import HORIZON, LOOKBACK, long_frame, two_waves, wave

QUANTILES = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95]


def raw_model(**settings: object) -> RetrievalForecaster:
    return RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", **settings)  # type: ignore[arg-type]


def every_kind() -> list[Forecaster]:
    return [
        raw_model(alias="Raw"),
        raw_model(alias="Nearest", neighbours=7),
        Repeat(HORIZON),
        DirectRidge(HORIZON, LOOKBACK),
        Blend([raw_model(), DirectRidge(HORIZON, LOOKBACK)]),
    ]


@given(weights=st.lists(st.floats(0, 1), min_size=1, max_size=12), count=st.integers(1, 40))
def test_systematic_draws_are_those_of_the_slow_twin(weights: list[float], count: int) -> None:
    weights[0] += 0.5
    found = _systematic(torch.tensor([weights], dtype=torch.float64), count)[0].tolist()
    total, running, column, expected = sum(weights), 0.0, -1, []
    for draw in range(count):
        mark = (draw + 0.5) / count * total
        while running < mark * (1 - 1e-12):
            column += 1
            running += weights[column]
        expected.append(column)
    close = [abs(a - b) <= 1 for a, b in zip(found, expected, strict=True)]
    assert all(close)
    drawn = np.bincount(found, minlength=len(weights))
    share = np.array(weights) / total * count
    assert (np.abs(drawn - share) <= 1 + 1e-9).all()


@pytest.mark.parametrize("neighbours", [None, 9])
def test_draws_follow_the_weights_and_average_to_the_mean(neighbours: int | None) -> None:
    model = raw_model(neighbours=neighbours).fit(two_waves())
    panel = model.panel_
    origins = origins_at(panel, np.array([150, 159]))
    rows, _ = draw_windows(model.index_, panel, origins, 4000)
    for number in range(len(origins)):
        weights = model.index_.weights(panel, origins[number : number + 1])
        drawn = np.bincount(rows[number], minlength=len(weights)) / 4000
        np.testing.assert_allclose(drawn, weights, atol=2 / 4000)
    mean = model.expect(panel, origins)
    draws = model.draws(panel, origins, mean)
    assert draws.shape == (len(origins), DRAWS, HORIZON)
    unit = np.array([model.recipe_.deviations[panel.ids[n]] for n in origins.series])
    assert (np.abs(draws.mean(axis=1) - mean) < 0.1 * unit[:, None]).all()


def test_draws_never_show_what_was_not_complete_at_the_origin() -> None:
    model = raw_model().fit(two_waves())
    origins = origins_at(model.panel_, np.array([60, 61, 100, 159]))
    rows, _ = draw_windows(model.index_, model.panel_, origins, 50)
    ends = model.index_.windows.end_steps[rows]
    assert (ends <= origins.steps[:, None]).all()


def test_draws_do_not_hang_on_the_batch() -> None:
    model = raw_model().fit(two_waves())
    origins = origins_at(model.panel_, np.arange(60, 160))
    whole = model.forecast(model.panel_, origins, [80], [0.1])
    alone = model.forecast(model.panel_, origins[7:8], [80], [0.1])
    np.testing.assert_allclose(whole.bands[80][0][7], alone.bands[80][0][0], rtol=1e-6)
    np.testing.assert_allclose(whole.quantiles[0.1][7], alone.quantiles[0.1][0], rtol=1e-6)


@pytest.mark.parametrize("model", every_kind(), ids=lambda model: model.alias)
def test_quantiles_never_cross_and_bound_the_levels(model: Forecaster) -> None:
    table = model.fit(two_waves()).predict([80, 90], QUANTILES)
    name = model.alias
    columns = [f"{name}-q-{100 * q:g}" for q in QUANTILES]
    values = table.select(columns).to_numpy()
    assert (np.diff(values, axis=1) >= 0).all()
    again = model.predict([80, 90], QUANTILES)
    assert table.equals(again)
    for level, (low, high) in {80: ("10", "90"), 90: ("5", "95")}.items():
        mean = table[name]
        np.testing.assert_allclose(
            table[f"{name}-lo-{level}"], np.minimum(table[f"{name}-q-{low}"], mean)
        )
        np.testing.assert_allclose(
            table[f"{name}-hi-{level}"], np.maximum(table[f"{name}-q-{high}"], mean)
        )


def test_quantiles_that_cannot_be_are_refused() -> None:
    model = raw_model().fit(two_waves())
    for wrong in ([0], [1], [80], [-0.1]):
        with pytest.raises(SettingError, match="between 0 and 1"):
            model.predict(quantiles=wrong)


def test_too_few_calibration_windows_for_a_quantile_are_named() -> None:
    # case forecasting#31
    model = Repeat(5).fit(long_frame({"a": (0, wave(60))}))
    assert len(model.calibration_.errors) == 11
    model.predict(quantiles=[0.1, 0.5])
    with pytest.raises(TooFewRows, match=r"quantile 0\.99 needs at least 49 calibration windows"):
        model.predict(quantiles=[0.99])
    boundary = model.calibration_
    assert boundary.rank(0.95).shape == (5,)  # the 90 % interval needs 9
    with pytest.raises(TooFewRows, match="at least 19"):
        boundary.rank(0.975)
    assert (boundary.rank(0.5) == 0).all()
    np.testing.assert_array_equal(boundary.rank(0.1), -boundary.rank(0.9))
    np.testing.assert_array_equal(boundary.rank(0.9), boundary.half_width(80))


def test_a_window_whose_like_was_followed_by_noise_gets_a_wider_band() -> None:
    """Two kinds of day, one quiet and one wild: the band knows which one began."""
    rng = np.random.default_rng(1)
    days = []
    for day in range(120):
        wild = day % 3 == 0
        morning = np.full(6, 2.0 if wild else -2.0) + 0.1 * rng.normal(size=6)
        days += [*morning, *((3.0 if wild else 0.1) * rng.normal(size=6))]
    frame = long_frame({"a": (0, days[:-6])})
    model = RetrievalForecaster(6, 12, embedding="raw").fit(frame)
    panel = model.panel_
    steps = np.array([12 * 116 + 5, 12 * 117 + 5])  # a quiet and a wild morning
    bands = model.forecast(panel, Origins(np.zeros(2, dtype=int), steps), [80]).bands[80]
    quiet, wild = (bands[1] - bands[0]).mean(axis=1)
    assert wild > 5 * quiet


def test_scaled_crps_is_below_that_of_the_ridge_with_conformal_bands() -> None:
    frame = long_frame({f"s{i}": (0, np.round(5 + 3 * wave(500, i)) ** 2) for i in range(3)})
    models = [raw_model(alias="Raw"), DirectRidge(HORIZON, LOOKBACK)]
    result = backtest(
        frame, models, horizon=HORIZON, n_windows=120, step_size=1, level=[20, 40, 60, 80, 95]
    )
    scores = track_intervals(result).scores()
    crps = dict(zip(scores["model"], scores["scaled_crps"], strict=True))
    assert crps["Raw"] < crps["DirectRidge"]
    assert scores["coverage-80"].is_between(0.77, 0.83).all()


@pytest.mark.parametrize("horizon", [1, 3, HORIZON])
def test_a_shorter_horizon_is_the_beginning_of_the_longer_one(horizon: int) -> None:
    model = raw_model().fit(two_waves())
    whole = model.predict([80], [0.1])
    short = model.predict([80], [0.1], horizon=horizon)
    head = whole.group_by("unique_id", maintain_order=True).head(horizon)
    assert short.equals(head)


def test_a_horizon_beyond_what_was_fitted_is_refused() -> None:
    model = raw_model().fit(two_waves())
    for wrong in (0, HORIZON + 1, -1):
        with pytest.raises(SettingError, match="not within"):
            model.predict(horizon=wrong)


@settings(deadline=None, max_examples=10)
@given(scale=st.sampled_from([1e-8, 1e8]), shift=st.sampled_from([0.0, 5.0]))
def test_bands_scale_with_the_series(scale: float, shift: float) -> None:
    # case forecasting#39
    base = raw_model().fit(two_waves()).predict([80])
    moved = raw_model().fit(two_waves().with_columns((pl.col("y") + shift) * scale)).predict([80])
    for column in base.columns[2:]:
        np.testing.assert_allclose(
            moved[column] / scale - shift, base[column], rtol=1e-3, atol=1e-3
        )


def test_what_a_draw_says_is_its_continuation_on_the_level_of_the_asking_past() -> None:
    model = raw_model().fit(two_waves())
    panel = model.panel_
    origin = origins_at(panel, np.array([159]))[:1]
    rows, scales = draw_windows(model.index_, panel, origin, DRAWS)
    mean = model.expect(panel, origin)
    found, said = model.draws(panel, origin, mean)[0], []
    level, past = model.level_, pasts(panel, origin, LOOKBACK)
    for row in rows[0].tolist():
        at = slice(row, row + 1)
        lift = model.index_.futures(at) - level.base(model.index_.summaries[at].astype(float))
        expected = level.base(summarise(past)) + scales[0] * lift
        said.append(expected[0])
    # all of them moved alike, so that their mean is the forecast
    moved = np.array(said) + mean[0] - np.mean(said, axis=0)
    np.testing.assert_allclose(found, moved, rtol=1e-9, atol=1e-12)


def test_a_draw_that_nobody_comes_near_is_pulled_in_and_others_stay() -> None:
    draw = np.random.default_rng(0)
    drawn, past = draw.normal(size=(3, 50, 4)), draw.normal(size=(3, 16))
    np.testing.assert_array_equal(fence(drawn, past), drawn)
    wild = drawn.copy()
    wild[1, 7, 2] = 1e6
    pulled = fence(wild, past)
    assert 2 < pulled[1, 7, 2] < 15
    wild[1, 7, 2] = pulled[1, 7, 2]
    np.testing.assert_array_equal(pulled, wild)


def test_what_the_window_itself_has_seen_is_no_wild_draw() -> None:
    still = np.zeros((1, 50, 2))
    still[0, :2] = 30.0
    quiet, spiky = np.zeros((1, 16)), np.zeros((1, 16))
    spiky[0, 5] = 40.0
    np.testing.assert_array_equal(fence(still, spiky), still)
    assert not fence(still, quiet).any()


def test_the_forecaster_draws_within_the_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = np.random.default_rng(2).standard_t(1, size=400)
    frame = long_frame({"a": (0, 10 * wave(400) + jumps)})

    def spread() -> float:
        model = raw_model().fit(frame)
        panel = model.panel_
        origins = origins_at(panel, np.arange(390, 400))
        drawn = model.draws(panel, origins, model.expect(panel, origins))
        return float(np.ptp(drawn, axis=1).max())

    fenced = spread()
    module = sys.modules["likewise.forecasting.retrieval"]
    monkeypatch.setattr(module, "fence", lambda drawn, past: drawn)
    assert fenced < 0.8 * spread()
