"""Locality: how crowded normal rows are around a row, so that sparse regions alert less readily.

In: the normal rows an encoder may learn from. Out: a :class:`Locality`, part of the model: rows are
weighed by how far the normal rows around them lie from each other, on a much flattened scale. It
is fixed at the fit, on rows that take no part in the calibration, so held-out rows and new ones
are weighed alike and an added normal row can only lower scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .distances import Lengths, Matrix

Floats = NDArray[np.float64]

EXPONENT = 0.25
"""How much the distances around a row count; 1 would divide by them."""

NEIGHBOURS = 5
MOST_ANCHORS = 2000


@dataclass(frozen=True, eq=False)
class Locality:
    """Weights of rows by the crowd around them.

    Attributes:
        anchors: Normal rows on the standard scale, [A, D].
        apart: Mean distance of each to its neighbours, over the median of such distances, [A].
    """

    anchors: Matrix
    apart: Floats

    @classmethod
    def of(cls, scaled: Matrix, draw: np.random.Generator) -> Locality:
        """Measure how far standardised rows [N, D], N > 1, lie from each other.

        Args:
            scaled: Rows that take no part in the calibration.
            draw: Of the anchors, where there are more than ``MOST_ANCHORS``.
        """
        chosen = np.arange(len(scaled))
        if len(scaled) > MOST_ANCHORS:
            chosen = np.sort(draw.choice(len(scaled), MOST_ANCHORS, replace=False))
        around = min(NEIGHBOURS, len(scaled) - 1)
        apart = Lengths(scaled).nearest(scaled[chosen], around, leave_out=chosen).mean
        usual = float(np.median(apart))
        return cls(scaled[chosen], apart / usual if usual > 0 else np.ones(len(chosen)))

    def weigh(self, scaled: Matrix) -> Floats:
        """Give the weight of standardised rows, [Q]: 1 in a usual crowd, at most 2 ** EXPONENT.

        Args:
            scaled: [Q, D].
        """
        around = self._search.nearest(scaled, min(NEIGHBOURS, len(self.anchors))).rows
        weights: Floats = ((1 + self.apart[around].mean(axis=1)) / 2) ** -EXPONENT
        return weights

    @cached_property
    def _search(self) -> Lengths:
        return Lengths(self.anchors)
