"""A coreset: a few reference rows that stand for all, so that scoring is faster.

In: normal rows on the standard scale. Out: the numbers of those to keep, and how many neighbours
still count. Rows drawn at random lose the outskirts, farthest-first rows are little but outskirts;
what is drawn here lies between. Another way to choose is another function beside the one below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .distances import Integers, Matrix

TRIALS = 8
"""Rows drawn for every row kept; the one that covers the others best is taken."""


def choose_coreset(rows: Matrix, size: int, draw: np.random.Generator) -> Integers:
    """Choose rows that cover all others: the sum of fourth powers of the gaps is kept small.

    A gap is the distance of a row to the nearest kept one. Each next row is the best of ``TRIALS``
    drawn by the fourth power of their gaps.

    Args:
        rows: On the standard scale, [N, D].
        size: Rows to keep, 1 <= size <= N.
        draw: Of the trials; the first row is the one nearest to the centre.

    Returns:
        Their numbers, ascending.

    Source: Arthur and Vassilvitskii (2007), greedy k-means++; the fourth power, between their
        second and the farthest point of Gonzalez (1985), is ours.
    """
    light = (rows - rows.mean(axis=0)).astype(np.float32)
    chosen = [int(np.square(light).sum(axis=1).argmin())]
    gap = _squares(light, light[chosen[0]])
    gap[chosen] = 0.0
    while len(chosen) < size:
        summed = np.cumsum(np.square(gap.astype(np.float64)))
        if summed[-1] == 0.0:
            # All that is left are twins of kept rows.
            others = np.setdiff1d(np.arange(len(rows)), chosen)
            chosen += others[: size - len(chosen)].tolist()
            break
        tried = np.searchsorted(summed, draw.random(TRIALS) * summed[-1], side="right")
        gaps = [np.minimum(gap, _squares(light, light[row])) for row in tried]
        best = int(np.argmin([np.square(one).sum(dtype=np.float64) for one in gaps]))
        chosen.append(int(tried[best]))
        gap = gaps[best]
        gap[chosen[-1]] = 0.0
    return np.sort(np.array(chosen, dtype=np.int64))


def neighbours_left(k: int, kept: int, stood_for: int) -> int:
    """How many neighbours count when ``kept`` rows stand for ``stood_for``: k of them thinned too.

    >>> neighbours_left(5, 1000, 10_000), neighbours_left(5, 6000, 10_000)
    (1, 3)
    """
    return max(1, round(k * kept / stood_for))


def _squares(light: NDArray[np.float32], row: NDArray[np.float32]) -> NDArray[np.float32]:
    difference = light - row
    squares: NDArray[np.float32] = np.einsum("nd,nd->n", difference, difference)
    return squares
