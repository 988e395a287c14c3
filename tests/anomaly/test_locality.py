"""Rows weighed by the crowd around them: bounded, fixed at the fit, the same for held-out rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from likewise.anomaly import NeighbourDetector
from likewise.anomaly.locality import EXPONENT, MOST_ANCHORS, NEIGHBOURS, Locality

from tests.anomaly.planted import correlated_rows


def dense_and_sparse(count: int = 200) -> np.ndarray:
    """A dense mode at 0 and, far from it, one ten times as wide."""
    draw = np.random.default_rng(0)
    return np.concatenate([draw.normal(size=(count, 2)), 60 + 10 * draw.normal(size=(count, 2))])


def test_weights_equal_plain_loops() -> None:
    rows = correlated_rows(30)
    locality = Locality.of(rows, np.random.default_rng(0))
    apart = []
    for i in range(30):
        others = sorted(float(np.linalg.norm(rows[i] - rows[j])) for j in range(30) if j != i)
        apart.append(np.mean(others[:NEIGHBOURS]))
    query = np.full(4, 0.3)
    nearest = sorted(range(30), key=lambda i: float(np.linalg.norm(rows[i] - query)))[:NEIGHBOURS]
    around = np.mean([apart[i] for i in nearest]) / np.median(apart)
    expected = ((1 + around) / 2) ** -EXPONENT
    assert locality.weigh(query[None])[0] == pytest.approx(expected, rel=1e-9)


def test_sparse_regions_weigh_less_and_no_weight_explodes() -> None:
    locality = Locality.of(dense_and_sparse(), np.random.default_rng(0))
    dense, sparse, far = locality.weigh(np.array([[0.0, 0.0], [60.0, 60.0], [1e6, 1e6]]))
    assert sparse < dense <= 2**EXPONENT
    assert 0 < far < 1
    twins = Locality.of(np.zeros((20, 2)), np.random.default_rng(0))
    assert np.isfinite(twins.weigh(np.ones((3, 2)))).all()


def test_many_rows_are_anchored_by_some() -> None:
    rows = np.random.default_rng(1).normal(size=(MOST_ANCHORS + 500, 2))
    locality = Locality.of(rows, np.random.default_rng(0))
    assert len(locality.anchors) == MOST_ANCHORS
    assert np.median(locality.apart) == pytest.approx(1.0)


def test_added_rows_leave_the_weights_as_they_were_and_lower_scores(tmp_path: Path) -> None:
    # case anomaly#22
    rows = correlated_rows(300)
    detector = NeighbourDetector(0.1).fit(rows)
    assert detector.model_.locality is not None
    held = rows[~detector.reference_.trained_on]
    anchors = {tuple(row) for row in detector.model_.locality.anchors}
    assert not anchors & {tuple(row) for row in detector.model_.standardiser.apply(held)}
    far = np.random.default_rng(2).uniform(-30, 30, size=(200, 4))
    before = detector.decision_function(far)
    detector.append(10 + 0.1 * correlated_rows(80, seed=3))
    assert (detector.decision_function(far) <= before + 1e-9).all()
    detector.save(tmp_path / "bundle")
    loaded = NeighbourDetector.load(tmp_path / "bundle")
    assert np.array_equal(loaded.decision_function(far), detector.decision_function(far))
