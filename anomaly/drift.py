"""Drift: whether normal scores still come from where the threshold was calibrated.

In: scores of normal times, kept apart from those that set the threshold, and then a stream of
scores. Out: a verdict a window of scores, with its own stated false-alarm rate, and the names of
the thresholds that no longer hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ..core import LeakError, SettingError, TooFewRows
from .threshold import Threshold, check_rate

TOLERATED = 2.0
"""A threshold is invalid when more than that many times its false-alarm rate is realised."""


@dataclass(frozen=True, slots=True)
class DriftVerdict:
    """What a window of scores says.

    Attributes:
        start: First score of the window, counted from the first observed.
        stop: One past its last.
        shift: Share of (reference, window) pairs in which the window is stranger, minus one half,
            in [-0.5, 0.5]; 0 without drift.
        p_value: Of the rank-sum test, two-sided.
        drifted: Whether it is below the monitor's false-alarm rate.
        invalidated: Threshold -> realised rate, for those that no longer hold.
    """

    start: int
    stop: int
    shift: float
    p_value: float
    drifted: bool
    invalidated: Mapping[str, float]


class DriftMonitor:
    """Watch a stream of scores, one window at a time.

    Args:
        reference: Scores of normal rows that neither fitted nor calibrated anything, [n].
        thresholds: Thresholds to watch, by name.
        window: Scores a verdict, at least 20. A shift of one deviation is found within the first
            whole window after it.
        false_alarm_rate: Share of windows without drift that may be called drifted.
        calibrated_with: The scores that calibrated the thresholds; given so that they can be told
            from the reference.

    Raises:
        LeakError: The reference holds the scores that calibrated a threshold.
        TooFewRows: A reference shorter than a window.
    """

    def __init__(
        self,
        reference: ArrayLike,
        thresholds: Mapping[str, Threshold] | None = None,
        *,
        window: int = 200,
        false_alarm_rate: float = 0.01,
        calibrated_with: ArrayLike | None = None,
    ) -> None:
        check_rate(false_alarm_rate)
        known = np.asarray(reference, dtype=np.float64)
        if window < 20:
            raise SettingError(f"window is {window}; a verdict needs at least 20 scores")
        if len(known) < window:
            raise TooFewRows(
                f"{len(known)} reference scores for windows of {window}; keep more normal scores"
            )
        if calibrated_with is not None:
            shared = np.isin(known, np.asarray(calibrated_with, dtype=np.float64)).mean()
            if shared > 0.5:
                raise LeakError(
                    f"{shared:.0%} of the drift monitor's reference are scores that calibrated the "
                    "threshold; give it normal scores of its own"
                )
        self.reference: NDArray[np.float64] = known
        self.thresholds = dict(thresholds or {})
        self.window = window
        self.false_alarm_rate = false_alarm_rate
        self._waiting: list[float] = []
        self._seen = 0

    def observe(self, scores: ArrayLike) -> list[DriftVerdict]:
        """Take scores in; give a verdict for each window that they complete.

        NaN scores are passed over.
        """
        values = np.atleast_1d(np.asarray(scores, dtype=np.float64))
        self._waiting += values[np.isfinite(values)].tolist()
        verdicts = []
        while len(self._waiting) >= self.window:
            piece = np.array(self._waiting[: self.window])
            self._waiting = self._waiting[self.window :]
            verdicts.append(self._judge(piece))
        return verdicts

    def _judge(self, piece: NDArray[np.float64]) -> DriftVerdict:
        start = self._seen
        self._seen += len(piece)
        test = stats.mannwhitneyu(piece, self.reference, alternative="two-sided")
        shift = float(test.statistic) / (len(piece) * len(self.reference)) - 0.5
        p_value = float(test.pvalue)
        invalidated = {
            name: float(threshold.alerts(piece).mean())
            for name, threshold in self.thresholds.items()
            if is_invalid(threshold, piece, self.false_alarm_rate)
        }
        return DriftVerdict(
            start, self._seen, shift, p_value, p_value < self.false_alarm_rate, invalidated
        )


def is_invalid(
    threshold: Threshold, normal_scores: ArrayLike, false_alarm_rate: float = 0.01
) -> bool:
    """Say whether fresh normal scores show that a threshold no longer holds.

    It does not when more than twice its rate is realised and so many alerts would be rarer than
    ``false_alarm_rate`` if it held (beta-binomial, so that a small calibration is forgiven).

    Args:
        threshold: To check.
        normal_scores: Fresh scores, believed normal.
        false_alarm_rate: Of this check.
    """
    scores = np.asarray(normal_scores, dtype=np.float64)
    if not len(scores):
        return False
    count = int(threshold.alerts(scores).sum())
    if count / len(scores) <= TOLERATED * threshold.false_alarm_rate:
        return False
    law = stats.betabinom(len(scores), threshold.calibrated_on + 1 - threshold.rank, threshold.rank)
    chance = float(law.sf(count - 1))
    return math.isfinite(chance) and chance < false_alarm_rate
