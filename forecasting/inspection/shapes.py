"""Stretches of a panel as shapes: level and size taken off, so that only the form is compared.

In: a panel and a length. Out: :class:`Shapes`, every stretch without a missing value, cut when
asked for as a unit vector whose inner product with another is their correlation. A constant
stretch has no form: it correlates by 1 with another constant and by 1/2 with anything else, which
makes its z-normalised distance 0 and ``sqrt(m)``, the convention of matrix profiles. To compare
something other than z-normalised shapes, change :meth:`Shapes.units`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...core import SettingError, TooFewRows
from ..frames import read_frame
from ..frequency import Frequency
from ..gaps import Gaps
from ..moments import window_moments
from ..normalisers import ROUNDINGS
from ..panel import Panel, Values
from ..units import Steps

Rows = slice | Steps


class Shapes:
    """Every complete stretch of m rows of a panel.

    Args:
        panel: S series.
        length: m, rows of a stretch, at least 3.

    Attributes:
        starts: First row of each stretch in ``panel.values``, ascending, [N].
        series: Number of the series of each, [N].
        constant: Which do not move, [N].

    Raises:
        SettingError: A length below 3: two points always have the same shape.
        TooFewRows: No series has so many rows without a missing value.
    """

    def __init__(self, panel: Panel, length: int) -> None:
        if length < 3:
            raise SettingError(f"length={length} rows have no shape to compare; use at least 3")
        self.panel = panel
        self.length = length
        means, spreads = window_moments(panel.values, length)
        last = np.flatnonzero(~np.isnan(means))
        starts = last - length + 1
        series = np.searchsorted(panel.offsets[1:], starts, side="right")
        whole = last < panel.offsets[series + 1]
        if not whole.any():
            raise TooFewRows(
                f"no series has {length} rows in a row without a missing value; the longest has "
                f"{int(panel.lengths.max())} rows: shorten the length or close the gaps"
            )
        last = last[whole]
        self.starts: Steps = starts[whole]
        self.series: Steps = series[whole]
        rounding = ROUNDINGS * np.finfo(np.float64).eps * np.abs(means[last])
        self.constant: NDArray[np.bool_] = spreads[last] <= rounding

    def __len__(self) -> int:
        return len(self.starts)

    def units(self, rows: Rows) -> Values:
        """Centred stretches over their length, [B, m]; zeros where constant."""
        cut = sliding_window_view(self.panel.values, self.length)[self.starts[rows]]
        units = unit_shapes(cut)
        units[self.constant[rows]] = 0.0
        return units

    def steps(self, rows: Rows) -> Steps:
        """Calendar step of the first row of each stretch, [B]."""
        series = self.series[rows]
        return self.panel.starts[series] + self.starts[rows] - self.panel.offsets[series]

    def asking(self, rows: Rows) -> Values:
        """Units with two more entries, so that :meth:`answering` knows constants, [B, m + 2]."""
        halves = np.full((len(self.starts[rows]), 2), 0.5)
        halves[:, 0] *= self.constant[rows]
        return np.hstack([self.units(rows), halves])

    def answering(self, rows: Rows) -> Values:
        """The other side: ``asking @ answering.T`` are the correlations, [B, m + 2]."""
        ones = np.ones((len(self.starts[rows]), 2))
        ones[:, 1] = self.constant[rows]
        return np.hstack([self.units(rows), ones])

    def distances(self, rows: Steps, others: Steps) -> Values:
        """z-normalised Euclidean distances of pairs of stretches, [B], in [0, 2 sqrt(m)]."""
        apart = np.linalg.norm(self.units(rows) - self.units(others), axis=1)
        one, both = self.constant[rows] ^ self.constant[others], self.constant[rows]
        apart = np.where(one, 1.0, np.where(both, 0.0, apart))
        distances: Values = np.sqrt(self.length) * apart
        return distances


def unit_shapes(stretches: Values) -> Values:
    """Rows less their mean, of length one; a row that does not move becomes zeros."""
    centred = stretches - stretches.mean(axis=1, keepdims=True)
    # By the largest entry first: squares of 1e-200 or 1e200 are no numbers any more.
    largest = np.abs(centred).max(axis=1, keepdims=True)
    centred /= np.where(largest > 0, largest, 1.0)
    sizes = np.linalg.norm(centred, axis=1, keepdims=True)
    units: Values = centred / np.where(sizes > 0, sizes, 1.0)
    return units


def distance_of(correlation: Values, length: int) -> Values:
    """The z-normalised distance that a correlation stands for, ``sqrt(2 m (1 - r))``."""
    distance: Values = np.sqrt(2.0 * length * np.clip(1.0 - correlation, 0.0, 2.0))
    return distance


def library(frame: Any, freq: str | int | Frequency | None = None, gaps: Gaps = "missing") -> Panel:
    """A frame read as a panel; a panel as it is."""
    return frame if isinstance(frame, Panel) else read_frame(frame, freq=freq, gaps=gaps)
