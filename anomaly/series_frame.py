"""Series at the door: a long frame in, checked arrays out, and answers in the caller's kind.

In: a data frame with one row per series and time: an id column (may be absent for one series), a
time column and one or more channels. Out: :class:`SeriesFrame`. Rows are put in order of time;
consecutive rows are consecutive steps, whatever the clock between them says. A missing value is a
gap and stays one. Every fault of the frame is told at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from ..core import ColumnError, DuplicateRows, InputError, TooFewRows, join_faults
from .windows import Values

SINGLE = "series"
"""The id of a series whose frame has no id column."""


@dataclass(frozen=True, slots=True, eq=False)
class SeriesFrame:
    """Series as arrays.

    Attributes:
        ids: One a series, ascending.
        stamps: Times of each series, ascending.
        values: [T, C] of each series; NaN is a gap.
        channels: Column names.
        native: Library of the caller's frame.
        id_col: Its id column, or None for a single series.
        time_col: Its time column.
    """

    ids: tuple[Any, ...]
    stamps: tuple[pl.Series, ...]
    values: tuple[Values, ...]
    channels: tuple[str, ...]
    native: Any
    id_col: str | None
    time_col: str

    def answer(self, columns: Mapping[str, Any], lengths: Sequence[int]) -> Any:
        """Lay answers beside ids and times, as a frame of the caller's library.

        Args:
            columns: Name -> values of all series, one after the other.
            lengths: Steps of each series.
        """
        laid: dict[str, Any] = {}
        if self.id_col is not None:
            laid[self.id_col] = [
                one for one, length in zip(self.ids, lengths, strict=True) for _ in range(length)
            ]
        laid[self.time_col] = pl.concat(self.stamps).to_list()
        frame = pl.DataFrame({**laid, **columns})
        if self.native == "polars":
            return frame
        parts = [
            nw.new_series(name, frame[name].to_list(), None, backend=self.native).to_frame()
            for name in frame.columns
        ]
        return nw.concat(parts, how="horizontal").to_native()


def read_series(
    frame: Any, *, id_col: str, time_col: str, channels: Sequence[str] | None = None
) -> SeriesFrame:
    """Read a long frame.

    Args:
        frame: polars, pandas or any eager frame that narwhals knows.
        id_col: Column of series ids; a frame without it is one series.
        time_col: Column of times.
        channels: Columns to read; None reads every other column.

    Raises:
        ColumnError: Columns missing or not numeric, all by name.
        DuplicateRows: A time that stands twice in a series.
        TooFewRows: No rows.
    """
    try:
        opened = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(
            f"{type(frame).__name__} is no data frame; pass a polars or pandas DataFrame with one "
            f"row per time in {time_col!r}"
        ) from None
    known = id_col if id_col in opened.columns else None
    named = tuple(channels or (c for c in opened.columns if c not in (known, time_col)))
    _check_columns(opened, time_col, named)
    if not len(opened):
        raise TooFewRows("the frame has no rows; pass one row per series and time")
    table = pl.DataFrame(
        {
            "id": opened[known].to_list() if known else [SINGLE] * len(opened),
            "time": opened[time_col].to_list(),
            **{f"c{i}": _numbers(opened, name) for i, name in enumerate(named)},
        },
        strict=False,
    ).sort("id", "time")
    twice = table.filter(pl.struct("id", "time").is_duplicated())
    if len(twice):
        raise DuplicateRows(
            f"{len(twice)} rows share series and time, first {twice['id'][0]!r} at "
            f"{twice['time'][0]}; keep one row a time"
        )
    groups = table.partition_by("id", maintain_order=True)
    return SeriesFrame(
        ids=tuple(group["id"][0] for group in groups),
        stamps=tuple(group["time"] for group in groups),
        values=tuple(
            np.ascontiguousarray(group.drop("id", "time").to_numpy(), dtype=np.float64)
            for group in groups
        ),
        channels=named,
        native=opened.implementation.value,
        id_col=known,
        time_col=time_col,
    )


def _check_columns(frame: nw.DataFrame[Any], time_col: str, channels: Sequence[str]) -> None:
    faults = []
    if time_col not in frame.columns:
        faults.append(f"no column {time_col!r} of times; rename it or pass time_col=")
    for name in channels:
        if name not in frame.columns:
            faults.append(f"channel {name!r} is missing")
        elif not (frame[name].dtype.is_numeric() or frame[name].dtype == nw.Boolean):
            faults.append(f"channel {name!r} is {frame[name].dtype}, not a number")
    if not channels:
        faults.append("no channel; give at least one column of values")
    if faults:
        found = ", ".join(map(repr, frame.columns))
        raise ColumnError(f"{join_faults(faults)} (found {found})")


def _numbers(frame: nw.DataFrame[Any], name: str) -> Values:
    values = np.array(
        [np.nan if one is None else float(one) for one in frame[name].to_list()], dtype=np.float64
    )
    return np.where(np.isfinite(values), values, np.nan)
