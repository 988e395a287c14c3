"""The raw baseline: the windows that looked most like now, and what followed them.

In: windows with their mean taken off, nothing learned. Out: the plain mean of the K nearest
continuations. A learned embedding that does not beat this only costs time, so it stands in every
table, on the same index under the same time mask as the learned forecaster.
"""

from __future__ import annotations

import numpy as np

from ..core import ExactIndex, TooFewRows
from .embeddings import RawEmbedding
from .frames import Gaps
from .frequency import Frequency
from .model import Forecaster
from .normalisers import Normaliser, series_units, training_deviations
from .origins import Origins, pasts
from .panel import Panel, Values
from .units import Steps
from .windows import Windows

_BATCH = 8192
# Windows to come may be so many times as long as any that was learned from.
ROOM = 4.0


class WindowNeighbours(Forecaster):
    """Mean of the continuations of the K nearest raw windows.

    Args:
        horizon: Steps to forecast, H.
        lookback: Rows compared, L.
        k: Neighbours that are averaged, K.
        normaliser: What windows are measured against; its mean by default.
        freq, gaps, alias: As in :class:`Forecaster`.
    """

    family = "retrieval"

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
        """Take the scale of each series, and of the sphere; everything else is in the index."""
        self.deviations_ = panel.by_id(training_deviations(panel))
        windows = Windows(panel, self.lookback, self.horizon)
        if not len(windows):
            raise TooFewRows(
                f"no series has {self.lookback} + {self.horizon} rows in a row to learn from; "
                "shorten the lookback or the horizon, or close the gaps"
            )
        self._embedding = RawEmbedding.around(ROOM * self._normalised(windows))

    def attach(self, panel: Panel) -> None:
        """Index every complete window of the panel, in the order they became complete."""
        self.windows_ = Windows(panel, self.lookback, self.horizon)
        references = self._normalised(self.windows_)
        vectors = self._embedding.hold(references, references)
        self.index_ = ExactIndex(vectors, fingerprint=self._embedding.fingerprint)

    def latest_candidates(self, steps: Steps) -> list[int | None]:
        """Latest row of a continuation that was complete at each step."""
        counts = self.windows_.upto(steps)
        return [int(self.windows_.end_steps[n - 1]) if n else None for n in counts]

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """Mean continuation of the K nearest windows complete at each origin, [O, H]."""
        past = pasts(panel, origins, self.lookback)
        base, scale = self.normaliser.measure(past, self._deviations(panel)[origins.series])
        queries = self._embedding.ask(self.normaliser.apply(past, base, scale))
        found = self.index_.search(queries, self.k, upto=self.windows_.upto(origins.steps))
        units = self._continuations(found.rows)
        sums = np.add.reduceat(units, found.offsets[:-1], axis=0)
        return self.normaliser.undo(sums / found.counts[:, None], base, scale)

    def _normalised(self, windows: Windows) -> Values:
        scales = self._deviations(windows.panel)
        normal = []
        for start in range(0, max(len(windows), 1), _BATCH):
            rows = slice(start, start + _BATCH)
            past = windows.pasts(rows)
            base, scale = self.normaliser.measure(past, scales[windows.series_of(rows)])
            normal.append(self.normaliser.apply(past, base, scale))
        return np.concatenate(normal)

    def _continuations(self, rows: Steps) -> Values:
        windows = self.windows_
        scales = self._deviations(windows.panel)[windows.series_of(rows)]
        base, scale = self.normaliser.measure(windows.pasts(rows), scales)
        return self.normaliser.apply(windows.futures(rows), base, scale)

    def _deviations(self, panel: Panel) -> Values:
        return series_units(panel, self.deviations_, self.lookback)
