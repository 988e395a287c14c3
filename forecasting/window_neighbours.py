"""The raw baseline: the windows that looked most like now, and what followed them.

In: windows with their mean taken off, nothing learned. Out: the plain mean of the K nearest
continuations. A learned embedding that does not beat this only costs time, so it stands in every
table, on the same index under the same time mask as the learned forecaster.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..core import ExactIndex
from .frames import Gaps
from .frequency import Frequency
from .model import Forecaster
from .normalisers import Normaliser, training_deviations
from .origins import Origins, pasts
from .panel import Panel, Values
from .units import Steps
from .windows import Windows

RAW = "raw windows"
_BATCH = 8192


class WindowNeighbours(Forecaster):
    """Mean of the continuations of the K nearest raw windows.

    Args:
        horizon: Steps to forecast, H.
        lookback: Rows compared, L.
        k: Neighbours that are averaged, K.
        normaliser: What windows are measured against; its mean by default.
        freq, gaps, alias: As in :class:`Forecaster`.
    """

    def __init__(
        self,
        horizon: int,
        lookback: int,
        *,
        k: int = 50,
        normaliser: Normaliser | None = None,
        freq: str | int | Frequency | None = None,
        gaps: Gaps = "error",
        alias: str | None = None,
    ) -> None:
        super().__init__(horizon, lookback=lookback, freq=freq, gaps=gaps, alias=alias)
        self.k = k
        self.normaliser = normaliser or Normaliser("mean")

    def learn(self, panel: Panel) -> None:
        """Take the scale of each series; everything else is in the index."""
        self.deviations_ = dict(zip(panel.ids, training_deviations(panel), strict=True))

    def attach(self, panel: Panel) -> None:
        """Index every complete window of the panel, in the order they became complete."""
        self.windows_ = Windows(panel, self.lookback, self.horizon)
        scales = self._deviations(panel)
        lifted = []
        for start in range(0, len(self.windows_), _BATCH):
            rows = slice(start, start + _BATCH)
            past = self.windows_.pasts(rows)
            base, scale = self.normaliser.measure(past, scales[self.windows_.series_of(rows)])
            lifted.append(self.normaliser.apply(past, base, scale))
        self._sphere = Sphere.around(np.concatenate(lifted))
        self.index_ = ExactIndex(self._sphere.lift(np.concatenate(lifted)), fingerprint=RAW)

    def latest_candidates(self, steps: Steps) -> list[int | None]:
        """Latest row of a continuation that was complete at each step."""
        counts = self.windows_.upto(steps)
        return [int(self.windows_.end_steps[n - 1]) if n else None for n in counts]

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """Mean continuation of the K nearest windows complete at each origin, [O, H]."""
        past = pasts(panel, origins, self.lookback)
        base, scale = self.normaliser.measure(past, self._deviations(panel)[origins.series])
        queries = self._sphere.ask(self.normaliser.apply(past, base, scale))
        found = self.index_.search(queries, self.k, upto=self.windows_.upto(origins.steps))
        units = self._continuations(found.rows)
        sums = np.add.reduceat(units, found.offsets[:-1], axis=0)
        return self.normaliser.undo(sums / found.counts[:, None], base, scale)

    def _continuations(self, rows: Steps) -> Values:
        windows = self.windows_
        scales = self._deviations(windows.panel)[windows.series_of(rows)]
        base, scale = self.normaliser.measure(windows.pasts(rows), scales)
        return self.normaliser.apply(windows.futures(rows), base, scale)

    def _deviations(self, panel: Panel) -> Values:
        return np.array([self.deviations_.get(series_id, 1.0) for series_id in panel.ids])


class Sphere:
    """Euclidean neighbours as cosine neighbours, so that one index serves raw windows too.

    Lifting x to ``(x, -|x|^2 / 2, rest)`` with a rest that makes all references equally long, and
    a query to ``(q, 1, 0)``, turns their inner product into ``(|q|^2 - |q - x|^2) / 2``: the
    nearest by cosine is the nearest by distance (Bachrach et al. 2014).

    Args:
        unit: References are multiplied by this first, so that the longest has length 2: then the
            three parts are of one size and float32 keeps the ranking.
        reach: Length of a lifted reference.
    """

    def __init__(self, unit: float, reach: float) -> None:
        self.unit = unit
        self.reach = reach

    @classmethod
    def around(cls, references: Values) -> Sphere:
        """The smallest sphere that holds these references, [N, L]."""
        longest = float(np.sqrt((references**2).sum(axis=1).max(initial=0.0))) or 1.0
        return cls(unit=2.0 / longest, reach=math.sqrt(8.0))

    def lift(self, references: Values) -> NDArray[np.float64]:
        """References on the sphere, [N, L + 2]."""
        x = references * self.unit
        square = (x**2).sum(axis=1)
        rest = np.sqrt(np.maximum(self.reach**2 - square - square**2 / 4, 0.0))
        return np.column_stack([x, -square / 2, rest])

    def ask(self, queries: Values) -> NDArray[np.float64]:
        """Queries beside lifted references, [Q, L + 2]."""
        ones, zeros = np.ones(len(queries)), np.zeros(len(queries))
        return np.column_stack([queries * self.unit, ones, zeros])
