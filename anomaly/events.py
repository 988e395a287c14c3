"""Events: alerts that stand close together are one thing to look at.

In: scores or flags of consecutive steps. Out: :class:`Event`, a stretch with its peak. Reviewers
count events and not steps, and their time is a budget; both are expressed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..core import SettingError


@dataclass(frozen=True, slots=True)
class Event:
    """A stretch of steps that alert together.

    Attributes:
        start: First step.
        stop: One past the last step.
        peak: Step of the largest score.
        score: That score.
    """

    start: int
    stop: int
    peak: int
    score: float


def merge_events(scores: ArrayLike, above: float, *, spacing: int = 1) -> list[Event]:
    """Merge steps above a level into events.

    Args:
        scores: One a step, [T]; NaN never alerts.
        above: Level; strictly larger scores alert.
        spacing: Alerts at most that many steps apart are one event, >= 1.

    Returns:
        The events in order of time.

    >>> [(e.start, e.stop) for e in merge_events([0, 5, 0, 5, 0, 0, 0, 6], 1.0, spacing=2)]
    [(1, 4), (7, 8)]
    """
    if spacing < 1:
        raise SettingError(f"spacing is {spacing}; alerts at least 1 step apart can be merged")
    values = np.asarray(scores, dtype=np.float64)
    steps = np.flatnonzero(values > above)
    if not len(steps):
        return []
    breaks = np.flatnonzero(np.diff(steps) > spacing)
    starts = np.concatenate([[0], breaks + 1])
    stops = np.concatenate([breaks, [len(steps) - 1]])
    return [
        _event(values, int(steps[a]), int(steps[b]) + 1) for a, b in zip(starts, stops, strict=True)
    ]


def within_budget(scores: ArrayLike, budget: int, *, spacing: int = 1) -> list[Event]:
    """Choose the strangest events that reviewers have time for.

    The level is lowered until one more event would exceed the budget.

    Args:
        scores: One a step, [T].
        budget: Events at most.
        spacing: As in :func:`merge_events`.

    Returns:
        At most ``budget`` events, strangest first.
    """
    values = np.asarray(scores, dtype=np.float64)
    order = np.argsort(-np.where(np.isnan(values), -np.inf, values), kind="stable")
    chosen: list[tuple[int, int, int]] = []
    for step in order[: int(np.isfinite(values).sum())]:
        touching = [e for e in chosen if e[0] - spacing <= step <= e[1] - 1 + spacing]
        if not touching and len(chosen) == budget:
            break
        peak = min((e[2] for e in touching), key=lambda at: -values[at], default=int(step))
        merged = (
            min([int(step), *(e[0] for e in touching)]),
            max([int(step) + 1, *(e[1] for e in touching)]),
            peak,
        )
        chosen = [e for e in chosen if e not in touching] + [merged]
    events = [Event(a, b, peak, float(values[peak])) for a, b, peak in chosen]
    return sorted(events, key=lambda event: -event.score)


def stretches(labels: ArrayLike) -> list[tuple[int, int]]:
    """Give the stretches of true labels as (start, stop).

    >>> stretches([0, 1, 1, 0, 1])
    [(1, 3), (4, 5)]
    """
    flags = np.concatenate([[False], np.asarray(labels, dtype=bool), [False]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(flags))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _event(values: Sequence[float] | np.ndarray, start: int, stop: int) -> Event:
    piece = np.asarray(values[start:stop], dtype=np.float64)
    peak = start + int(np.nanargmax(piece))
    return Event(start, stop, peak, float(values[peak]))
