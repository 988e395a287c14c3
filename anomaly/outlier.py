"""The scikit-learn face of the detector: the same scores with the sign flipped.

scikit-learn's outlier detectors say larger = more normal and answer +1 and -1. Everything else is
:class:`NeighbourDetector`'s, which speaks PyOD's way round.
"""
# ruff: noqa: N803, ARG002 - X and y are scikit-learn's names

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from .detector import NeighbourDetector
from .model import Floats
from .settings import NeighbourSettings


class NeighbourOutlier(NeighbourSettings, OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Detect rows far from every verified-normal row, by scikit-learn's conventions.

    Its settings are those of :class:`NeighbourSettings`.

    Attributes:
        detector_: The fitted :class:`NeighbourDetector`.
        offset_: Minus its threshold: rows whose ``score_samples`` is below it are outliers.

    >>> rows = np.random.default_rng(0).normal(size=(300, 3))
    >>> NeighbourOutlier(false_alarm_rate=0.05).fit(rows).predict([[0, 0, 0], [9, 9, 9]]).tolist()
    [1, -1]
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit on verified-normal rows; see :meth:`NeighbourDetector.fit`."""
        self.detector_ = NeighbourDetector(**self.settings()).fit(X)
        self.n_features_in_ = self.detector_.n_features_in_
        if self.detector_.schema_.named:
            self.feature_names_in_ = self.detector_.feature_names_in_
        self.offset_ = -self.detector_.threshold_
        return self

    def score_samples(self, X: Any) -> Floats:
        """Give minus the detector's scores: larger is more normal, [Q]."""
        check_is_fitted(self)
        scores: Floats = -self.detector_.decision_function(X)
        return scores

    def decision_function(self, X: Any) -> Floats:
        """Give ``score_samples`` minus ``offset_``: negative for outliers, [Q]."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Give -1 for outliers and +1 for all others, [Q]."""
        return np.where(self.decision_function(X) < 0, -1, 1)
