"""What passes between an index of continuations and those who ask it.

In: nothing but arrays. Out: the questions as vectors, the windows that answer with their weights,
and what these add up to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .panel import Values
from .units import Steps


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The windows up to some origins, as the index is asked about them.

    Attributes:
        vectors: On the unit sphere, [O, D].
        lengths: Of the vectors before they were put there, [O].
        scales: Of the windows, [O].
    """

    vectors: NDArray[np.float32]
    lengths: Values
    scales: Values


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """The nearest windows of some origins, flat, those of one origin together.

    Attributes:
        rows: Their rows in the index.
        weights: Those of one origin sum to one.
        offsets: Where each origin begins, [O + 1].
        scales: Of the windows that ask, [O].
    """

    rows: Steps
    weights: Values
    offsets: Steps
    scales: Values


@dataclass(frozen=True, slots=True, eq=False)
class Recalled:
    """What the past of each origin adds up to, in units of the asking series.

    Attributes:
        future: Weighted continuation, [O, H].
        summary: Weighted summary of the pasts before it, [O, F].
        effective: Effective number of windows, 1 / sum of squared weights, [O].
    """

    future: Values
    summary: Values
    effective: Values
