"""Thresholds that hold, and refuse when they could not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.anomaly import calibrate, rank_among_normals
from likewise.anomaly.threshold import rows_needed
from likewise.core import NonFiniteError, ProcedureWarning, SettingError, TooFewRows
from scipy import stats

from tests.naive_anomaly import naive_p_value, naive_threshold


def test_the_threshold_is_the_conformal_quantile_and_never_the_least() -> None:  # case anomaly#1
    assert calibrate([1.0, 2.0, 3.0, 4.0], 0.2).value == 4.0
    with pytest.raises(TooFewRows, match="9 are needed"):
        calibrate([1.0, 2.0, 3.0, 4.0], 0.1)


def test_a_rate_that_n_cannot_hold_is_refused_with_the_n_it_needs() -> None:  # case anomaly#2
    with pytest.raises(TooFewRows, match="99 are needed"):
        calibrate(np.arange(50.0), 0.01)
    assert calibrate(np.arange(99.0), 0.01).value == 98.0
    assert rows_needed(0.05) == 19


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.5, 100, width=32), min_size=9, max_size=60, unique=True),
    st.sampled_from([0.1, 0.2, 0.5]),
)
def test_the_threshold_equals_its_slow_twin(scores: list[float], rate: float) -> None:
    assert calibrate(scores, rate).value == naive_threshold(scores, rate)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(-1, 10))
def test_a_place_among_normals_equals_its_slow_twin(held: list[int], score: int) -> None:
    assert rank_among_normals([score], held)[0] == pytest.approx(naive_p_value(score, held))


def test_the_realised_rate_follows_its_beta_law() -> None:
    draw = np.random.default_rng(0)
    realised = [
        1 - stats.norm.cdf(calibrate(draw.normal(size=199), 0.05).value) for _ in range(400)
    ]
    assert stats.kstest(realised, stats.beta(10, 190).cdf).pvalue > 0.01
    low, high = calibrate(np.arange(1.0, 200.0), 0.05).interval
    inside = np.mean([low <= one <= high for one in realised])
    assert 0.92 < inside < 0.98


def test_p_values_of_normals_are_uniform() -> None:  # case anomaly#5
    draw = np.random.default_rng(1)
    p = rank_among_normals(draw.normal(size=500), draw.normal(size=2000))
    assert ((p > 0) & (p <= 1)).all()
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_repeated_rows_make_a_degenerate_threshold_that_says_so() -> None:  # case anomaly#11
    scores = np.concatenate([np.zeros(190), np.linspace(1, 2, 10)])
    with pytest.warns(ProcedureWarning, match="degenerate threshold 0.*effective rate is 0.05"):
        threshold = calibrate(scores, 0.1)
    assert threshold.value == 0
    assert threshold.effective_rate == 0.05


def test_equality_is_no_alert_and_nan_never_is() -> None:
    threshold = calibrate([1.0, 2.0, 3.0, 4.0], 0.2)
    assert threshold.alerts([4.0, 4.0001, np.nan]).tolist() == [False, True, False]


def test_bad_scores_and_rates_are_refused() -> None:
    with pytest.raises(NonFiniteError):
        calibrate([1.0, np.nan], 0.5)
    with pytest.raises(SettingError):
        calibrate([1.0, 2.0], 1.0)
