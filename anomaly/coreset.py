"""A coreset: a few reference rows that stand for all, so that scoring is faster.

In: normal rows on the standard scale. Out: the numbers of those to keep. Rows drawn at random lose
the outskirts, farthest-first rows are little but outskirts; what is drawn here lies between, and
then settles in the middle of what it stands for. What kept rows remember of the others lies with
``sketch.py``. Another way to choose is another function beside the one below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .distances import Integers, Lengths, Matrix

TRIALS = 8
"""Rows drawn for every row kept; the one that covers the others best is taken."""

ROUNDS = 3
"""Times that kept rows are moved to the middle of the rows they stand for."""


def choose_coreset(rows: Matrix, size: int, draw: np.random.Generator) -> Integers:
    """Choose rows that cover all others: the sum of fourth powers of the gaps is kept small.

    A gap is the distance of a row to the nearest kept one. Each next row is the best of ``TRIALS``
    drawn by the fourth power of their gaps. At last each moves to the row nearest to the mean of
    those it stands for, ``ROUNDS`` times.

    Args:
        rows: On the standard scale, [N, D].
        size: Rows to keep, 1 <= size <= N.
        draw: Of the trials; the first row is the one nearest to the centre.

    Returns:
        Their numbers, ascending.

    Source: Arthur and Vassilvitskii (2007), greedy k-means++; the fourth power, between their
        second and the farthest point of Gonzalez (1985), is ours. Rounds: Lloyd (1982), with rows
        for means.
    """
    light = (rows - rows.mean(axis=0)).astype(np.float32)
    chosen = _draw(light, size, draw)
    for _ in range(ROUNDS):
        chosen = _settle(light, chosen)
    return np.sort(chosen)


def _draw(light: NDArray[np.float32], size: int, draw: np.random.Generator) -> Integers:
    chosen = [int(np.square(light).sum(axis=1).argmin())]
    gap = _squares(light, light[chosen[0]])
    gap[chosen] = 0.0
    while len(chosen) < size:
        summed = np.cumsum(np.square(gap.astype(np.float64)))
        if summed[-1] == 0.0:
            # All that is left are twins of kept rows.
            others = np.setdiff1d(np.arange(len(light)), chosen)
            chosen += others[: size - len(chosen)].tolist()
            break
        tried = np.searchsorted(summed, draw.random(TRIALS) * summed[-1], side="right")
        gaps = [np.minimum(gap, _squares(light, light[row])) for row in tried]
        best = int(np.argmin([np.square(one).sum(dtype=np.float64) for one in gaps]))
        chosen.append(int(tried[best]))
        gap = gaps[best]
        gap[chosen[-1]] = 0.0
    return np.array(chosen, dtype=np.int64)


def _settle(light: NDArray[np.float32], chosen: Integers) -> Integers:
    """Move each chosen row to the row nearest to the mean of those it stands for."""
    owner = Lengths(light[chosen]).nearest(light, 1).rows[:, 0]
    owner[chosen] = np.arange(len(chosen))  # of twins each stands for itself
    sums = np.zeros((len(chosen), light.shape[1]))
    np.add.at(sums, owner, light)
    means = sums / np.bincount(owner, minlength=len(chosen))[:, None]
    gap = np.square(light - means[owner]).sum(axis=1)
    order = np.lexsort((gap, owner))
    first = np.searchsorted(owner[order], np.arange(len(chosen)))
    settled: Integers = order[first]
    return settled


def _squares(light: NDArray[np.float32], row: NDArray[np.float32]) -> NDArray[np.float32]:
    difference = light - row
    squares: NDArray[np.float32] = np.einsum("nd,nd->n", difference, difference)
    return squares
