"""The detector of rows: normal rows in, scores, alerts and their evidence out.

``NeighbourDetector`` is a PyOD detector (importing this module imports pyod). It keeps verified
normal rows, scores others by how far they are from them, and alerts above a level that held-out
normal rows exceed at a stated rate. What it learned is in ``model.py``, what it keeps in
``normals.py``; here they are bound together and changed over time.
"""

# ruff: noqa: N803, ARG002 - X and y are scikit-learn's names

from __future__ import annotations

import math
from os import PathLike
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_is_fitted

from ..core import Progress, RepresentationCollapse, SettingError, TooFewRows
from .blindspots import Register
from .evidence import Alert, gather_evidence
from .learned import LearningSettings
from .model import LEAST_TO_LEARN, Floats, Reference, RowModel, learn_model
from .normals import Normals, make_ids
from .review import Review, Suspect
from .settings import NeighbourSettings
from .table import OnMissing, Schema, read_table
from .threshold import rank_among_normals, rows_needed
from .trust import Trust
from .upkeep import Upkeep

DISTINCT_SHARE = 0.9


class ProbabilityError(SettingError, AttributeError):
    """A probability was asked of a detector that knows only distances.

    An AttributeError too: ``hasattr(detector, "predict_proba")`` is False, and libraries that
    ask first do not trip over it.
    """


class NeighbourDetector(NeighbourSettings, Upkeep, BaseDetector):  # type: ignore[misc]
    """Detect rows that are far from every verified-normal row.

    Fit it on rows known to be normal. A row's score adds its distance to the nearest and to the
    ``k`` nearest normal rows on the standard scale to the same in a learned space, each in units
    of its spread among normal rows, and weighs the sum by how crowded normal rows are around it;
    larger is stranger, a twin of a normal row scores 0.

    Its settings are those of :class:`NeighbourSettings`.

    Attributes:
        decision_scores_: Leave-one-out score of each fitted row.
        threshold_: Scores strictly above it alert.
        labels_: 1 for fitted rows above the threshold.
        calibration_: The threshold with its n and the interval of the realised rate.
        reference_: The normal rows compared with.
        trust_: How much the learned distance counts, and why.
        suspects_: Fitted rows that look abnormal themselves, for review.
        register_: What it cannot see, once measured; None before.
        stale_: Why the threshold has to be set again; empty when it stands.

    >>> draw = np.random.default_rng(0)
    >>> detector = NeighbourDetector(false_alarm_rate=0.05).fit(draw.normal(size=(300, 3)))
    >>> detector.predict([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]]).tolist()
    [0, 1]
    """

    register_: Register | None = None

    @property
    def contamination(self) -> float:
        """PyOD's name for the share of training rows labelled 1: about the false-alarm rate."""
        return self.false_alarm_rate

    def fit(self, X: Any, y: Any = None, *, ids: ArrayLike | None = None) -> Self:
        """Fit on verified-normal rows.

        Args:
            X: [N, D], array or data frame.
            y: Ignored.
            ids: Names of the rows, [N], for evidence and removal; None numbers them.

        Returns:
            The detector.

        Raises:
            TooFewRows: N below what the false-alarm rate needs.
            InputError: With every fault of the rows.
            RepresentationCollapse: Different rows got the same score.
        """
        return self.fit_with(X, ids=ids)

    def fit_with(
        self, X: Any, *, ids: ArrayLike | None = None, progress: Progress | None = None
    ) -> Self:
        """Fit as :meth:`fit` does, showing progress of the training."""
        self.check_settings()
        table = read_table(X, least=2, reader=type(self).__name__)
        rows, named = table.rows, make_ids(ids, len(table.rows), 0)
        review = Review.of(rows, self.suspected_share, self.seed)
        kept, aside = review.kept, review.aside
        trained_on = self._choose_trained(len(kept), len(rows) - review.suspected)
        k = min(self.k, len(kept) - 1)
        learning = LearningSettings() if self.learned else None
        normal = rows[kept]
        model = learn_model(
            normal, trained_on, k=k, seed=self.seed, learning=learning, progress=progress
        )
        reference = model.reference(normal)
        scores = np.empty(len(rows))
        scores[kept] = reference.score(normal, leave_out=np.arange(len(kept), dtype=np.int64))
        scores[aside] = reference.score(rows[aside]) if len(aside) else 0.0
        _require_distinct(rows, scores)
        self._set_schema(table.schema)
        self.model_: RowModel = model
        self.register_ = None
        self.reference_ = Normals(
            normal, named[kept], np.zeros(len(kept), dtype=np.int64), trained_on, scores[kept]
        )
        self._index: Reference = reference
        trusted = review.trusted(scores, float((~trained_on).mean()), self.seed)
        none = np.zeros(len(trusted), dtype=np.int64)
        self._aside = Normals(
            rows[trusted], named[trusted], none, none.astype(bool), scores[trusted]
        )
        self._undo: list[tuple[Normals, Reference, Normals, str]] = []
        self.decision_scores_: Floats = scores
        self._set_threshold(np.concatenate([scores[kept][~trained_on], scores[trusted]]))
        self.labels_ = self.calibration_.alerts(scores).astype(int)
        self.suspects_: tuple[Suspect, ...] = review.suspects(scores, named)
        self._classes, self._mu, self._sigma = 2, float(scores.mean()), float(scores.std())
        return self

    def decision_function(self, X: Any) -> Floats:
        """Score rows, [Q]; larger is stranger, NaN where ``on_missing="nan"`` met a gap."""
        rows, whole = self._read(X)
        scores = np.full(len(rows), np.nan)
        if whole.any():
            scores[whole] = self._index.score(rows[whole])
        return scores

    def predict(self, X: Any, return_confidence: bool = False) -> Any:
        """Say which rows alert: 1 strictly above the threshold, else 0, [Q].

        Args:
            X: [Q, D].
            return_confidence: PyOD's switch; True also gives its ``predict_confidence``.
        """
        self._warn_stale()
        labels = self.calibration_.alerts(self.decision_function(X)).astype(int)
        return (labels, self.predict_confidence(X)) if return_confidence else labels

    @property
    def trust_(self) -> Trust:
        """How much the learned distance counts, and why."""
        check_is_fitted(self)
        return self.model_.trust

    @property
    def predict_proba(self) -> NoReturn:
        """Refused: a distance is not a probability; see :meth:`rank_among_normals`."""
        raise ProbabilityError(
            "predict_proba: a distance says nothing about how likely an anomaly is; "
            "rank_among_normals(X) gives the share of held-out normal rows that are as strange "
            "(a p-value)"
        )

    def rank_among_normals(self, X: Any) -> Floats:
        """Place rows among held-out normal rows: a p-value in (0, 1], small is strange, [Q]."""
        return rank_among_normals(self.decision_function(X), self._held_scores)

    def explain(self, X: Any, *, only_alerts: bool = True) -> list[Alert]:
        """Give the evidence behind scores: neighbours, distances, and what differs most.

        Args:
            X: [Q, D].
            only_alerts: Whether rows that do not alert are left out.

        Returns:
            One entry a row, in the order of rows.
        """
        rows, whole = self._read(X)
        scored = np.flatnonzero(whole)
        return gather_evidence(
            self._index,
            self.reference_,
            rows[scored],
            scored,
            self.calibration_,
            self.schema_.names,
            only_alerts=only_alerts,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Save everything that was fitted as one folder."""
        from .store import save_detector  # noqa: PLC0415 - storing knows detectors, not the reverse

        check_is_fitted(self)
        save_detector(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Load a saved detector; it answers to the bit as before."""
        from .store import load_detector  # noqa: PLC0415

        return load_detector(cls, path)

    def _choose_trained(self, count: int, normal: int) -> NDArray[np.bool_]:
        """Which of ``count`` rows the encoder may see, out of ``normal`` that may calibrate.

        None where too few would be left to it or to the threshold.
        """
        needed = rows_needed(self.false_alarm_rate)
        if normal < needed:
            raise TooFewRows(
                f"{normal} rows cannot hold a false-alarm rate of {self.false_alarm_rate:g}: "
                f"{needed} are needed; add normal rows or allow a larger false_alarm_rate"
            )
        held = max(math.ceil(self.calibration_share * count), needed)
        trained = np.zeros(count, dtype=bool)
        if self.learned and count - held >= LEAST_TO_LEARN:
            order = np.random.default_rng([self.seed, 0]).permutation(count)
            trained[order[held:]] = True
        return trained

    def _set_schema(self, schema: Schema) -> None:
        self.schema_ = schema
        self.n_features_in_ = schema.width
        if schema.named:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _read(
        self, X: Any, on_missing: OnMissing | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        check_is_fitted(self)
        table = read_table(
            X,
            schema=self.schema_,
            on_missing=on_missing or self.on_missing,
            reader=type(self).__name__,
        )
        return table.rows, table.whole


def _require_distinct(rows: NDArray[np.float64], scores: Floats) -> None:
    """Refuse a fit that gives different rows the same score."""
    different = len(np.unique(rows, axis=0)) / len(rows)
    distinct = len(np.unique(scores)) / len(scores)
    if different == 1.0 and len(rows) > 20 and distinct < DISTINCT_SHARE / 2:
        raise RepresentationCollapse(
            f"only {distinct:.0%} of {len(rows)} different rows have scores of their own; "
            "look for columns that are constant but for a few rows, or for rows on a grid"
        )
