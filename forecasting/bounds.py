"""Ranks among draws: where a value lies among equally likely futures, and back.

In: sorted draws of each origin and step. Out: the rank of a value, counted from the middle of the
draws, or the value at a rank. Between draws a rank is interpolated; beyond them it goes on in a
straight line, one rank a spread, so that no value is out of reach. Both ways are monotone: bounds
at higher ranks are higher, and quantiles never cross.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core import SettingError
from .panel import Values


def ranks(draws: Values, values: Values, spread: Values) -> Values:
    """Rank of each value among the draws of its origin and step, [O, H].

    Args:
        draws: Ascending along M, [O, M, H].
        values: [O, H].
        spread: Unit beyond the outermost draws, positive, [O].

    Returns:
        0 in the middle, -(M - 1) / 2 at the lowest draw, (M - 1) / 2 at the highest.

    >>> ranks(np.array([[[0.0], [10.0], [30.0]]]), np.array([[20.0]]), np.array([5.0]))
    array([[0.5]])
    """
    last = draws.shape[1] - 1
    below = (draws < values[:, None]).sum(axis=1)
    low = np.clip(below - 1, 0, last)
    high = np.clip(below, 0, last)
    under, over = _take(draws, low), _take(draws, high)
    gap = np.where(over > under, over - under, 1.0)
    inside = low + (values - under) / gap
    far = (values - np.where(below == 0, draws[:, 0], draws[:, -1])) / spread[:, None]
    outside = np.where(below == 0, far, last + far)
    place = np.where((below > 0) & (below <= last), inside, outside)
    centred: Values = place - last / 2
    return centred


def at_ranks(draws: Values, rank: Values, spread: Values) -> Values:
    """The value at a rank of each step, [O, H]; :func:`ranks` the other way round.

    Args:
        draws: Ascending along M, [O, M, H].
        rank: Counted from the middle, [H].
        spread: Unit beyond the outermost draws, positive, [O].

    >>> at_ranks(np.array([[[0.0], [10.0], [30.0]]]), np.array([0.5]), np.array([5.0]))
    array([[20.]])
    """
    last = draws.shape[1] - 1
    place = rank + last / 2
    within = np.clip(place, 0, last)
    low = np.floor(within).astype(np.int64)
    steps = np.arange(draws.shape[2])
    under, over = draws[:, low, steps], draws[:, np.minimum(low + 1, last), steps]
    beyond = (place - within) * spread[:, None]
    value: Values = under + (within - low) * (over - under) + beyond
    return value


def check_quantiles(quantiles: Sequence[float]) -> list[float]:
    """Distinct probabilities, ascending.

    Raises:
        SettingError: One that does not lie between 0 and 1.
    """
    wrong = [q for q in quantiles if not 0 < q < 1]
    if wrong:
        raise SettingError(f"quantiles lie between 0 and 1, found {wrong}")
    return sorted({float(q) for q in quantiles})


def _take(draws: Values, places: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Values:
    taken: Values = np.take_along_axis(draws, places[:, None], axis=1)[:, 0]
    return taken
