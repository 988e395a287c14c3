"""Evaluation: what labels say about scores, for rows and for series. Only here are labels read.

In: scores and 0/1 labels. Out: numbers a reviewer can use: precision and recall within the alerts
there is time for, events found and how late, average precision, the area under the precision-recall
surface (``vus.py``), and the realised beside the nominal false-alarm rate. No point-adjusted F1,
which rewards noise, and no threshold chosen on the labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ..core import NonFiniteError, SettingError, ShapeError
from .events import Event, stretches, within_budget
from .threshold import Threshold

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AtBudget:
    """What reviewers find within their budget.

    Attributes:
        budget: Alerts looked at.
        precision: Share of them that are anomalies.
        recall: Share of anomalies among them.
    """

    budget: int
    precision: float
    recall: float


def at_budget(labels: ArrayLike, scores: ArrayLike, budget: int) -> AtBudget:
    """Count what the ``budget`` strangest rows contain; ties count by their share.

    Args:
        labels: 1 for an anomaly, [N].
        scores: Larger is stranger, [N].
        budget: Rows looked at, 1 .. N.

    >>> at_budget([0, 1, 1, 0], [0.1, 0.9, 0.2, 0.5], 2)
    AtBudget(budget=2, precision=0.5, recall=0.5)
    """
    truth, values = _checked(labels, scores)
    if not 1 <= budget <= len(truth):
        raise SettingError(f"budget is {budget}; look at 1 to {len(truth)} rows")
    level = np.partition(values, -budget)[-budget]
    above, tied = values > level, values == level
    share = (budget - above.sum()) / tied.sum()
    found = float(truth[above].sum() + share * truth[tied].sum())
    return AtBudget(budget, found / budget, found / int(truth.sum()))


def average_precision(labels: ArrayLike, scores: ArrayLike) -> float:
    """Give the area under the precision-recall steps; tied scores are one step.

    >>> round(average_precision([0, 1, 1, 0], [0.1, 0.9, 0.2, 0.5]), 4)
    0.8333
    """
    truth, values = _checked(labels, scores)
    order = np.argsort(-values, kind="stable")
    last = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)
    found = np.cumsum(truth[order])[last]
    precision = found / (last + 1)
    gained = np.diff(np.concatenate([[0], found])) / truth.sum()
    return float((precision * gained).sum())


def roc_area(labels: ArrayLike, scores: ArrayLike) -> float:
    """Give the share of (anomaly, normal) pairs in the right order; ties count half.

    >>> roc_area([0, 1, 1, 0], [0.1, 0.9, 0.2, 0.5])
    0.75
    """
    truth, values = _checked(labels, scores)
    ranks = stats.rankdata(values)
    anomalies = truth.sum()
    normals = len(truth) - anomalies
    return float((ranks[truth].sum() - anomalies * (anomalies + 1) / 2) / (anomalies * normals))


@dataclass(frozen=True, slots=True)
class EventReport:
    """What alerts make of true events.

    Attributes:
        events: True events.
        found: Of these, how many an alert touches.
        false_events: Alerts that touch none.
        alerts: Alerts altogether.
        delay: Mean steps from the start of a found event to the first alert in it; NaN where none
            is found.
    """

    events: int
    found: int
    false_events: int
    alerts: int
    delay: float

    @property
    def recall(self) -> float:
        """Share of true events found."""
        return self.found / self.events

    @property
    def precision(self) -> float:
        """Share of alerts that touch a true event; NaN without alerts."""
        return 1 - self.false_events / self.alerts if self.alerts else float("nan")


def judge_events(labels: ArrayLike, alerts: list[Event], *, tolerance: int = 0) -> EventReport:
    """Compare alerted events with true ones.

    Args:
        labels: 1 for anomalous steps, [T].
        alerts: As :func:`~likewise.anomaly.merge_events` gives them.
        tolerance: Steps by which an alert may miss an event and still count.
    """
    truth = stretches(labels)
    delays = []
    for start, stop in truth:
        near = [a for a in alerts if a.start < stop + tolerance and a.stop > start - tolerance]
        if near:
            delays.append(max(0, min(a.start for a in near) - start))
    false = sum(
        not any(a.start < stop + tolerance and a.stop > start - tolerance for start, stop in truth)
        for a in alerts
    )
    delay = float(np.mean(delays)) if delays else float("nan")
    return EventReport(len(truth), len(delays), false, len(alerts), delay)


def events_at_budget(
    labels: ArrayLike, scores: ArrayLike, budget: int, *, spacing: int = 1, tolerance: int = 0
) -> EventReport:
    """Compare the ``budget`` strangest events with the true ones."""
    return judge_events(labels, within_budget(scores, budget, spacing=spacing), tolerance=tolerance)


@dataclass(frozen=True, slots=True)
class Realised:
    """Realised beside nominal false alarms.

    Attributes:
        nominal: The rate asked for.
        realised: Share of normal rows that alert.
        normals: Rows behind it.
        interval: Where the rate was to lie with 95 % confidence, sampling of these rows included.
    """

    nominal: float
    realised: float
    normals: int
    interval: tuple[float, float]

    @property
    def holds(self) -> bool:
        """Whether the realised rate lies in the interval."""
        return self.interval[0] <= self.realised <= self.interval[1]


def realised_rate(threshold: Threshold, normal_scores: ArrayLike) -> Realised:
    """Compare a threshold with fresh normal rows.

    The interval is that of the beta-binomial: the threshold's own Beta law, and the counting of a
    finite number of fresh rows on top of it.
    """
    scores = np.asarray(normal_scores, dtype=np.float64)
    count = int(threshold.alerts(scores).sum())
    rank = threshold.rank
    law = stats.betabinom(len(scores), threshold.calibrated_on + 1 - rank, rank)
    interval = (float(law.ppf(0.025)) / len(scores), float(law.ppf(0.975)) / len(scores))
    return Realised(threshold.false_alarm_rate, count / len(scores), len(scores), interval)


def stability(score: Callable[[Floats], Floats], normal: Floats, shifted: Floats) -> float:
    """Say how far a benign shift moves normal scores, in their own standard deviations.

    Args:
        score: Scores samples.
        normal: Normal samples.
        shifted: The same samples after a shift that should not matter.

    Returns:
        Median absolute change over the standard deviation of the scores; 0 is perfectly stable.
    """
    before = score(normal)
    return float(np.median(np.abs(score(shifted) - before)) / max(before.std(), 1e-12))


def _checked(labels: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    truth = np.asarray(labels).astype(bool)
    values = np.asarray(scores, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != values.shape:
        raise ShapeError(
            f"labels {truth.shape} and scores {values.shape} must be two vectors of one length"
        )
    if not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(values))
        raise NonFiniteError(
            f"{len(bad)} scores are not finite, first at {bad[0]}; leave these steps out of both"
        )
    if not truth.any() or truth.all():
        raise ShapeError(
            f"{int(truth.sum())} of {len(truth)} labels are 1; both kinds are needed to compare"
        )
    return truth, values
