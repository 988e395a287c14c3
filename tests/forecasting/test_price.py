from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from likewise.core import SettingError, TooFewRows
from likewise.forecasting import (
    DirectRidge,
    Repeat,
    RetrievalForecaster,
    SeasonalNaive,
    backtest,
    block_bootstrap,
    diebold_mariano,
    explanation_price,
)
from likewise.forecasting.price import cutoff_losses
from scipy import stats

from tests.forecasting.planted import HORIZON, LOOKBACK, SEASON, two_waves
from tests.naive_forecasting import naive_paired_test


def moving_average(count: int, span: int, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=count + span - 1)
    return np.convolve(noise, np.ones(span), "valid")


@pytest.mark.parametrize(("count", "overlap"), [(8, 1), (40, 3), (120, 12)])
def test_the_test_equals_its_slow_twin(count: int, overlap: int) -> None:
    differences = moving_average(count, overlap, 0) + 0.3
    found = diebold_mariano(differences, overlap)
    mean, statistic, lags = naive_paired_test(differences.tolist(), overlap)
    assert found.lags == lags
    assert found.difference == pytest.approx(mean)
    assert found.p_value == pytest.approx(2 * stats.t(count - 1).sf(abs(statistic)))
    assert found.low < found.difference < found.high


def test_independent_differences_are_tested_much_as_by_students_test() -> None:
    differences = np.random.default_rng(1).normal(0.4, 1.0, 60)
    assert diebold_mariano(differences).p_value == pytest.approx(
        stats.ttest_1samp(differences, 0).pvalue, abs=0.02
    )


@pytest.mark.parametrize("test", [diebold_mariano, block_bootstrap])
def test_overlapping_cutoffs_without_a_difference_are_seldom_called_different(test) -> None:
    samples = [moving_average(150, 5, seed) for seed in range(100)]
    called = np.mean([test(sample, 5).p_value < 0.05 for sample in samples])
    naive = np.mean([stats.ttest_1samp(sample, 0).pvalue < 0.05 for sample in samples])
    # An honest 5 %, and what so few cutoffs cost; taken as independent it is near 40 %.
    assert called < 0.14
    assert naive > 2 * called


@pytest.mark.parametrize("test", [diebold_mariano, block_bootstrap])
def test_a_difference_that_is_there_is_found_with_its_sign(test) -> None:
    found = test(moving_average(200, 3, 0) - 1.0, 3)
    assert found.p_value < 0.01
    assert found.high < 0
    assert found.verdict == "cheaper"
    assert test(1.0 - moving_average(200, 3, 0), 3).verdict == "dearer"


def test_the_bootstrap_repeats_with_its_seed() -> None:
    differences = moving_average(50, 2, 0)
    assert block_bootstrap(differences, 2, seed=3) == block_bootstrap(differences, 2, seed=3)


def test_models_that_never_differ_have_no_price() -> None:
    found = diebold_mariano(np.zeros(20))
    assert (found.difference, found.p_value, found.verdict) == (0.0, 1.0, "no difference shown")
    assert diebold_mariano(np.full(20, 0.5)).verdict == "dearer"


@pytest.mark.parametrize("test", [diebold_mariano, block_bootstrap])
def test_too_few_cutoffs_are_refused(test) -> None:
    with pytest.raises(TooFewRows, match="at least 8"):
        test(np.arange(7.0))
    with pytest.raises(TooFewRows, match="at least 20"):
        test(np.arange(15.0), 10)


@pytest.fixture(scope="module")
def result():
    models = [
        RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", alias="Retrieval"),
        DirectRidge(HORIZON, LOOKBACK),
        SeasonalNaive(HORIZON, SEASON),
        Repeat(HORIZON),
    ]
    return backtest(two_waves(240), models, horizon=HORIZON, n_windows=20, step_size=2)


def test_the_price_is_the_difference_of_mean_scaled_errors(result) -> None:
    table = explanation_price(result, season=SEASON)
    scores = dict(result.scores(season=SEASON).select("model", "mase").rows())
    assert table["model"].unique().to_list() == ["Retrieval"]
    assert set(table["rival"]) == {"DirectRidge", "SeasonalNaive", "Repeat"}
    assert table["cutoffs"].to_list() == [20] * 3
    for row in table.iter_rows(named=True):
        expected = 100 * (scores["Retrieval"] / scores[row["rival"]] - 1)
        assert row["price"] == pytest.approx(expected)
        assert row["low"] <= row["price"] <= row["high"]
    assert table.filter(rival="Repeat")["verdict"].item() == "cheaper"
    assert table["rival"][-1] == "Repeat"


def test_losses_stand_by_cutoff_and_weigh_series_by_their_scale(result) -> None:
    cutoffs, losses = cutoff_losses(result, "squared", season=SEASON)
    assert cutoffs.tolist() == np.unique(result.origins.steps).tolist()
    assert all(len(loss) == len(cutoffs) for loss in losses.values())
    absolute = cutoff_losses(result, season=SEASON)[1]["Repeat"]
    scaled = result.scores(season=SEASON).filter(model="Repeat")["mase"].item()
    assert math.isclose(absolute.mean(), scaled)


def test_a_price_needs_a_model_that_explains_and_a_rival(result) -> None:
    direct = backtest(two_waves(), [Repeat(HORIZON)], horizon=HORIZON, n_windows=9)
    with pytest.raises(SettingError, match="no model of this backtest explains"):
        explanation_price(direct)
    with pytest.raises(SettingError, match="another model"):
        explanation_price(direct, "Repeat")
    with pytest.raises(SettingError, match="loss 'cubed'"):
        explanation_price(result, loss="cubed")
    with pytest.raises(SettingError, match="'Nobody'"):
        explanation_price(result, "Nobody")


def test_a_history_that_never_moves_has_nothing_to_compare() -> None:
    frame = pl.DataFrame({"unique_id": ["a"] * 90, "ds": range(90), "y": [1.0] * 90})
    flat = backtest(frame, [Repeat(HORIZON)], horizon=HORIZON, n_windows=9)
    with pytest.raises(TooFewRows, match="nothing can be compared"):
        cutoff_losses(flat)
