"""Combining scores of different detectors, by rank and never by value.

In: scores of several detectors and, for each, scores of normal rows. Out: one score. A distance and
a likelihood have no common unit, so their mean means nothing; the share of normal rows that are
as strange is the same thing for both.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import SettingError, ShapeError
from .threshold import rank_among_normals


def combine_by_rank(
    scores: Mapping[str, ArrayLike], normals: Mapping[str, ArrayLike]
) -> NDArray[np.float64]:
    """Combine detectors by the geometric mean of their p-values among normal rows.

    Args:
        scores: Detector -> scores of the same Q rows, larger stranger; NaN where it has none.
        normals: Detector -> scores of held-out normal rows.

    Returns:
        Minus the mean log p-value, [Q]; larger is stranger. A row that one detector could not
        score is NaN: no detector's opinion is made up.

    Raises:
        SettingError: A detector without normal scores, which could only be averaged by value.
        ShapeError: Different numbers of rows.

    >>> combine_by_rank({"a": [5.0], "b": [0.1]}, {"a": [1.0] * 9, "b": [0.5] * 9}).round(3)
    array([1.151])
    """
    missing = sorted(set(scores) - set(normals))
    if missing:
        raise SettingError(
            f"no normal scores for {', '.join(missing)}: scores of different detectors have no "
            "common unit and are not averaged; give each its scores of held-out normal rows"
        )
    lengths = {len(np.asarray(one)) for one in scores.values()}
    if len(lengths) != 1:
        raise ShapeError(f"the detectors scored {sorted(lengths)} rows; give the same rows to all")
    logs = [-np.log(rank_among_normals(scores[name], normals[name])) for name in scores]
    combined: NDArray[np.float64] = np.mean(logs, axis=0)
    return combined
