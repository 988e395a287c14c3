"""Similarity search over a library of series: where else did it look like this?

In: a library (a long frame or a panel) and the stretch that is looked for. Out: a frame of the
stretches most like it in shape, nearest first, none on top of another. Exact, in float64; no model
is needed.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import polars as pl

from ...core import NonFiniteError, SettingError, ShapeError
from ..frequency import Frequency
from ..gaps import Gaps
from ..panel import Panel, Values
from ..units import Steps
from .shapes import Shapes, distance_of, library, unit_shapes

_BLOCK = 65_536


def find_similar(
    frame: Any,
    stretch: Any,
    k: int = 10,
    *,
    apart: int | None = None,
    freq: str | int | Frequency | None = None,
    gaps: Gaps = "missing",
) -> Any:
    """Find the stretches of a library most like a given one in shape.

    Level and size are taken off: what counts is the form. A constant is at distance 0 from other
    constants and at ``sqrt(m)`` from everything else.

    Args:
        frame: The library: long frame ``unique_id, ds, y``, or a :class:`Panel`.
        stretch: The stretch that is looked for, [m]; see :func:`cut_stretch`.
        k: How many are wanted, K.
        apart: Starts of two answers of one series differ by at least so many rows; None for m, so
            that none lies on top of another.
        freq: The step of time, as in :func:`read_frame`.
        gaps: What absent rows become, as there; missing by default.

    Returns:
        A frame of the caller's kind, nearest first: id, time of the first row, ``end`` of the last,
        ``distance`` in [0, 2 sqrt(m)], ``correlation``. Fewer than K rows where there are fewer.

    Raises:
        ShapeError, NonFiniteError: ``stretch`` is not one row of finite numbers.
        TooFewRows: No series is as long as the stretch.
    """
    wanted = _checked(stretch)
    length = len(wanted)
    apart = length if apart is None else apart
    if k < 1 or apart < 1:
        raise SettingError(f"k and apart start at 1, found {k} and {apart}")
    shapes = Shapes(library(frame, freq, gaps), length)
    correlation = _correlate(shapes, wanted)
    rows = _pick(shapes, correlation, k, apart)
    panel, steps = shapes.panel, shapes.steps(rows)
    return panel.answer(
        {
            panel.schema.id_col: panel.labels(shapes.series[rows]),
            panel.schema.time_col: panel.stamps(steps),
            "end": panel.stamps(steps + length - 1),
            "distance": pl.Series(distance_of(correlation[rows], length)),
            "correlation": pl.Series(correlation[rows]),
        }
    )


def cut_stretch(panel: Panel, series_id: Hashable, start: Any, length: int) -> Values:
    """A stretch of a panel, to look for others like it.

    Args:
        panel: The data.
        series_id: Of the series.
        start: Stamp of its first row.
        length: m.

    Raises:
        UnknownId: No such series.
        SettingError: The series does not have these rows.
    """
    number = panel.number_of(series_id)
    first = int(panel.steps([start])[0]) - int(panel.starts[number])
    if first < 0 or first + length > panel.length(number):
        raise SettingError(
            f"series {series_id!r} has {panel.length(number)} rows from "
            f"{panel.stamps(panel.starts[[number]])[0]}, which do not hold {length} rows from "
            f"{start}"
        )
    return panel.series(number)[first : first + length].copy()


def _checked(stretch: Any) -> Values:
    wanted = np.asarray(stretch, dtype=np.float64)
    if wanted.ndim != 1:
        raise ShapeError(f"the stretch must be one row of numbers, found shape {wanted.shape}")
    if not np.isfinite(wanted).all():
        place = int(np.argmin(np.isfinite(wanted)))
        raise NonFiniteError(f"row {place} of the stretch is {wanted[place]}; pass finite numbers")
    return wanted


def _correlate(shapes: Shapes, wanted: Values) -> Values:
    """Correlation of every stretch with the wanted one, constants by convention, [N]."""
    unit = unit_shapes(wanted[None])[0]
    still = not unit.any()
    asking = np.concatenate([unit, [0.5 * still, 0.5]])
    parts = [
        shapes.answering(slice(start, start + _BLOCK)) @ asking
        for start in range(0, len(shapes), _BLOCK)
    ]
    correlation: Values = np.clip(np.concatenate(parts), -1.0, 1.0)
    return correlation


def _pick(shapes: Shapes, correlation: Values, k: int, apart: int) -> Steps:
    """The k largest, none of which starts within ``apart`` rows of a larger one of its series."""
    free = np.ones(len(shapes), dtype=bool)
    picked: list[int] = []
    while len(picked) < k and free.any():
        best = int(np.argmax(np.where(free, correlation, -np.inf)))
        picked.append(best)
        first, last = np.searchsorted(
            shapes.starts, [shapes.starts[best] - apart + 1, shapes.starts[best] + apart]
        )
        near = slice(int(first), int(last))
        free[near] &= shapes.series[near] != shapes.series[best]
    return np.array(picked, dtype=np.int64)
