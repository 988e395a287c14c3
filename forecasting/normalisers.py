"""What a window is measured against: a base that is taken off and a scale that is divided by.

In: pasts, and the deviation of each series over the rows before the cutoff. Out: base and scale
of each past. The same :meth:`Normaliser.apply` brings pasts and continuations into these units,
:meth:`Normaliser.undo` brings a continuation back at the level and scale of another window. To add
a kind, name it in ``Kind`` and give it a branch in :meth:`Normaliser.measure`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..core import SettingError
from .panel import Panel, Values

Kind = Literal["mean", "last", "z", "none"]
# Deviations below this many roundings of the level are roundings themselves.
ROUNDINGS = 8


@dataclass(frozen=True, slots=True)
class Normaliser:
    """How windows are made comparable.

    ``mean`` and ``last`` take off the mean or the last value of the past and divide by the
    deviation of the series over its training rows. ``z`` divides by the deviation of the window
    itself, but never by less than ``floor`` times that of the series and never so that the scales
    of two windows of one series differ by more than ``cap``: a continuation is never blown up by
    more, however flat the window it follows. ``none`` leaves values as they are.

    Args:
        kind: ``"mean"``, ``"last"``, ``"z"`` or ``"none"``.
        floor: Smallest scale of ``z``, as a share of the training deviation, in (0, 1].
        cap: Largest ratio between the scales of two windows of one series under ``z``, at least
            1. The largest scale is ``floor * cap`` training deviations.

    Source: the mean is that of NLinear and RevIN (Kim et al. 2022); floor and cap are ours.
    """

    kind: Kind = "mean"
    floor: float = 0.2
    cap: float = 10.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise SettingError(
                f"kind={self.kind!r} is no normaliser; use one of {', '.join(get_args(Kind))}"
            )
        if not 0 < self.floor <= 1:
            raise SettingError(f"floor={self.floor} must lie in (0, 1]; 0.2 is a fair start")
        if not 1 <= self.cap < np.inf:
            raise SettingError(f"cap={self.cap} must be finite and at least 1; 10 is a fair start")

    def measure(self, pasts: Values, deviations: Values) -> tuple[Values, Values]:
        """Base and scale of each past.

        Args:
            pasts: Windows, NaN where a value is missing, [B, L].
            deviations: Training deviation of the series of each window, positive, [B]; see
                :func:`training_deviations`.

        Returns:
            Base [B] in units of the target, NaN where a past holds no value; scale [B], positive.

        >>> Normaliser("mean").measure(np.array([[1.0, 3.0]]), np.array([2.0]))
        (array([2.]), array([2.]))
        """
        if self.kind == "none":
            return np.zeros(len(pasts)), np.ones(len(pasts))
        if self.kind == "last":
            return _last(pasts), deviations
        means = _means(pasts)
        if self.kind == "mean":
            return means, deviations
        smallest = self.floor * deviations
        return means, np.clip(_spreads(pasts, means), smallest, self.cap * smallest)

    def apply(self, windows: Values, base: Values, scale: Values) -> Values:
        """Pasts or continuations in units of their window, [B, L] or [B, H]."""
        units: Values = windows - base[:, None]
        units /= scale[:, None]
        return units

    def undo(self, units: Values, base: Values, scale: Values) -> Values:
        """Continuations in units of the target, at this base and scale, [B, H]."""
        return units * scale[:, None] + base[:, None]


def training_deviations(panel: Panel) -> Values:
    """Deviation of each series over all rows of a panel, always positive, [S].

    Cut the panel first (:meth:`Panel.until`): what it holds is what the scale may know. A constant
    series has no deviation; its own level stands in, and 1 for a series of zeros.

    Source: ours.
    """
    counts = _sums(panel, ~np.isnan(panel.values))
    present = np.nan_to_num(panel.values)
    counts_or_one = np.maximum(counts, 1)
    means = _sums(panel, present) / counts_or_one
    centred = np.where(np.isnan(panel.values), 0.0, panel.values - np.repeat(means, panel.lengths))
    deviations = np.sqrt(_sums(panel, centred**2) / counts_or_one)
    return _or_level(deviations, np.abs(means))


def deviation(values: Values) -> float:
    """Deviation of one stretch of values by the rule of :func:`training_deviations`.

    >>> deviation(np.array([1.0, np.nan, 3.0])), deviation(np.array([5.0, 5.0]))
    (1.0, 5.0)
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return 1.0
    return float(_or_level(known.std(), np.abs(known.mean())))


def series_units(panel: Panel, fitted: Mapping[Any, float], rows: int) -> Values:
    """Unit of each series of a panel that may hold series which were not fitted on, [S].

    A new series is measured by its first rows: every origin that a forecast can start from has
    seen these, so its unit never hangs on what came after.

    Args:
        panel: S series.
        fitted: Id -> training deviation.
        rows: How many first rows of a new series count; the lookback.
    """
    return np.array(
        [
            fitted[series_id] if series_id in fitted else deviation(panel.series(number)[:rows])
            for number, series_id in enumerate(panel.ids)
        ]
    )


def _or_level(deviations: Any, levels: Any) -> Values:
    """Deviations, where there are any; what is no more than rounding of the level is none."""
    constant = deviations <= ROUNDINGS * np.finfo(np.float64).eps * levels
    return np.where(constant, np.where(levels > 0, levels, 1.0), deviations)


def _sums(panel: Panel, values: NDArray[np.float64] | NDArray[np.bool_]) -> Values:
    sums: Values = np.add.reduceat(values, panel.offsets[:-1], dtype=np.float64)
    return sums


def _means(windows: Values) -> Values:
    """Mean of the values that are there, NaN where none is."""
    missing = np.isnan(windows)
    if not missing.any():
        means: Values = windows.mean(axis=1)
        return means
    counts = (~missing).sum(axis=1)
    sums = np.where(missing, 0.0, windows).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _spreads(windows: Values, means: Values) -> Values:
    """Deviation of the values that are there from their mean, NaN where none is."""
    missing = np.isnan(windows)
    if not missing.any():
        spreads: Values = windows.std(axis=1)
        return spreads
    counts = (~missing).sum(axis=1)
    centred = np.where(missing, 0.0, windows - means[:, None])
    variances = (centred**2).sum(axis=1) / np.maximum(counts, 1)
    return np.where(counts > 0, np.sqrt(variances), np.nan)


def _last(windows: Values) -> Values:
    """Last value that is there, NaN where none is."""
    from_end = np.argmax(~np.isnan(windows[:, ::-1]), axis=1)
    last: Values = windows[np.arange(len(windows)), windows.shape[1] - 1 - from_end]
    return last
