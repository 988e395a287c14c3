"""Review: fitted rows that look abnormal themselves, alone or in a crowd.

In: the rows a detector was fitted on and their leave-one-out scores. Out: those so far from the
rest that somebody should look whether they belong among the normal ones. A row that is alone is
far from its nearest neighbour; rows of a crowd vouch for each other, so they are also measured by
the distance to a neighbour *beyond* the crowd. Nothing is thrown away here: that is the reviewer's
decision, and ``NeighbourDetector.remove`` is how it is carried out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    count = len(scaled)
    compared = np.arange(count)
    if count > MOST_COMPARED:
        draw = np.random.default_rng([seed, 4])
        compared = np.sort(draw.choice(count, MOST_COMPARED, replace=False))
    own = np.full(count, -1, dtype=np.int64)
    own[compared] = np.arange(len(compared))
    k = min(math.ceil(share * len(compared)) + 1, len(compared) - 1)
    return Lengths(scaled[compared]).nearest(scaled, k, leave_out=own).distances[:, -1]


@dataclass(frozen=True, slots=True, eq=False)
class Review:
    """Rows about to be fitted, looked at for those that do not belong.

    Attributes:
        kept: Numbers of the rows taken as normal, ascending.
        aside: Numbers of the rows set aside, ascending; empty where none are suspected.
        looks: Size of a crowd -> distances beyond it, [N].
    """

    kept: Integers
    aside: Integers
    looks: Mapping[int, Floats]

    @classmethod
    def of(cls, rows: Matrix, suspected_share: float, seed: int) -> Review:
        """Look at rows on their own scale, [N, D], and set the suspected share of them aside.

        Args:
            rows: All of them.
            suspected_share: Share set aside, those farthest beyond a crowd of that size.
            seed: Of the draw from a large set.
        """
        scaled = Standardiser.of(rows).apply(rows)
        shares = [share for share in (suspected_share, *CROWDS) if share * len(rows) > 1]
        looks = {
            math.ceil(share * len(rows)): beyond_crowds(scaled, share, seed) for share in shares
        }
        count = math.ceil(suspected_share * len(rows))
        first = looks.get(count, np.zeros(len(rows)))
        order = np.argsort(-first, kind="stable")
        return cls(np.sort(order[count:]), np.sort(order[:count]), looks)

    def suspects(self, scores: Floats, ids: NDArray[Any]) -> tuple[Suspect, ...]:
        """List the rows set aside and those beyond a fence, most outstanding first.

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
            for row in self.aside.tolist()
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
