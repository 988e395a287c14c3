"""Review: fitted rows that look abnormal themselves.

In: leave-one-out scores of the rows a detector was fitted on. Out: those so far above the rest that
somebody should look whether they belong among the normal ones. Nothing is removed here: that is
the reviewer's decision, and ``NeighbourDetector.remove`` is how it is carried out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FENCE = 2.0
"""Interquartile ranges above the upper quartile, on a log scale; 0.2 % of lognormal scores."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A fitted row to review.

    Attributes:
        id: Its id.
        row: Its number in the fitted rows.
        score: Its leave-one-out score.
        times_usual: The score over the median score.
    """

    id: Any
    row: int
    score: float
    times_usual: float


def find_suspects(scores: NDArray[np.float64], ids: NDArray[Any]) -> tuple[Suspect, ...]:
    """Find rows whose leave-one-out score lies beyond the upper fence of log scores.

    Args:
        scores: [N], >= 0; twins (score 0) take no part in setting the fence.
        ids: [N].

    Returns:
        The suspects, strangest first; empty for fewer than 8 scores above 0.

    Source: Tukey (1977), the outer fence, on log scores.
    """
    positive = scores[scores > 0]
    if len(positive) < 8:
        return ()
    lower, middle, upper = np.quantile(np.log(positive), [0.25, 0.5, 0.75])
    fence = np.exp(upper + FENCE * max(upper - lower, 1e-9))
    beyond = np.flatnonzero(scores > fence)
    order = beyond[np.argsort(-scores[beyond], kind="stable")]
    usual = float(np.exp(middle))
    return tuple(
        Suspect(ids[row].item(), int(row), float(scores[row]), float(scores[row]) / usual)
        for row in order
    )
