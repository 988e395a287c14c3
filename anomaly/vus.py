"""VUS-PR: average precision over labels whose edges are blurred more and more.

In: labels and scores of a series. Out: the mean, over buffer lengths, of the area under the
range-aware precision-recall curve: an alert just beside an event earns a part of the credit.

Source: Paparrizos et al. (VLDB 2022), "Volume Under the Surface". Own implementation: labels rise
to 1 over a buffer as the square root of the distance left; each threshold counts soft hits, and
recall is weighted by the share of events that are touched.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import SettingError
from .evaluation import _checked
from .events import stretches

Floats = NDArray[np.float64]
LEVELS = 250
"""Score levels at which the curve is taken; ties and dense scores are thinned to that many."""


def soften(labels: ArrayLike, buffer: int) -> Floats:
    """Give labels soft edges of ``buffer // 2`` steps on either side, [T].

    >>> soften([0, 0, 1, 0, 0], 2).round(3).tolist()
    [0.0, 0.707, 1.0, 0.707, 0.0]
    """
    soft = np.asarray(labels, dtype=np.float64).copy()
    half = buffer // 2
    if not half:
        return soft
    rise = np.sqrt(1 - np.arange(1, half + 1) / buffer)
    for start, stop in stretches(labels):
        after = min(half, len(soft) - stop)
        soft[stop : stop + after] = np.maximum(soft[stop : stop + after], rise[:after])
        before = min(half, start)
        soft[start - before : start] = np.maximum(soft[start - before : start], rise[:before][::-1])
    return soft


def range_average_precision(labels: ArrayLike, scores: ArrayLike, buffer: int) -> float:
    """Give the area under the range-aware precision-recall curve for one buffer."""
    truth, values = _checked(labels, scores)
    soft = soften(truth, buffer)
    grown = stretches(soft > 0)
    # Recall is measured against the mean of the hard and the soft number of anomalous steps.
    positives = (truth.sum() + soft.sum()) / 2
    order = np.argsort(-values, kind="stable")
    hits = np.cumsum(soft[order])
    first = np.array([values[start:stop].max() for start, stop in grown])
    points = np.unique(np.linspace(0, len(values) - 1, LEVELS).round().astype(np.int64))
    precisions, recalls = [1.0], [0.0]
    for point in points:
        level = values[order[point]]
        last = int(np.searchsorted(-values[order], -level, side="right")) - 1
        touched = float((first >= level).mean())
        precisions.append(hits[last] / (last + 1))
        recalls.append(min(hits[last] / positives, 1.0) * touched)
    recall, precision = np.array(recalls), np.array(precisions)
    return float((np.diff(recall) * (precision[1:] + precision[:-1]) / 2).sum())


def vus_pr(labels: ArrayLike, scores: ArrayLike, *, longest: int, buffers: int = 11) -> float:
    """Give the volume under the precision-recall surface.

    Args:
        labels: 1 for anomalous steps, [T].
        scores: Larger is stranger, [T].
        longest: Longest buffer in steps, usually the window length.
        buffers: How many buffer lengths from 0 to ``longest``.

    Returns:
        In [0, 1]; with ``longest`` 0 about the average precision.
    """
    if longest < 0 or buffers < 1:
        raise SettingError(f"longest is {longest} and buffers {buffers}; use >= 0 and >= 1")
    lengths = np.unique(np.linspace(0, longest, buffers).round().astype(int))
    return float(np.mean([range_average_precision(labels, scores, int(n)) for n in lengths]))
