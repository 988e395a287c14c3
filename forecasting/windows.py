"""Windows of a panel, cut when asked for.

A window is the L rows up to an anchor row together with the H rows that followed. Only the row
number of each anchor is kept, 16 bytes a window, never an N x L copy. Windows stand in the order
in which their continuations were complete, so what may be known at a step is a prefix:
:meth:`Windows.upto`. To change what makes a window fit for the index, change ``_find_anchors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from torch import Tensor

from ..core import CandidateMask, SettingError
from .moments import window_moments
from .panel import Panel, Values
from .units import Steps

Selection = Steps | slice | Sequence[int]


class Windows:
    """All complete windows of a panel: nothing missing in the past or in the continuation.

    A window that begins or ends on an interpolated value is left out: that value was drawn with
    the help of a later one.

    Args:
        panel: S series on one grid.
        lookback: L, rows of the past, at least 1.
        horizon: H, rows of the continuation, at least 1.
        stride: Keep the windows whose continuation ends on a multiple of this step.

    Attributes:
        anchors: Row in ``panel.values`` of the last row of each past, [N].
        end_steps: Step at which each continuation was complete, ascending, [N].

    Source: ours.
    """

    def __init__(self, panel: Panel, lookback: int, horizon: int, *, stride: int = 1) -> None:
        _check_sizes(lookback, horizon)
        self.panel = panel
        self.lookback = lookback
        self.horizon = horizon
        anchors = _find_anchors(panel, lookback, horizon)
        end_steps = _steps_of(panel, anchors) + horizon
        if (np.diff(end_steps) < 0).any():
            order = np.argsort(end_steps, kind="stable")
            anchors, end_steps = anchors[order], end_steps[order]
        if stride > 1:
            # By calendar step, so that a window stays in or out however the panel grows.
            kept = end_steps % stride == 0
            anchors, end_steps = anchors[kept], end_steps[kept]
        self.anchors: Steps = anchors
        self.end_steps: Steps = end_steps
        self._moments: tuple[Values, Values] | None = None

    def __len__(self) -> int:
        return len(self.anchors)

    def __repr__(self) -> str:
        return (
            f"Windows({len(self)} of lookback {self.lookback} and horizon {self.horizon}, "
            f"from {len(self.panel)} series)"
        )

    def upto(self, steps: Steps) -> Steps:
        """How many windows were complete at each step, their continuations included, [Q].

        The first ``upto(step)`` windows are all that a forecast made at that step may use.
        """
        return np.searchsorted(self.end_steps, steps, side="right")

    def series_of(self, rows: Selection) -> Steps:
        """Number of the series each window is from, [B]."""
        return _series_of(self.panel, self.anchors[rows])

    def origin_steps(self, rows: Selection) -> Steps:
        """Step of the last row of each past, [B]."""
        return self.end_steps[rows] - self.horizon

    def places_in(self, other: Windows) -> Steps:
        """Row of each of these windows in another list of them, by series and time, [N].

        -1 where the other list lacks it. Series are told apart by id, so the panels may differ.
        """
        span = int(max(self.end_steps.max(initial=0), other.end_steps.max(initial=0))) + 1
        first = int(min(self.end_steps.min(initial=0), other.end_steps.min(initial=0)))
        number = {series_id: place for place, series_id in enumerate(other.panel.ids)}
        numbers = np.array([number.get(series_id, -1) for series_id in self.panel.ids])
        theirs = other.series_of(slice(None)) * (span - first) + other.end_steps - first
        series = numbers[self.series_of(slice(None))]
        mine = series * (span - first) + self.end_steps - first
        order = np.argsort(theirs, kind="stable")
        if not len(order):
            return np.full(len(self), -1)
        place = order[np.minimum(np.searchsorted(theirs[order], mine), len(order) - 1)]
        return np.where((series >= 0) & (theirs[place] == mine), place, -1)

    def pasts(self, rows: Selection) -> Values:
        """The L rows up to and with each anchor, a copy, [B, L]."""
        return self._cut(self.anchors[rows] - self.lookback + 1, self.lookback)

    def futures(self, rows: Selection) -> Values:
        """The H rows that followed each anchor, a copy, [B, H]."""
        return self._cut(self.anchors[rows] + 1, self.horizon)

    def moments(self, rows: Selection) -> tuple[Values, Values]:
        """Mean and deviation of each past, [B] and [B]; found for all in one pass."""
        if self._moments is None:
            self._moments = window_moments(self.panel.values, self.lookback)
        means, deviations = self._moments
        return means[self.anchors[rows]], deviations[self.anchors[rows]]

    def queries(self, series: Steps, positions: Steps) -> Values:
        """Pasts of any rows, complete or not, [Q, L]; see :func:`windows_at`."""
        return windows_at(self.panel, series, positions, self.lookback)

    def overlaps(self, rows: Selection, span: int | None = None) -> OverlapMask:
        """The mask that keeps windows which share rows with one another from being negatives.

        Args:
            rows: The windows of a batch, [B].
            span: Windows of one series closer than this are left out; None for L + H.
        """
        return OverlapMask(
            torch.from_numpy(self.series_of(rows)),
            torch.from_numpy(self.anchors[rows]),
            self.lookback + self.horizon if span is None else span,
        )

    def _cut(self, firsts: Steps, length: int) -> Values:
        if not len(firsts):
            return np.empty((0, length))
        return sliding_window_view(self.panel.values, length)[firsts]


def windows_at(panel: Panel, series: Steps, positions: Steps, lookback: int) -> Values:
    """Pasts of any rows of a panel, complete or not.

    Args:
        panel: S series.
        series: Number of each series, [Q].
        positions: Row of each origin within its series, 0 to ``length - 1``, [Q].
        lookback: L.

    Returns:
        [Q, L]; NaN where a value is missing, where the series had not begun, and where a value was
        drawn towards one that lay ahead of the origin.

    Raises:
        SettingError: When a position lies outside its series.
    """
    series, positions = np.asarray(series), np.asarray(positions)
    outside = (positions < 0) | (positions >= panel.lengths[series])
    if outside.any():
        first = int(np.argmax(outside))
        name = panel.ids[int(series[first])]
        raise SettingError(
            f"position {positions[first]} is outside series {name!r}, which has rows 0 to "
            f"{panel.length(int(series[first])) - 1}; origins are rows of the series"
        )
    places = positions[:, None] + np.arange(1 - lookback, 1)
    rows = panel.offsets[series][:, None] + np.maximum(places, 0)
    pasts = np.where(places < 0, np.nan, panel.values[rows])
    if len(panel.interpolated):
        drawn = _drawn(panel)[rows]
        open_ended = np.logical_and.accumulate(drawn[:, ::-1], axis=1)[:, ::-1]
        pasts[open_ended] = np.nan
    return pasts


class OverlapMask(CandidateMask):
    """Windows of one series closer than lookback + horizon are no negatives of each other.

    Args:
        series: Number of the series of each row of the batch, int [B].
        ends: Last row of each past, on one count within each series, int [B].
        span: Rows of a window and its continuation, L + H.

    Source: ours; the exclusion zone of matrix profiles (Yeh et al. 2016) over window and
    continuation.
    """

    def __init__(self, series: Tensor, ends: Tensor, span: int) -> None:
        self.series = series
        self.ends = ends
        self.span = span

    def tile(self, rows: slice, device: torch.device) -> Tensor:
        """True where the column shares rows with the window of the row, bool [T, B]."""
        series, ends = self.series.to(device), self.ends.to(device)
        near = (ends[rows, None] - ends[None, :]).abs() < self.span
        return near & (series[rows, None] == series[None, :])


class TooShort(NamedTuple):
    """A series that gives no window.

    Attributes:
        series_id: The caller's id.
        longest: Its longest stretch without a missing value, in rows.
        minimum: The stretch that would give exactly one window, lookback + horizon.
    """

    series_id: Any
    longest: int
    minimum: int

    def __str__(self) -> str:
        return (
            f"series {self.series_id!r} has at most {self.longest} rows without a missing value, "
            f"and one window needs {self.minimum}"
        )


def too_short(panel: Panel, lookback: int, horizon: int) -> tuple[TooShort, ...]:
    """The series of a panel that cannot give a single window, by name.

    Args:
        panel: S series.
        lookback: L, at least 1.
        horizon: H, at least 1.

    Returns:
        One entry for each such series, in the order of the panel; empty when all give windows.
    """
    _check_sizes(lookback, horizon)
    anchors = _find_anchors(panel, lookback, horizon)
    without = np.bincount(_series_of(panel, anchors), minlength=len(panel)) == 0
    longest = np.maximum.reduceat(_unbroken(panel), panel.offsets[:-1])
    return tuple(
        TooShort(panel.ids[number], int(longest[number]), lookback + horizon)
        for number in np.flatnonzero(without).tolist()
    )


def _check_sizes(lookback: int, horizon: int) -> None:
    for name, size in (("lookback", lookback), ("horizon", horizon)):
        if size < 1:
            raise SettingError(f"{name}={size} rows is no window; use at least 1")


def _unbroken(panel: Panel) -> Steps:
    """Rows without a missing value that end at each row, within its series, [T]."""
    places = np.arange(len(panel.values))
    barriers = np.where(np.isnan(panel.values), places, -1)
    barriers[panel.offsets[:-1]] = np.maximum(barriers[panel.offsets[:-1]], panel.offsets[:-1] - 1)
    runs: Steps = np.subtract(places, np.maximum.accumulate(barriers, out=barriers), out=places)
    return runs


def _find_anchors(panel: Panel, lookback: int, horizon: int) -> Steps:
    """Last past row of every complete window, in the order of the panel, [N]."""
    complete = _unbroken(panel) >= lookback + horizon
    if len(panel.interpolated):
        drawn = _drawn(panel)
        complete &= ~drawn
        complete[horizon:] &= ~drawn[:-horizon]
    return np.flatnonzero(complete) - horizon


def _drawn(panel: Panel) -> NDArray[np.bool_]:
    drawn = np.zeros(len(panel.values), dtype=bool)
    drawn[panel.interpolated] = True
    return drawn


def _series_of(panel: Panel, rows: Steps) -> Steps:
    return np.searchsorted(panel.offsets[1:], rows, side="right")


def _steps_of(panel: Panel, rows: Steps) -> Steps:
    series = _series_of(panel, rows)
    return panel.starts[series] + rows - panel.offsets[series]
