"""The direct baseline: one linear map from the window to all steps of the horizon.

In: windows with their last value taken off, in units of each series. Out: the same for the steps
ahead. The solution is closed form (ridge regression on the Gram matrix, accumulated in batches),
so it is exact, fast, and the honest price tag for any forecast that explains itself. It is what
NLinear (Zeng et al., arXiv 2205.13504) converges to, without the training.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core import SettingError, TooFewRows
from .frames import Gaps
from .frequency import Frequency
from .holdout import HeldOut, batches
from .model import Forecaster
from .normalisers import Normaliser, training_deviations
from .origins import Origins, futures, pasts
from .panel import Panel, Values
from .windows import Windows

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""Ridge penalties tried, as shares of the mean eigenvalue of the Gram matrix."""
MOST_WINDOWS = 200_000
_BATCH = 4096


class DirectRidge(Forecaster):
    """Closed-form ridge from the window to the horizon, shared by all series.

    The penalty is chosen on the validation tail, then the map is solved on everything.

    Args:
        horizon: Steps to forecast, H.
        lookback: Rows it looks at, L.
        penalties: Penalties to choose from, as shares of the mean eigenvalue.
        freq, gaps, alias: As in :class:`Forecaster`.
    """

    def __init__(
        self,
        horizon: int,
        lookback: int,
        *,
        penalties: Sequence[float] = PENALTIES,
        freq: str | int | Frequency | None = None,
        gaps: Gaps = "error",
        alias: str | None = None,
    ) -> None:
        super().__init__(horizon, lookback=lookback, freq=freq, gaps=gaps, alias=alias)
        if not penalties or min(penalties) <= 0:
            raise SettingError(f"penalties must be positive, found {list(penalties)}")
        self.penalties = tuple(penalties)
        self.penalty_ = self.penalties[0]
        self._normaliser = Normaliser("last")

    def rehearse(self, panel: Panel, held: HeldOut) -> None:
        """Solve on the rows before the cut, with the penalty that does best behind it."""
        gram = self._gram(held.before)
        errors = []
        for penalty in self.penalties:
            self._solve(gram, penalty)
            errors.append(self._tail_error(panel, held.origins))
        self.penalty_ = self.penalties[int(np.argmin(errors))]
        self._solve(gram, self.penalty_)

    def learn(self, panel: Panel) -> None:
        """Solve the map on every window of a panel."""
        self._solve(self._gram(panel), self.penalty_)

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """Map the window before each origin to the horizon, [O, H]."""
        past = pasts(panel, origins, self.lookback)
        scale = np.ones(len(origins))
        base = past[:, -1]
        # The map is linear without an intercept in level or scale, so units cancel: no series
        # needs to be known from training to be forecast.
        units = self._normaliser.apply(past, base, scale)
        return self._normaliser.undo(units @ self.weights_, base, scale)

    def _gram(self, panel: Panel) -> tuple[Values, Values]:
        windows = Windows(panel, self.lookback, self.horizon)
        if not len(windows):
            raise TooFewRows(
                f"no series has {self.lookback} + {self.horizon} rows in a row to learn from; "
                "shorten the lookback or the horizon, or close the gaps"
            )
        deviations = training_deviations(panel)
        square = np.zeros((self.lookback, self.lookback))
        cross = np.zeros((self.lookback, self.horizon))
        chosen = np.arange(0, len(windows), -(-len(windows) // MOST_WINDOWS))
        for start in range(0, len(chosen), _BATCH):
            rows = chosen[start : start + _BATCH]
            past, future = windows.pasts(rows), windows.futures(rows)
            base, scale = self._normaliser.measure(past, deviations[windows.series_of(rows)])
            past = self._normaliser.apply(past, base, scale)
            square += past.T @ past
            cross += past.T @ self._normaliser.apply(future, base, scale)
        return square, cross

    def _solve(self, gram: tuple[Values, Values], penalty: float) -> None:
        square, cross = gram
        # Windows that never move, as those of a constant series, have the zero map.
        strength = penalty * (float(np.trace(square)) / self.lookback or 1.0)
        self.weights_ = np.linalg.solve(square + strength * np.eye(self.lookback), cross)

    def _tail_error(self, panel: Panel, origins: Origins) -> float:
        deviations = training_deviations(panel)
        total = 0.0
        for part in batches(origins, _BATCH):
            miss = futures(panel, part, self.horizon) - self.expect(panel, part)
            total += float(((miss / deviations[part.series][:, None]) ** 2).sum())
        return total
