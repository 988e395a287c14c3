"""Review: fitted rows that look abnormal themselves, alone or in a crowd.

In: the rows a detector was fitted on and their leave-one-out scores. Out: those so far from the
rest that somebody should look whether they belong among the normal ones. A row that is alone is
far from its nearest neighbour; rows of a crowd vouch for each other, so they are also measured by
the distance to a neighbour *beyond* the crowd. Nothing is thrown away here: that is the reviewer's
decision, and ``NeighbourDetector.remove`` is how it is carried out.

Where the caller says that a share may be abnormal, three times that share is not compared with: an
abnormal row left among the normal ones vouches for all that are like it, a normal row less costs
next to nothing. Beside the rows that are left, the abnormal ones among those set aside stand out;
only then is it decided which of them are doubted, and the others go on serving the calibration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from .distances import Integers, Lengths, Matrix
from .spaces import Standardiser

Floats = NDArray[np.float64]

FENCE = 2.0
"""Interquartile ranges above the upper quartile, on a log scale; 0.2 % of lognormal scores."""

CROWD_FENCE = 4.0
"""The same for distances beyond a crowd, which vary less, so that the edge of a cloud of normal
rows lies within."""

CROWDS = (0.01, 0.05)
"""Shares of the rows that a crowd may hold and still be seen."""

SET_ASIDE = 3
"""Rows set aside for each that may be abnormal."""

ROOM = 2
"""Times the suspected share that a crowd may hold when rows are set aside."""

MOST_COMPARED = 2000
"""Rows that crowds are measured against; a larger set is drawn down, and its crowds with it."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A fitted row to review.

    Attributes:
        id: Its id.
        row: Its number in the fitted rows.
        score: Its leave-one-out score.
        times_usual: How many times the median it measures, in the look it stands out most in.
        crowd: Rows that may be like it: 1 where it stands out alone, more where it does so only
            beyond a crowd of that many.
    """

    id: Any
    row: int
    score: float
    times_usual: float
    crowd: int


def beyond_crowds(scaled: Matrix, share: float, seed: int) -> Floats:
    """Measure each row by its distance to the first neighbour beyond a crowd, [N].

    Args:
        scaled: Rows on the standard scale, [N, D].
        share: Of the rows that the crowd may hold, in (0, 1).
        seed: Of the draw where there are more than ``MOST_COMPARED`` rows.
    """
    return _beyond(scaled, share, seed)[0]


def how_odd(scaled: Matrix, share: float, seed: int) -> Floats:
    """Rank rows by how far they are beyond a crowd, for themselves and for where they are, [N].

    A row is ranked by its distance beyond a crowd, and by how many times that of its neighbours it
    is; the two ranks are added. Neither alone will do: the edge of normal rows is far too, and a
    row a little off a dense mode is many times as far as its neighbours.

    Args:
        scaled: Rows on the standard scale, [N, D].
        share: Of the rows that the crowd may hold.
        seed: As for :func:`beyond_crowds`.

    Source: Breunig et al. (2000) for the ratio; the crowd in the place of k, and the sum, are ours.
    """
    far, around = _beyond(scaled, share, seed)
    times = np.divide(far, around, out=np.ones_like(far), where=around > 0)
    ranks: Floats = stats.rankdata(far) + stats.rankdata(times)
    return ranks


def _beyond(scaled: Matrix, share: float, seed: int) -> tuple[Floats, Floats]:
    """Distance to the first neighbour beyond a crowd, and the mean of that over the crowd."""
    count = len(scaled)
    compared = np.arange(count)
    if count > MOST_COMPARED:
        draw = np.random.default_rng([seed, 4])
        compared = np.sort(draw.choice(count, MOST_COMPARED, replace=False))
    own = np.full(count, -1, dtype=np.int64)
    own[compared] = np.arange(len(compared))
    k = min(math.ceil(share * len(compared)) + 1, len(compared) - 1)
    found = Lengths(scaled[compared]).nearest(scaled, k, leave_out=own)
    far = found.distances[:, -1]
    return far, far[compared][found.rows].mean(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Review:
    """Rows about to be fitted, looked at for those that do not belong.

    Attributes:
        kept: Numbers of the rows to compare with, ascending.
        aside: Numbers of the rows set aside, ascending; empty where none are suspected.
        suspected: How many of those may be abnormal.
        looks: Size of a crowd -> distances beyond it, [N].
    """

    kept: Integers
    aside: Integers
    suspected: int
    looks: Mapping[int, Floats]

    @classmethod
    def of(cls, rows: Matrix, suspected_share: float, seed: int) -> Review:
        """Look at rows on their own scale, [N, D], and set the oddest of them aside.

        Args:
            rows: All of them.
            suspected_share: Share that may be abnormal; three times as many are set aside, but no
                more than half of all beyond that share.
            seed: Of the draw from a large set.
        """
        count, scaled = len(rows), Standardiser.of(rows).apply(rows)
        shares = [share for share in (ROOM * suspected_share, *CROWDS) if share * count > 1]
        looks = {math.ceil(share * count): beyond_crowds(scaled, share, seed) for share in shares}
        suspected = math.ceil(suspected_share * count)
        if not suspected:
            return cls(np.arange(count), np.arange(0), 0, looks)
        order = np.argsort(-how_odd(scaled, ROOM * suspected_share, seed), kind="stable")
        aside = max(suspected, min(SET_ASIDE * suspected, count // 2))
        return cls(np.sort(order[aside:]), np.sort(order[:aside]), suspected, looks)

    def doubted(self, scores: Floats) -> Integers:
        """Numbers of the rows that are doubted: of those set aside the strangest, ascending.

        Args:
            scores: Of all rows, beside the kept ones, [N].
        """
        order = np.argsort(-scores[self.aside], kind="stable")
        return np.sort(self.aside[order[: self.suspected]])

    def trusted(self, scores: Floats, share: float, seed: int) -> Integers:
        """Numbers of rows set aside that serve the calibration all the same, ascending.

        Args:
            scores: As for :meth:`doubted`.
            share: Of the kept rows that serve it: of these no more do, or the edge of the normal
                rows would count for more than it is.
            seed: Of the draw.
        """
        left = np.setdiff1d(self.aside, self.doubted(scores))
        draw = np.random.default_rng([seed, 6])
        return np.sort(draw.choice(left, round(share * len(left)), replace=False))

    def suspects(self, scores: Floats, ids: NDArray[Any]) -> tuple[Suspect, ...]:
        """List the rows that are doubted and those beyond a fence, most outstanding first.

        Args:
            scores: Of all rows, among the kept ones, [N].
            ids: [N].
        """
        beyond = find_suspects(scores, ids, self.looks)
        known = {one.row for one in beyond}
        crowd, look = next(iter(self.looks.items()), (1, scores))
        usual = max(float(np.median(look)), 1e-12)
        others = [
            Suspect(ids[row].item(), row, float(scores[row]), float(look[row]) / usual, crowd)
            for row in self.doubted(scores).tolist()
            if row not in known
        ]
        return tuple(sorted((*beyond, *others), key=lambda one: -one.times_usual))


def find_suspects(
    scores: Floats, ids: NDArray[Any], crowded: Mapping[int, Floats]
) -> tuple[Suspect, ...]:
    """Find rows beyond the upper fence of log scores, alone or beyond a crowd.

    Args:
        scores: Leave-one-out scores, [N], >= 0; twins (score 0) take no part in setting the fence.
        ids: [N].
        crowded: Size of a crowd -> distances beyond it, [N].

    Returns:
        The suspects, those that stand out most first; none from a look with fewer than 8 values
        above 0.

    Source: Tukey (1977), the outer fence, on log scores; crowds: ours.
    """
    found: dict[int, Suspect] = {}
    for crowd, look in ({1: scores} | dict(crowded)).items():
        fence = FENCE if crowd == 1 else CROWD_FENCE
        for row, times in _beyond_fence(look, fence).items():
            if row not in found or times > found[row].times_usual:
                found[row] = Suspect(ids[row].item(), row, float(scores[row]), times, crowd)
    return tuple(sorted(found.values(), key=lambda one: -one.times_usual))


def _beyond_fence(look: Floats, ranges: float) -> dict[int, float]:
    """Rows beyond the fence, with how many times the median they measure."""
    positive = look[look > 0]
    if len(positive) < 8:
        return {}
    lower, middle, upper = np.quantile(np.log(positive), [0.25, 0.5, 0.75])
    fence = np.exp(upper + ranges * max(upper - lower, 1e-9))
    usual = float(np.exp(middle))
    return {int(row): float(look[row]) / usual for row in np.flatnonzero(look > fence)}
