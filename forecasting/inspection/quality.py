"""Quality of a library: what is missing, stuck, out of line, or there twice.

In: a long frame or a panel. Out: frames that name series and times, for a person to look at;
nothing is changed. :func:`describe_quality` has one row a series, :func:`find_duplicates` one row
a pair of stretches that are, but for level and size, the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ...core import SettingError
from ..frequency import Frequency
from ..gaps import Gaps
from ..panel import Panel, Values
from ..units import Steps
from .nearest import NearestStretches, nearest_stretches
from .shapes import library

SPIKE = 10.0
"""Robust deviations of a step from its series' usual step, from which it is called a spike."""
MAD = 1.4826
"""Makes a median absolute deviation a standard deviation, for normal data."""


def describe_quality(
    frame: Any, *, freq: str | int | Frequency | None = None, gaps: Gaps = "missing"
) -> Any:
    """Describe every series of a library.

    Args:
        frame: Long frame ``unique_id, ds, y``, or a :class:`Panel`.
        freq: The step of time, as in :func:`read_frame`.
        gaps: What absent rows become, as there; missing by default.

    Returns:
        A frame of the caller's kind, one row a series: id, ``rows``, ``missing``, ``longest_gap``
        and ``longest_stuck`` (rows in a row with one and the same value), ``values`` (different
        ones), ``spikes`` (steps to a row and back of more than ten usual steps).
    """
    panel = library(frame, freq, gaps)
    rows = [_describe(panel.series(number)) for number in range(len(panel))]
    columns = {name: pl.Series([row[name] for row in rows]) for name in rows[0]}
    return panel.answer({panel.schema.id_col: panel.labels(np.arange(len(panel)))} | columns)


def find_duplicates(
    frame: Any,
    length: int,
    *,
    at_least: float = 0.999,
    freq: str | int | Frequency | None = None,
    gaps: Gaps = "missing",
) -> Any:
    """Find stretches that occur twice, in one series or in two.

    A copy that was scaled or shifted is found too. Stretches that overlap and lie equally far from
    their copies are told as one, in its full length. Constants are no copies of each other.

    Args:
        frame: Long frame ``unique_id, ds, y``, or a :class:`Panel`.
        length: Shortest stretch that counts, m.
        at_least: Correlation, in (0, 1], from which two stretches are the same.
        freq: The step of time, as in :func:`read_frame`.
        gaps: What absent rows become, as there; missing by default.

    Returns:
        A frame of the caller's kind, longest first: id and first stamp of the stretch that comes
        first, ``copy_`` of both of its copy, ``rows``, and the lowest ``correlation``.
    """
    if not 0 < at_least <= 1:
        raise SettingError(f"at_least is {at_least}; a correlation to look for lies in (0, 1]")
    panel = library(frame, freq, gaps)
    near = nearest_stretches(panel, length, apart=length)
    return _runs(near, at_least)


def _runs(near: NearestStretches, at_least: float) -> Any:
    """Stretches that follow one another, each next to the copy of the one before."""
    panel = near.panel
    series = np.searchsorted(panel.offsets[1:], near.starts, side="right")
    other = np.searchsorted(panel.offsets[1:], near.nearest, side="right")
    same = (near.correlation >= at_least) & _moves(panel, near)
    # Each pair is met from both of its ends; the earlier one tells it.
    same &= near.starts < near.nearest
    rows = np.flatnonzero(same)
    shift = near.nearest[rows] - near.starts[rows]
    goes_on = (
        (np.diff(near.starts[rows]) == 1)
        & (np.diff(shift) == 0)
        & (np.diff(series[rows]) == 0)
        & (np.diff(other[rows]) == 0)
    )
    firsts = np.flatnonzero(np.concatenate([[True], ~goes_on])) if len(rows) else rows
    lengths = np.diff(firsts, append=len(rows))
    lowest = np.minimum.reduceat(near.correlation[rows], firsts) if len(rows) else np.empty(0)
    order = np.argsort(-lengths, kind="stable")
    heads = rows[firsts][order]
    schema = panel.schema

    def places(starts: Steps, numbers: Steps) -> tuple[pl.Series, pl.Series]:
        steps = panel.starts[numbers] + starts - panel.offsets[numbers]
        return panel.labels(numbers), panel.stamps(steps)

    here = places(near.starts[heads], series[heads])
    there = places(near.nearest[heads], other[heads])
    return panel.answer(
        {
            schema.id_col: here[0],
            schema.time_col: here[1],
            f"copy_{schema.id_col}": there[0],
            f"copy_{schema.time_col}": there[1],
            "rows": pl.Series(lengths[order] + near.length - 1),
            "correlation": pl.Series(lowest[order]),
        }
    )


def _moves(panel: Panel, near: NearestStretches) -> NDArray[np.bool_]:
    changed = np.concatenate([[0], np.cumsum(np.diff(panel.values) != 0)])
    moved: NDArray[np.bool_] = changed[near.starts + near.length - 1] > changed[near.starts]
    return moved


def _describe(values: Values) -> dict[str, int]:
    missing = np.isnan(values)
    known = values[~missing]
    return {
        "rows": len(values),
        "missing": int(missing.sum()),
        "longest_gap": _longest(missing),
        "longest_stuck": _longest(np.diff(values) == 0) + 1,
        "values": len(np.unique(known)),
        "spikes": _spikes(known),
    }


def _longest(flags: NDArray[np.bool_]) -> int:
    """Length of the longest run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return int(np.diff(edges)[::2].max(initial=0))


def _spikes(values: Values) -> int:
    """Rows that the series jumps to and jumps back from."""
    steps = np.diff(values)
    if len(steps) < 2:
        return 0
    usual = MAD * float(np.median(np.abs(steps - np.median(steps))))
    limit = SPIKE * usual
    there, back = steps[:-1], steps[1:]
    return int(((np.minimum(np.abs(there), np.abs(back)) > limit) & (there * back < 0)).sum())
