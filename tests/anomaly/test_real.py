"""What is promised of real data; the full tables are in benchmarks/anomaly.py."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from likewise.anomaly import NeighbourDetector
from likewise.anomaly.drift import is_invalid
from likewise.anomaly.evaluation import realised_rate, roc_area

DATA = Path(os.environ.get("LIKEWISE_DATA", Path(__file__).parents[3] / "shared/data")) / "adbench"
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no real data at {DATA}: nothing is tested here"),
]


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    held = np.load(DATA / f"{name}.npz")
    return held["X"].astype(float), held["y"].astype(int)


def halves(rows: np.ndarray, labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    normal = np.random.default_rng(seed).permutation(np.flatnonzero(labels == 0))
    return rows[normal[: len(normal) // 2]], rows[normal[len(normal) // 2 :]]


@pytest.mark.slow
def test_the_learned_distance_lifts_wilt_and_costs_little_elsewhere() -> None:
    gains = {}
    for name in ("44_Wilt", "4_breastw", "39_vertebral"):
        rows, labels = load(name)
        fitted, fresh = halves(rows, labels, 0)
        tested = np.concatenate([fresh, rows[labels == 1]])
        truth = np.r_[np.zeros(len(fresh)), np.ones(int(labels.sum()))]
        detector = NeighbourDetector(0.05).fit(fitted)
        plain = detector._index.searchers[0].nearest(detector.model_.standardiser.apply(tested), 1)
        ours = roc_area(truth, detector.decision_function(tested))
        gains[name] = ours - roc_area(truth, plain.distances[:, 0])
    assert gains["44_Wilt"] > 0.05
    assert min(gains.values()) > -0.03


@pytest.mark.slow
def test_realised_rates_hold_on_random_splits_of_real_rows() -> None:
    holds = []
    for name in ("6_cardio", "40_vowels", "44_Wilt", "23_mammography"):
        rows, labels = load(name)
        for seed in range(10):
            fitted, fresh = halves(rows, labels, seed)
            detector = NeighbourDetector(0.05, learned=False).fit(fitted[:1500])
            scores = detector.decision_function(fresh[:1500])
            holds.append(realised_rate(detector.calibration_, scores).holds)
    assert np.mean(holds) >= 0.9


@pytest.mark.slow
def test_file_order_is_called_drift_where_it_is() -> None:
    right = []
    for name in ("6_cardio", "40_vowels", "44_Wilt", "30_satellite", "47_yeast"):
        rows, labels = load(name)
        normal = rows[labels == 0]
        half = len(normal) // 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            detector = NeighbourDetector(0.05, learned=False).fit(normal[:half])
        scores = detector.decision_function(normal[half:])
        realised = detector.calibration_.alerts(scores).mean()
        right.append(is_invalid(detector.calibration_, scores) == (realised > 0.1))
    assert np.mean(right) >= 0.8


def test_duplicate_heavy_rows_get_finite_scores() -> None:
    rows, labels = load("4_breastw")
    fitted, fresh = halves(rows, labels, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = NeighbourDetector(0.05, learned=False).fit(fitted)
    assert np.isfinite(detector.decision_function(fresh)).all()
