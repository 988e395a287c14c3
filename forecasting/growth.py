"""A panel that goes on: new rows behind the last known ones.

In: a panel and the rows that have come since, as another panel on the same grid. Out: one panel,
the one that reading all rows at once would have made. What was known is never changed: a row at or
before the end of its series is refused, because forecasts have been made from it. What becomes of
the steps between the old end and the new rows is the reader's policy for gaps, as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from ..core import ColumnError, InputError, SettingError, UnsortedRows, join_faults
from .columns import open_frame
from .covariates import Covariates
from .frames import read_frame
from .gaps import Gaps
from .panel import Panel, Values
from .units import Steps

_SHOWN = 5


def read_more(panel: Panel, frame: Any, gaps: Gaps) -> Panel:
    """Read rows that go on behind a panel, on its grid and under its column names.

    Args:
        panel: What is known.
        frame: Long frame with the panel's columns; rows of known and of new series.
        gaps: What absent rows inside the new part become, as in :func:`read_frame`.

    Raises:
        InputError: With every fault of the frame.
        ColumnError: Its ids or times are of another kind than the panel's.
    """
    schema = panel.schema
    more = read_frame(
        frame,
        freq=panel.freq,
        id_col=schema.id_col,
        time_col=schema.time_col,
        target_col=schema.target_col,
        covariates=panel.covariates.names,
        gaps=gaps,
    )
    if type(more.ids[0]) is not type(panel.ids[0]):
        raise ColumnError(
            f"column {schema.id_col!r} holds {more.id_dtype}, and the ids so far are "
            f"{panel.id_dtype}; cast it"
        )
    if more.freq != panel.freq:
        # The phase was read from the new stamps where the panel's own left it open.
        raise InputError(
            f"the new rows lie on another grid than freq={str(panel.freq)!r} of the panel; shift "
            "their stamps"
        )
    return more


def read_ahead(panel: Panel, frame: Any) -> Covariates:
    """Read what is known of the steps to come: a frame of ids, times and covariates, no target.

    Args:
        panel: Carries the covariates so far.
        frame: Long frame with the panel's id and time columns and all of its covariates.

    Raises:
        InputError: With every fault of the frame.
        SettingError: The panel carries no covariates.
    """
    if not panel.covariates.names:
        raise SettingError(
            "covariates were passed to a model that looks at none; wrap it: "
            "WithCovariates(model, [names of columns])"
        )
    target = nw.lit(0.0).alias(panel.schema.target_col)
    with_target = open_frame(frame).with_columns(target).to_native()
    return read_more(panel, with_target, "missing").covariates


def goes_on(panel: Panel, known: Panel) -> bool:
    """Whether a panel holds every row of another as it was, and perhaps more behind them."""
    places = {series_id: number for number, series_id in enumerate(panel.ids)}
    for number, series_id in enumerate(known.ids):
        place = places.get(series_id)
        if place is None or panel.starts[place] != known.starts[number]:
            return False
        rows = known.series(number)
        if not np.array_equal(panel.series(place)[: len(rows)], rows, equal_nan=True):
            return False
    return True


def join_panels(panel: Panel, more: Panel, gaps: Gaps) -> Panel:
    """One panel of what was known and what has come since.

    Args:
        panel: What is known.
        more: Rows behind it, and series that are new.
        gaps: What the steps between the two become.

    Raises:
        UnsortedRows: A row lies at or before the end of its series; names the series.
        InputError: Steps are absent in between and ``gaps`` is ``"error"``.
    """
    old = {series_id: number for number, series_id in enumerate(panel.ids)}
    new = {series_id: number for number, series_id in enumerate(more.ids)}
    _refuse_rewriting(panel, more, old, new)
    if gaps == "error":
        _refuse_gaps(panel, more)
    ids = sorted(old.keys() | new.keys())
    joined = [
        _join(_take(panel, old.get(series_id)), _take(more, new.get(series_id)), gaps)
        for series_id in ids
    ]
    offsets = np.concatenate([[0], np.cumsum([len(one.values) for one in joined])])
    drawn = [first + one.drawn for first, one in zip(offsets.tolist(), joined, strict=False)]
    return replace(
        panel,
        ids=tuple(ids),
        starts=np.array([one.start for one in joined]),
        offsets=offsets,
        values=np.concatenate([one.values for one in joined]),
        interpolated=np.concatenate(drawn).astype(np.int64),
        covariates=panel.covariates.joined(more.covariates),
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    """Rows of one series: first step, values, and which of them were drawn."""

    start: int
    values: Values
    drawn: Steps


def _take(panel: Panel, number: int | None) -> _Piece | None:
    if number is None:
        return None
    first, stop = panel.offsets[number : number + 2]
    inside = slice(*np.searchsorted(panel.interpolated, [first, stop]))
    return _Piece(
        int(panel.starts[number]), panel.series(number), panel.interpolated[inside] - first
    )


def _join(known: _Piece | None, more: _Piece | None, gaps: Gaps) -> _Piece:
    if known is None or more is None:
        piece = known or more
        assert piece is not None
        return piece
    absent = more.start - known.start - len(known.values)
    between = np.full(absent, 0.0 if gaps == "zero" else np.nan)
    drawn = np.zeros(0, dtype=np.int64)
    if gaps == "interpolate" and absent:
        # Both sides of the gap are known: the reader trims what is missing at either end.
        last, first = len(known.values) - 1, len(known.values) + absent
        drawn = np.arange(last + 1, first)
        between = np.interp(drawn, [last, first], [known.values[-1], more.values[0]])
    behind = len(known.values) + absent
    return _Piece(
        known.start,
        np.concatenate([known.values, between, more.values]),
        np.concatenate([known.drawn, drawn, behind + more.drawn]),
    )


def _refuse_rewriting(
    panel: Panel, more: Panel, old: Mapping[Any, int], new: Mapping[Any, int]
) -> None:
    both = [(series_id, old[series_id], new[series_id]) for series_id in new if series_id in old]
    late = [
        f"series {series_id!r} is known until {panel.stamps(panel.end_steps[[number]])[0]} and "
        f"the new rows begin at {more.stamps(more.starts[[place]])[0]}"
        for series_id, number, place in both
        if more.starts[place] <= panel.end_steps[number]
    ]
    if late:
        more_of = f" and {len(late) - _SHOWN} more" if len(late) > _SHOWN else ""
        raise UnsortedRows(
            f"{join_faults(late[:_SHOWN])}{more_of}; pass only rows behind the known ones, and fit "
            "again where the past was corrected"
        )


def _refuse_gaps(panel: Panel, more: Panel) -> None:
    known = dict(zip(panel.ids, panel.end_steps.tolist(), strict=True))
    apart = [
        f"{start - known[series_id] - 1} rows of series {series_id!r} are absent before "
        f"{more.stamps(np.array([start]))[0]}"
        for series_id, start in zip(more.ids, more.starts.tolist(), strict=True)
        if series_id in known and start > known[series_id] + 1
    ]
    if apart:
        raise InputError(
            f"{join_faults(apart[:_SHOWN])}; add the rows or build the forecaster with another "
            "gaps policy"
        )
