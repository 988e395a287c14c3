"""A panel: every series of a frame on one grid, in one flat array.

What the reader hands to everything behind it. Series i is ``values[offsets[i]:offsets[i + 1]]``,
its first row lies at step ``starts[i]``, NaN is a missing value. Timestamps, id types and the
caller's data frame library live here and nowhere else: :meth:`Panel.answer` brings them back.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import InputError, UnknownId
from .columns import Schema, to_stamps
from .covariates import Covariates
from .frequency import Frequency
from .units import Steps

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Series on one calendar grid.

    Attributes:
        ids: Id of each series, ascending, [S].
        starts: Step of the first row of each series, [S].
        offsets: First row of each series in ``values``, and the total, [S + 1].
        values: All series one after another, NaN where missing, [T].
        freq: The grid, with its phase.
        time_dtype: Kind, unit and zone of the time column.
        id_dtype: Kind of the id column.
        schema: The caller's library and column names.
        notes: What the reader did to the data, one sentence each.
        interpolated: Rows of ``values`` that were drawn between two known ones, ascending. Such a
            value was not known at its own time, so no window may end on one.
        covariates: What is known beside the target, and ahead of it; cutting the panel leaves it
            whole.
    """

    ids: tuple[Any, ...]
    starts: Steps
    offsets: Steps
    values: Values
    freq: Frequency
    time_dtype: pl.DataType
    id_dtype: pl.DataType
    schema: Schema
    notes: tuple[str, ...] = ()
    interpolated: Steps = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    covariates: Covariates = field(default_factory=Covariates)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        first, last = self.stamps(np.array([self.starts.min(), self.end_steps.max()]))
        return (
            f"Panel({len(self)} series, {len(self.values)} rows, freq={str(self.freq)!r}, "
            f"{first} to {last})"
        )

    @property
    def native(self) -> str:
        """Library of the caller's frame: ``"polars"``, ``"pandas"`` ..."""
        return str(self.schema.native)

    @property
    def lengths(self) -> Steps:
        """Rows of each series, missing ones included, [S]."""
        return np.diff(self.offsets)

    @property
    def end_steps(self) -> Steps:
        """Step of the last row of each series, [S]."""
        return self.starts + self.lengths - 1

    def series(self, number: int) -> Values:
        """Values of one series, a view."""
        return self.values[self.offsets[number] : self.offsets[number + 1]]

    def length(self, number: int) -> int:
        """Rows of one series, missing ones included."""
        return int(self.offsets[number + 1] - self.offsets[number])

    def end_step(self, number: int) -> int:
        """Step of the last row of one series."""
        return int(self.starts[number]) + self.length(number) - 1

    def number_of(self, series_id: Hashable) -> int:
        """Place of a series in the panel.

        Raises:
            UnknownId: When there is none of this id; names the closest.
        """
        if series_id in self.ids:
            return self.ids.index(series_id)
        names = {str(known): known for known in self.ids}
        close = difflib.get_close_matches(str(series_id), names, n=1)
        hint = f"the closest is {names[close[0]]!r}" if close else f"it begins {self.ids[:3]}"
        raise UnknownId(f"no series {series_id!r} among the {len(self)} of the panel; {hint}")

    def by_id(self, values: Values) -> dict[Any, float]:
        """Values of the series, [S], by their ids."""
        return dict(zip(self.ids, values.tolist(), strict=True))

    def tell_row(self, row: int) -> str:
        """A row of ``values`` in words: its series and its time."""
        number = int(np.searchsorted(self.offsets, row, side="right")) - 1
        step = self.starts[number] + row - self.offsets[number]
        return f"series {self.ids[number]!r} at {self.stamps(np.array([step]))[0]}"

    def labels(self, numbers: Steps) -> pl.Series:
        """Ids of series given by number, as a column of the caller's id kind."""
        names = pl.Series(self.schema.id_col, self.ids, dtype=_plain(self.id_dtype))
        return names.gather(numbers).cast(self.id_dtype)

    def stamps(self, steps: Steps) -> pl.Series:
        """Timestamps of steps, in the kind, unit and zone of the time column."""
        return self.freq.stamps(steps, self.time_dtype).alias(self.schema.time_col)

    def steps(self, stamps: pl.Series | Sequence[Any]) -> Steps:
        """Steps of timestamps that lie on the grid.

        Args:
            stamps: Datetimes, dates, text or integers. Without a zone of their own they are read
                as local times of the panel's zone.

        Raises:
            InputError: When one lies between two steps or is no time of this panel's kind.
        """
        column = to_stamps(stamps if isinstance(stamps, pl.Series) else pl.Series("time", stamps))
        if column.null_count():
            raise InputError(
                f"row {column.is_null().arg_max()} of the stamps is no time; drop or correct it"
            )
        if not column.dtype.is_integer() and not self.freq.is_integer:
            column = _in_zone(column, self.time_dtype)
        return self.freq.steps(column)

    def until(self, step: int) -> Panel:
        """The panel as it stood at a step: only rows at or before it.

        Series that had not begun are absent. A value drawn between two known ones is missing
        again while the later of the two lies ahead. Nothing is copied when nothing is cut.

        Args:
            step: Last step that may be seen.

        Raises:
            InputError: When no series had begun.
        """
        kept = np.clip(step - self.starts + 1, 0, self.lengths)
        if not kept.any():
            raise InputError(
                f"no series begins by {self.stamps(np.array([step]))[0]}; the first begins at "
                f"{self.stamps(self.starts.min(keepdims=True))[0]}"
            )
        return self._cut(np.zeros_like(kept), kept)

    def since(self, step: int) -> Panel:
        """The panel without the rows before a step; series that had ended are absent.

        Args:
            step: First step that stays.

        Raises:
            InputError: When every series had ended.
        """
        skipped = np.clip(step - self.starts, 0, self.lengths)
        if (skipped == self.lengths).all():
            raise InputError(
                f"every series ends before {self.stamps(np.array([step]))[0]}; the last ends at "
                f"{self.stamps(self.end_steps.max(keepdims=True))[0]}"
            )
        return self._cut(skipped, self.lengths - skipped)

    def known(self) -> Values:
        """The covariates at every row, [T, F]; NaN where they are not known."""
        spans = zip(self.ids, self.starts.tolist(), self.lengths.tolist(), strict=True)
        return np.concatenate([self.covariates.between(*span) for span in spans])

    def _cut(self, skipped: Steps, kept: Steps) -> Panel:
        """``kept`` rows of each series after leaving out the first ``skipped``."""
        if (kept == self.lengths).all():
            return self
        present = np.flatnonzero(kept)
        offsets = np.concatenate([[0], np.cumsum(kept[present])])
        rows = ranges((self.offsets[:-1] + skipped)[present], kept[present])
        values, interpolated = self.values[rows], self.interpolated
        if len(interpolated):
            drawn = np.zeros(len(self.values), dtype=bool)
            drawn[interpolated] = True
            drawn = drawn[rows]
            open_ended = drawn & ~_followed(~drawn, offsets)
            values[open_ended] = np.nan
            interpolated = np.flatnonzero(drawn & ~open_ended)
        return replace(
            self,
            ids=tuple(self.ids[number] for number in present),
            starts=(self.starts + skipped)[present],
            offsets=offsets,
            values=values,
            interpolated=interpolated,
        )

    def to_frame(self) -> Any:
        """The panel as a long frame of the caller's kind; missing values are null (or NaN)."""
        numbers = np.repeat(np.arange(len(self)), self.lengths)
        steps = ranges(self.starts, self.lengths)
        target = pl.Series(self.schema.target_col, self.values, nan_to_null=True)
        return self.answer(
            {
                self.schema.id_col: self.labels(numbers),
                self.schema.time_col: self.stamps(steps),
                self.schema.target_col: target,
            }
        )

    def answer(self, columns: Mapping[str, pl.Series | NDArray[Any]]) -> Any:
        """A frame of the caller's kind from columns of equal length.

        Args:
            columns: Name -> polars series or array; ids from :meth:`labels`, times from
                :meth:`stamps`.
        """
        series = {
            name: column.alias(name) if isinstance(column, pl.Series) else pl.Series(name, column)
            for name, column in columns.items()
        }
        return self.schema.build(series)


def ranges(starts: Steps, counts: Steps) -> Steps:
    """``start, start + 1, ...`` for each start, ``count`` of them, one after another.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    shifts: Steps = np.repeat(starts - np.cumsum(counts) + counts, counts)
    return shifts + np.arange(len(shifts))


def _followed(known: NDArray[np.bool_], offsets: Steps) -> NDArray[np.bool_]:
    """Rows that a known row of the same series follows, or that are known themselves."""
    places = np.arange(len(known))
    last = np.maximum.reduceat(np.where(known, places, -1), offsets[:-1])
    return places <= np.repeat(last, np.diff(offsets))


def _plain(dtype: pl.DataType) -> pl.DataType:
    """The dtype that plain Python ids of this kind are built as."""
    return pl.String() if dtype == pl.Categorical or isinstance(dtype, pl.Enum) else dtype


def _in_zone(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Dates and zoneless datetimes as times of the panel's kind, local to its zone if any."""
    if not isinstance(dtype, pl.Datetime):
        return column
    zone = dtype.time_zone
    has_zone = isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is not None
    if zone is None and has_zone:
        raise InputError("the stamps carry a time zone but the panel has none; drop the zone")
    if zone is None or has_zone:
        return column.cast(pl.Datetime("us", zone))
    return column.cast(pl.Datetime("us")).dt.replace_time_zone(zone, ambiguous="earliest")
