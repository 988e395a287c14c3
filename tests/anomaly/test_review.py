"""Fitted rows that do not belong: alone, in crowds, and what being told about them is worth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from likewise.anomaly import NeighbourDetector
from likewise.anomaly.review import (
    MOST_COMPARED,
    Review,
    beyond_crowds,
    find_suspects,
    how_odd,
)
from likewise.core import SettingError
from sklearn.exceptions import NotFittedError

from tests.anomaly.planted import correlated_rows
from tests.naive_anomaly import naive_oddness


def crowded(size: int = 20) -> np.ndarray:
    """400 normal rows, and a tight crowd of others far from them."""
    crowd = 12 + 0.05 * np.random.default_rng(3).normal(size=(size, 4))
    return np.concatenate([correlated_rows(400), crowd])


def test_a_crowd_that_vouches_for_itself_is_listed_for_review() -> None:  # case anomaly#30
    detector = NeighbourDetector(0.05, learned=False).fit(crowded())
    listed = {one.row: one for one in detector.suspects_}
    assert set(range(400, 420)) <= listed.keys()
    assert len(listed) <= 28
    assert all(listed[row].crowd > 1 for row in range(400, 420))
    alone = NeighbourDetector(0.05, learned=False).fit(correlated_rows(400))
    assert len(alone.suspects_) <= 8


def test_what_is_under_suspicion_is_set_aside_and_alerts() -> None:
    rows = crowded()
    trusting = NeighbourDetector(0.05, learned=False).fit(rows)
    told = NeighbourDetector(0.05, learned=False, suspected_share=0.05).fit(rows)
    assert trusting.predict(rows[400:]).sum() == 0
    assert told.predict(rows[400:]).all()
    assert len(told.reference_) == 420 - 3 * 21
    assert told.calibration_.calibrated_on == 420 - 21
    assert {one.row for one in told.suspects_} >= set(range(400, 420))
    assert told.decision_scores_.shape == (420,)
    assert told.labels_[400:].all()
    fresh = correlated_rows(1000, seed=8)
    assert told.predict(fresh).mean() <= 0.05 + told.suspected_share


def test_distances_beyond_a_crowd_equal_plain_loops() -> None:
    rows = correlated_rows(40)
    found = beyond_crowds(rows, 0.1, seed=0)
    for row in range(40):
        others = sorted(float(np.linalg.norm(rows[row] - rows[i])) for i in range(40) if i != row)
        assert found[row] == pytest.approx(others[4], rel=1e-9)


def test_large_sets_are_drawn_down_and_their_crowds_with_them() -> None:
    draw = np.random.default_rng(0)
    crowd = 30 + 0.01 * draw.normal(size=(100, 3))
    rows = np.concatenate([draw.normal(size=(2 * MOST_COMPARED, 3)), crowd])
    far = beyond_crowds(rows, 0.05, seed=0)
    assert far[-100:].min() > 10 * np.median(far)


def test_how_odd_rows_are_equals_plain_loops() -> None:
    rows = correlated_rows(40)
    assert how_odd(rows, 0.1, seed=0) == pytest.approx(naive_oddness(rows, 5))


def test_what_is_far_for_where_it_is_goes_before_the_edge_of_normal_rows() -> None:
    # A crowd a little off a dense mode, beside a wide one whose edge is farther from everything.
    draw = np.random.default_rng(0)
    dense, wide = 0.1 * draw.normal(size=(300, 3)), 20 + 3 * draw.normal(size=(100, 3))
    crowd = np.array([1.5, 0, 0]) + 0.05 * draw.normal(size=(12, 3))
    rows, like_it = np.concatenate([dense, wide, crowd]), np.array([[1.5, 0, 0]])
    far = beyond_crowds(rows, 0.03, seed=0)
    assert (np.argsort(-far)[: 3 * 13] < 400).all()
    trusting = NeighbourDetector(0.05, learned=False).fit(rows)
    told = NeighbourDetector(0.05, learned=False, suspected_share=0.03).fit(rows)
    assert not set(told.reference_.ids.tolist()) & set(range(400, 412))
    fresh = 0.1 * draw.normal(size=(200, 3))
    assert trusting.decision_function(like_it)[0] < trusting.decision_function(fresh).max()
    assert told.decision_function(like_it)[0] > 2 * told.decision_function(fresh).max()


@pytest.mark.parametrize("learned", [False, True])
def test_rows_set_aside_but_not_doubted_go_on_setting_the_threshold(
    learned: bool, tmp_path: Path
) -> None:
    detector = NeighbourDetector(0.05, learned=learned, suspected_share=0.05)
    detector.fit(correlated_rows(1000))
    fresh = correlated_rows(2000, seed=5)
    # None of the doubted rows is abnormal, so up to their share of 5 % alerts as well.
    assert 0.03 < detector.predict(fresh).mean() < 0.05 + 0.05 + 0.03
    set_at_the_fit = detector.threshold_
    assert detector.recalibrate().threshold_ == set_at_the_fit
    detector.save(tmp_path / "bundle")
    assert NeighbourDetector.load(tmp_path / "bundle").recalibrate().threshold_ == set_at_the_fit
    assert detector.thin(200).recalibrate().calibration_.calibrated_on == (
        detector.calibration_.calibrated_on
    )
    assert detector.append(fresh[:5]).reference_.ids[-5:].tolist() == list(range(1000, 1005))


def test_twins_set_no_fence_and_few_rows_say_nothing() -> None:
    assert find_suspects(np.zeros(50), np.arange(50), {}) == ()
    assert find_suspects(np.array([1.0, 99.0]), np.arange(2), {}) == ()
    review = Review.of(np.zeros((30, 2)), 0.1, seed=0)
    assert len(review.aside) == 9
    assert len(review.kept) == 21
    assert len(review.doubted(np.zeros(30))) == 3
    assert len(Review.of(np.zeros((30, 2)), 0.4, seed=0).aside) == 15


@pytest.mark.parametrize("share", [-0.1, 0.5, 1.0])
def test_a_share_that_leaves_nothing_normal_is_refused(share: float) -> None:
    with pytest.raises(SettingError, match="below one half"):
        NeighbourDetector(0.05, suspected_share=share).fit(correlated_rows(100))


def test_nothing_answers_before_the_fit() -> None:
    rows = correlated_rows(5)
    detector = NeighbourDetector()
    for ask in (
        detector.predict,
        detector.decision_function,
        detector.rank_among_normals,
        detector.explain,
        detector.append,
        detector.remove,
        detector.retire,
        detector.calibrate,
    ):
        with pytest.raises(NotFittedError, match="NeighbourDetector instance is not fitted yet"):
            ask(rows)
    for ask_nothing in (detector.recalibrate, detector.undo):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask_nothing()
    with pytest.raises(NotFittedError):
        detector.thin(3)
    with pytest.raises(NotFittedError):
        _ = detector.trust_
