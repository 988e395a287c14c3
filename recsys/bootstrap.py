"""Bootstrap: how far a mean over users could have come out otherwise.

In: one number a user. Out: the mean and an interval. Users are drawn, not events, because a user's
events are not independent of each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core import ShapeError, TooFewRows

_DRAWS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over users and the interval it may lie in.

    Attributes:
        mean: Of the users at hand.
        low, high: Percentile bounds of the bootstrap.
        users: How many the mean is over.
    """

    mean: float
    low: float
    high: float
    users: int

    @property
    def decided(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0 or self.high < 0


def bootstrap_mean(
    values: NDArray[np.float64], *, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> Interval:
    """Bound the mean of one number a user.

    Args:
        values: float [U], finite.
        level: Coverage of the interval, between 0 and 1.
        resamples: Draws of U users with replacement.
        seed: Seed of the draws.

    Raises:
        TooFewRows: No user.

    Source: percentile bootstrap (Efron 1979).

    >>> bootstrap_mean(np.ones(10))
    Interval(mean=1.0, low=1.0, high=1.0, users=10)
    """
    count = len(values)
    if count == 0:
        raise TooFewRows("there is no user to average over; check that the test part is not empty")
    generator = np.random.default_rng(seed)
    step = max(1, _DRAWS_AT_ONCE // count)
    means = np.concatenate(
        [
            values[generator.integers(count, size=(min(step, resamples - start), count))].mean(1)
            for start in range(0, resamples, step)
        ]
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(values.mean()), float(low), float(high), count)


def bootstrap_difference(
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    *,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Bound the mean difference ``ours - theirs`` of the same users in the same order."""
    if ours.shape != theirs.shape:
        raise ShapeError(
            f"a paired difference needs the same users twice, found {len(ours)} and {len(theirs)}"
        )
    return bootstrap_mean(ours - theirs, level=level, resamples=resamples, seed=seed)
