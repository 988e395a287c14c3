"""Drift is called at its stated rate, found when it is there, and says which threshold fell."""

from __future__ import annotations

import numpy as np
import pytest
from likewise.anomaly import DriftMonitor, calibrate, combine_by_rank
from likewise.anomaly.drift import is_invalid
from likewise.core import LeakError, SettingError, ShapeError, TooFewRows


def test_a_stationary_stream_alarms_at_most_at_the_stated_rate() -> None:  # case anomaly#31
    alarms = []
    for seed in range(20):
        draw = np.random.default_rng(seed)
        monitor = DriftMonitor(draw.exponential(size=5000), false_alarm_rate=0.01)
        alarms += [v.drifted for v in monitor.observe(draw.exponential(size=10_000))]
    assert np.mean(alarms) <= 0.02


def test_a_shift_of_one_deviation_is_found_in_the_first_whole_window() -> None:
    # case anomaly#31
    draw = np.random.default_rng(1)
    monitor = DriftMonitor(draw.normal(size=1000), {"ours": calibrate(draw.normal(size=500), 0.05)})
    assert not any(v.drifted for v in monitor.observe(draw.normal(size=400)))
    late = monitor.observe(np.concatenate([[np.nan], draw.normal(1.0, size=200)]))
    assert len(late) == 1
    assert late[0].drifted
    assert late[0].shift > 0.2
    assert late[0].invalidated["ours"] > 0.1
    assert (late[0].start, late[0].stop) == (400, 600)


def test_scores_arrive_in_any_pieces() -> None:
    draw = np.random.default_rng(2)
    reference, stream = draw.normal(size=500), draw.normal(size=500)
    whole = DriftMonitor(reference).observe(stream)
    monitor = DriftMonitor(reference)
    pieces = [v for piece in np.array_split(stream, 37) for v in monitor.observe(piece)]
    assert pieces == whole


def test_the_monitor_needs_a_reference_of_its_own() -> None:  # case anomaly#31
    scores = np.random.default_rng(3).normal(size=400)
    with pytest.raises(LeakError, match="100%"):
        DriftMonitor(scores, calibrated_with=scores)
    with pytest.raises(TooFewRows):
        DriftMonitor(scores[:50])
    with pytest.raises(SettingError):
        DriftMonitor(scores, window=5)


def test_a_threshold_falls_when_twice_its_rate_is_surely_exceeded() -> None:
    draw = np.random.default_rng(4)
    threshold = calibrate(draw.normal(size=999), 0.05)
    assert not is_invalid(threshold, draw.normal(size=500))
    assert is_invalid(threshold, draw.normal(0.8, size=500))
    assert not is_invalid(threshold, [])


def test_detectors_combine_by_rank_and_refuse_to_be_averaged_by_value() -> None:
    draw = np.random.default_rng(5)
    normal = {"distance": draw.exponential(size=400), "likelihood": -draw.normal(size=400) * 1e6}
    rows = {"distance": np.array([0.1, 20.0, np.nan]), "likelihood": np.array([-1e7, 1e7, 0.0])}
    combined = combine_by_rank(rows, normal)
    assert combined[1] > combined[0]
    assert np.isnan(combined[2])
    rescaled = {**rows, "likelihood": rows["likelihood"] * 1e-9}
    again = combine_by_rank(rescaled, {**normal, "likelihood": normal["likelihood"] * 1e-9})
    np.testing.assert_allclose(again, combined)
    with pytest.raises(SettingError, match="no common unit"):
        combine_by_rank(rows, {"distance": normal["distance"]})
    with pytest.raises(ShapeError):
        combine_by_rank({"a": [1.0], "b": [1.0, 2.0]}, {"a": [1.0], "b": [1.0]})
