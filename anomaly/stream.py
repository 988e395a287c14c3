"""Streaming: one step at a time, with the answers of a batch.

In: steps of one series as they arrive. Out: a score for each, the very number that scoring the
whole series at once in causal mode would give. Only the last L - 1 steps are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import SettingError, ShapeError
from .series import SeriesDetector


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a stream says about one step.

    Attributes:
        score: How strange it is; NaN where it cannot be said.
        alert: Whether it lies strictly above the threshold.
        reason: Why there is no score, or None.
    """

    score: float
    alert: bool
    reason: str | None


class Stream:
    """Judge the steps of one series as they arrive.

    Args:
        detector: Fitted, in causal mode.
        series: Id of the series; may be left out for a single or pooled one.
        history: Steps that came just before, [T, C], so that the first ones can be judged.
    """

    def __init__(
        self, detector: SeriesDetector, series: Any = None, *, history: ArrayLike | None = None
    ) -> None:
        if detector.mode != "causal":
            raise SettingError(
                f"mode {detector.mode!r} judges a stamp by steps after it, which a stream does not "
                "have yet; fit the detector with mode='causal'"
            )
        self.detector, self.series = detector, series
        self._keep = detector._of(series).model.lookback - 1
        channels = len(detector.channels_)
        before = np.empty((0, channels)) if history is None else np.asarray(history, dtype=float)
        self._recent: NDArray[np.float64] = self._checked(before)[-self._keep :]

    def push(self, step: ArrayLike) -> Judgement:
        """Judge one step, [C]; NaN marks a missing value."""
        values = self._checked(np.atleast_2d(np.asarray(step, dtype=np.float64)))
        window = np.concatenate([self._recent, values])
        scores, reasons = self.detector.score_values(window, self.series)
        self._recent = window[-self._keep :]
        threshold = self.detector.threshold(self.series)
        return Judgement(float(scores[-1]), bool(threshold.alerts(scores[-1:])[0]), reasons[-1])

    def _checked(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        channels = len(self.detector.channels_)
        if values.ndim != 2 or values.shape[1] != channels:
            raise ShapeError(
                f"a step has {channels} channels ({', '.join(self.detector.channels_)}), found "
                f"shape {values.shape}"
            )
        return values
