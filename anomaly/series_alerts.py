"""Alerts of series: steps that alert together, when they were, and the evidence at their peak.

In: a fitted detector and a frame. Out: a :class:`JudgedFrame`: the scored frame and one
:class:`SeriesAlert` an event, strangest first. Steps less than a window apart are one event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import InputError
from .events import Event, merge_events
from .series import SeriesDetector
from .series_frame import read_series
from .window_evidence import WindowAlert, explain_window
from .windows import Values


@dataclass(frozen=True, slots=True, eq=False)
class SeriesAlert:
    """One event.

    Attributes:
        series: Id of the series.
        first: Time of its first step.
        last: Time of its last step.
        event: Its steps and its peak.
        evidence: For the window at the peak; None where a gap leaves no whole window there.
    """

    series: Any
    first: Any
    last: Any
    event: Event
    evidence: WindowAlert | None


@dataclass(frozen=True, slots=True, eq=False)
class JudgedFrame:
    """A frame with its scores and alerts.

    Attributes:
        answer: As :meth:`SeriesDetector.score` gives it.
        steps: How many steps there are.
        unscored: How many of them have no score.
        alerts: Strangest first.
    """

    answer: Any
    steps: int
    unscored: int
    alerts: tuple[SeriesAlert, ...]


def judge_frame(detector: SeriesDetector, frame: Any) -> JudgedFrame:
    """Score a frame and gather what alerts.

    Args:
        detector: Fitted.
        frame: As in :meth:`SeriesDetector.score`.
    """
    answer = detector.score(frame)
    read = read_series(
        frame, id_col=detector.id_col, time_col=detector.time_col, channels=detector.channels_
    )
    scores = np.array([float(one) for one in answer["score"]], dtype=np.float64)
    alerts: list[SeriesAlert] = []
    start = 0
    for one, stamps, values in zip(read.ids, read.stamps, read.values, strict=True):
        own = scores[start : start + len(values)]
        start += len(values)
        threshold = detector.threshold(one)
        for event in merge_events(own, threshold.value, spacing=detector.lookback_of(one)):
            evidence = _evidence(detector, values, event, one)
            alerts.append(
                SeriesAlert(one, stamps[event.start], stamps[event.stop - 1], event, evidence)
            )
    ordered = sorted(alerts, key=lambda alert: -alert.event.score)
    return JudgedFrame(answer, len(scores), int(np.isnan(scores).sum()), tuple(ordered))


def _evidence(
    detector: SeriesDetector, values: Values, event: Event, series: Any
) -> WindowAlert | None:
    """The window that ends at the peak, or the first one that covers it."""
    end = max(event.peak, detector.lookback_of(series) - 1)
    try:
        return explain_window(detector, values, end, series)
    except InputError:
        return None
