"""What a window is judged by: every part against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from likewise.anomaly import SeriesDetector, explain_window
from likewise.anomaly.distances import Lengths
from likewise.anomaly.window_joining import EASE, LOUD, WEIGHTS, join_parts, join_views
from likewise.anomaly.window_parts import (
    BY_CHANNEL,
    EXPRESSED,
    ChannelsPart,
    FeaturePart,
    MainDirections,
    PartName,
    ResidualPart,
    SameRows,
    as_they_are,
    last_values,
    levels,
    spectrum,
)

from tests.anomaly.planted import long_frame, saw
from tests.naive_anomaly import naive_levels, naive_residual, naive_spectrum


@pytest.fixture(scope="module")
def windows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(40, 12, 3)).cumsum(axis=1)


def test_every_channel_finds_its_own_nearest_window(windows: np.ndarray) -> None:
    asked, reference = windows[:5], windows[5:]
    part = ChannelsPart(as_they_are, reference, least=0.1)
    for channel, (distances, rows) in enumerate(part.measure(asked, 2)):
        for window, found, numbers in zip(asked, distances, rows, strict=True):
            apart = [
                float(np.linalg.norm(window[:, channel] - other[:, channel])) for other in reference
            ]
            nearest = sorted(range(len(reference)), key=lambda row: apart[row])[:2]
            assert numbers.tolist() == nearest
            np.testing.assert_allclose(found, [apart[row] for row in nearest], rtol=1e-9)


def test_a_channel_that_never_varies_needs_no_search(windows: np.ndarray) -> None:
    rows = np.tile(windows[0].reshape(1, -1), (30, 1))
    asked = windows.reshape(len(windows), -1)
    found, searched = SameRows(rows).nearest(asked, 4), Lengths(rows).nearest(asked, 4)
    np.testing.assert_array_equal(found.rows, searched.rows)
    np.testing.assert_allclose(found.distances, searched.distances, rtol=1e-12)


@pytest.mark.parametrize(("features", "twin"), [(levels, naive_levels), (spectrum, naive_spectrum)])
def test_features_equal_their_slow_twins(features, twin, windows: np.ndarray) -> None:
    np.testing.assert_allclose(
        np.sort(features(windows), axis=1),
        np.sort([twin(window) for window in windows], axis=1),
        atol=1e-9,
    )


def test_the_last_value_is_all_that_a_point_is(windows: np.ndarray) -> None:
    part = FeaturePart(last_values, windows)
    changed = windows.copy()
    changed[:, :-1] += 5.0
    assert (part.measure(changed, 1)[0][0] == 0).all()


@pytest.mark.parametrize("count", [20, 400])
@pytest.mark.parametrize("channels", [1, 3])
def test_the_residual_equals_its_slow_twin(count: int, channels: int) -> None:
    draw = np.random.default_rng(1)
    normal = draw.normal(size=(count, 10, channels)).cumsum(axis=1)
    asked = draw.normal(size=(6, 10, channels)).cumsum(axis=1)
    views = ResidualPart(MainDirections.of(normal)).measure(asked, 3)
    assert [rows.shape for _, rows in views] == [(6, 0)] * channels
    np.testing.assert_allclose(
        np.concatenate([distances for distances, _ in views], axis=1),
        naive_residual(normal, asked, EXPRESSED),
        atol=1e-6,
    )


def test_windows_that_never_differ_have_no_main_direction() -> None:
    main = MainDirections.of(np.ones((30, 8, 1)))
    np.testing.assert_allclose(main.residual(np.full((1, 8, 1), 3.0)), np.sqrt(8 * 4.0))


def test_views_are_joined_over_the_root_of_their_number() -> None:
    spreads = np.array([[0.0, 1.0, 5.0], [2.0, 1.0, 300.0]])
    expected = [
        math.exp(sum(math.log((one + EASE) / (1 + EASE)) for one in column) / math.sqrt(2))
        for column in spreads.T
    ]
    np.testing.assert_allclose(join_views(spreads), expected)
    assert np.isfinite(join_views(np.full((400, 1), 1e300))).all()


def test_a_loud_part_is_heard_by_its_logarithm() -> None:
    said = {"point": np.array([0.5, 9.0]), "levels": np.array([1.0, 1.0])}
    quiet = np.hypot(WEIGHTS["point"] * 0.5, 1.0)
    loud = np.hypot(LOUD * (1 + np.log(WEIGHTS["point"] * 9.0 / LOUD)), 1.0)
    np.testing.assert_allclose(join_parts(said), [quiet, loud])


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=20))
def test_a_part_that_says_more_is_never_heard_less(spreads: list[float]) -> None:
    said = np.sort(spreads)
    assert (np.diff(join_parts({"levels": said, "residual": np.ones(len(said))})) >= 0).all()


@pytest.mark.parametrize("shift", [20.0, -5.0])
def test_a_channel_that_has_left_its_range_for_good_does_not_deafen(shift: float) -> None:
    detector = SeriesDetector(0.05, lookback=24)
    detector.fit(long_frame(saw(700, channels=6)))
    faulty = saw(200, seed=9, channels=6)
    faulty[100:124, 2] = faulty[100:124, 2][::-1]
    faulty[:, 4] += shift * faulty[:, 4].std()
    scores, _ = detector.score_values(faulty)
    assert abs(int(np.nanargmax(scores)) - 123) <= 12


def test_a_fault_of_one_channel_does_not_drown_in_the_others() -> None:
    frame = long_frame(saw(700, channels=6))
    detector = SeriesDetector(0.05, lookback=24, parts=("window",)).fit(frame)
    faulty = saw(200, seed=9, channels=6)
    faulty[100:124, 2] = faulty[100:124, 2][::-1]
    scores, _ = detector.score_values(faulty)
    assert abs(int(np.nanargmax(scores)) - 123) <= 6
    assert np.nanmin(scores) > EASE


@pytest.mark.parametrize("part", BY_CHANNEL)
def test_the_evidence_names_the_channel_at_fault(part: PartName) -> None:
    detector = SeriesDetector(0.05, lookback=24, parts=(part,))
    detector.fit(long_frame(saw(700, channels=6)))
    faulty = saw(200, seed=9, channels=6)
    faulty[112:124, 2] = faulty[112:124, 2][::-1]
    alert = explain_window(detector, faulty, 123)
    assert len(alert.channels) == 6
    assert next(iter(alert.channels)) == "c2"
    assert list(alert.channels.values()) == sorted(alert.channels.values(), reverse=True)


def test_parts_that_look_at_no_channel_alone_name_none() -> None:
    detector = SeriesDetector(0.05, lookback=24, parts=("point", "levels"))
    detector.fit(long_frame(saw(700, channels=2)))
    assert explain_window(detector, saw(200, seed=9, channels=2), 123).channels == {}


def test_a_channel_that_never_moved_is_judged_once_it_does() -> None:
    values = saw(700, channels=2)
    values[:, 1] = 4.0
    detector = SeriesDetector(0.05, lookback=24).fit(long_frame(values))
    later = saw(200, seed=9, channels=2)
    later[:, 1] = 4.0
    later[150, 1] = 5.0
    scores, _ = detector.score_values(later)
    assert int(np.nanargmax(scores)) in range(150, 174)
    assert detector.threshold().alerts(scores)[150]


def test_fresh_normals_alert_about_as_often_as_asked() -> None:
    shares = []
    for seed in range(3):
        detector = SeriesDetector(0.05, lookback=24, seed=seed)
        detector.fit(long_frame(saw(1200, seed)))
        scores, _ = detector.score_values(saw(3000, seed + 100))
        shares.append(float(np.nanmean(detector.threshold().alerts(scores))))
    assert 0.01 < np.mean(shares) < 0.1
