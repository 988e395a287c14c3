"""The contracts of others: scikit-learn's own checks, and what PyOD asks of a detector."""

from __future__ import annotations

import numpy as np
import pytest
from likewise.anomaly import NeighbourDetector, NeighbourOutlier
from pyod.models.base import BaseDetector
from pyod.models.knn import KNN
from pyod.utils.data import evaluate_print
from pyod.utils.utility import standardizer
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.anomaly.planted import correlated_rows

PYOD_LABELS = "PyOD says 1 for an outlier and 0 else, scikit-learn -1 and +1; see NeighbourOutlier"
EXPECTED = {
    "check_outliers_fit_predict": PYOD_LABELS,
    "check_outliers_train": PYOD_LABELS,
}


def run_checks(estimator: object, expected: dict[str, str]) -> list[str]:
    """Run scikit-learn's suite; give the names of checks that failed and were not expected to."""
    failed = []
    for checked, check in estimator_checks_generator(estimator, legacy=True):
        name = getattr(check, "func", check).__name__
        if name in expected or name == "check_array_api_input":
            continue
        try:
            check(checked)
        except AssertionError as failure:
            failed.append(f"{name}: {failure}")
    return failed


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_s_checks_pass_on_its_own_face() -> None:
    assert run_checks(NeighbourOutlier(false_alarm_rate=0.2), {}) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_s_checks_pass_on_the_pyod_face_but_for_the_labels() -> None:
    assert run_checks(NeighbourDetector(false_alarm_rate=0.2), EXPECTED) == []


@pytest.fixture(scope="module")
def fitted() -> NeighbourDetector:
    return NeighbourDetector(0.1, learned=False).fit(correlated_rows(200))


def test_it_is_a_pyod_detector_with_all_its_attributes(fitted: NeighbourDetector) -> None:
    assert isinstance(fitted, BaseDetector)
    assert fitted.decision_scores_.shape == (200,)
    assert set(np.unique(fitted.labels_)) == {0, 1}
    assert (fitted.labels_ == (fitted.decision_scores_ > fitted.threshold_)).all()
    assert fitted.contamination == 0.1


def test_pyod_s_own_methods_work_on_it(fitted: NeighbourDetector) -> None:
    rows = correlated_rows(50, seed=3)
    labels, confidence = fitted.predict(rows, return_confidence=True)
    assert labels.shape == confidence.shape == (50,)
    assert ((confidence >= 0) & (confidence <= 1)).all()
    ranks = fitted._predict_rank(rows, normalized=True)
    assert ((ranks >= 0) & (ranks <= 1)).all()
    evaluate_print("ours", np.r_[np.zeros(49), 1], fitted.decision_function(rows))


def test_it_stands_beside_other_pyod_detectors() -> None:
    rows, queries = correlated_rows(150), correlated_rows(30, seed=2)
    detectors = [NeighbourDetector(0.1, learned=False), KNN(n_neighbors=5, contamination=0.1)]
    scores = np.column_stack([d.fit(rows).decision_function(queries) for d in detectors])
    assert standardizer(scores).mean(axis=1).shape == (30,)


def test_it_clones_and_sits_in_pipelines() -> None:
    rows = correlated_rows(150)
    copy = clone(NeighbourDetector(0.1, k=3, learned=False, seed=4))
    assert copy.get_params()["seed"] == 4
    piped = make_pipeline(StandardScaler(), NeighbourDetector(0.1, learned=False)).fit(rows)
    assert piped.decision_function(rows[:3]).shape == (3,)
    outlier = make_pipeline(StandardScaler(), NeighbourOutlier(0.1, learned=False)).fit(rows)
    assert set(outlier.predict(np.concatenate([rows[:3], rows[:1] + 50]))) == {1, -1}
