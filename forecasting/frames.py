"""The reader: a long data frame in, a :class:`Panel` out, or every fault of the frame at once.

A row is one value of one series at one time (``unique_id, ds, y``). The order of the rows carries
no meaning and is restored by sorting; everything else that is not as it should be is either
refused by row or done under a policy the caller named, and then written to ``Panel.notes``. What
can be wrong with a row is told in ``cells``, what can be absent in ``gaps``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import narwhals as nw
import numpy as np
import polars as pl

from ..core import ColumnError, InputError, SettingError, TooFewRows
from .cells import Cells, check_cells, check_duplicates, check_grid, sort_cells
from .columns import Schema, check_names, open_frame, to_polars, to_stamps
from .covariates import check_covariates, grid_covariates, read_covariates
from .faults import Faults
from .frequency import Frequency
from .gaps import Gaps, Rows, check_gaps, close_gaps, trim
from .inference import infer_frequency
from .panel import Panel
from .units import Steps

__all__ = ["Gaps", "Panel", "read_frame"]

# Whole numbers beyond this cannot be told apart as float64.
EXACT_INTEGERS = 2**53


def read_frame(
    frame: Any,
    *,
    freq: str | int | Frequency | None = None,
    id_col: str = "unique_id",
    time_col: str = "ds",
    target_col: str = "y",
    covariates: Sequence[str] = (),
    gaps: Gaps = "error",
) -> Panel:
    """Read a long frame into a panel.

    Null and NaN targets are missing values: before the first value of a series they mean "not yet
    launched" and after the last one "not yet known", so both ends are trimmed; inside they stay
    missing. A series without a single value is left out. The panel's notes say so each time.

    Args:
        frame: One row per series and time; polars, pandas or any eager frame narwhals knows.
        freq: The step of time, as :meth:`Frequency.parse` reads it; None reads it from the stamps
            and refuses when they are ambiguous. Calendar steps (days and longer) follow the clocks
            of the column's time zone, shorter ones run on through clock changes.
        id_col: Name of the column of series ids.
        time_col: Name of the column of times.
        target_col: Name of the column of values.
        covariates: Names of columns that are known beside the target and ahead of it: numbers or
            flags, known wherever the target is. Rows behind the last target say what is known of
            the steps to come. Columns that are named nowhere are not read.
        gaps: What absent rows inside a series become. ``"error"`` refuses them, ``"missing"``
            leaves them missing, ``"zero"`` says nothing happened then (a target that is written
            down as NaN stays missing), ``"interpolate"`` draws a line through absent rows and
            missing targets alike.

    Returns:
        The panel, its series ascending by id.

    Raises:
        InputError: With every fault of the frame; its subclass when all are of one kind
            (ColumnError, DuplicateRows, NonFiniteError, TooFewRows).
        SettingError: When ``freq`` or ``gaps`` is no known setting.

    >>> frame = pl.DataFrame({"unique_id": ["a"] * 3, "ds": [7, 8, 9], "y": [1.0, 2.0, 4.0]})
    >>> read_frame(frame)
    Panel(1 series, 3 rows, freq='1', 7 to 9)
    """
    if gaps not in get_args(Gaps):
        raise SettingError(f"gaps={gaps!r} is no policy; use one of {', '.join(get_args(Gaps))}")
    asked = None if freq is None else Frequency.parse(freq)
    opened = open_frame(frame)
    faults = Faults()
    wanted = {"id_col": id_col, "time_col": time_col, "target_col": target_col}
    wanted |= {f"covariates[{place}]": name for place, name in enumerate(covariates)}
    for text in check_names(opened, wanted):
        faults.add(ColumnError, text)
    faults.raise_any()
    names = (id_col, time_col, target_col)
    cells = _read_cells(opened, names, faults)
    known = read_covariates(opened, covariates, faults)
    schema = _schema(opened, names)
    notes = _reading_notes(opened, schema, (*names, *covariates))

    cells, offsets = sort_cells(check_cells(cells, faults), notes)
    check_duplicates(cells, faults)
    grid = _find_grid(asked, cells, offsets, faults)
    if asked is None:
        notes.append(f"freq={str(grid)!r} read from the stamps")
    cells, offsets, steps = check_grid(grid, cells, faults)

    ids = tuple(cells.ids.gather(offsets[:-1]).to_list())
    whole = Rows(ids, offsets, steps, cells.values, np.arange(len(steps)))
    rows = trim(whole, notes)
    check_gaps(rows, gaps, lambda row: cells.told(int(rows.origin[row])), faults)
    if covariates:
        # What is known ahead lies behind the last target, where trimmed rows do not reach.
        check_gaps(whole, "missing", cells.told, faults)
        known = known[cells.rows]
        check_covariates(covariates, known, ~np.isnan(cells.values), cells.told, faults)
    faults.raise_any()
    filled = close_gaps(rows, gaps, notes)
    return Panel(
        ids=rows.ids,
        starts=filled.starts,
        offsets=filled.offsets,
        values=filled.values,
        freq=grid,
        time_dtype=cells.stamps.dtype,
        id_dtype=cells.ids.dtype,
        schema=schema,
        notes=tuple(notes),
        interpolated=filled.interpolated,
        covariates=grid_covariates(covariates, ids, offsets, steps, known),
    )


def _schema(frame: nw.DataFrame[Any], names: tuple[str, str, str]) -> Schema:
    """What the answers must be made of."""
    text = isinstance(frame.schema[names[1]], nw.String | nw.Categorical | nw.Enum)
    return Schema(
        native=frame.implementation.value,
        id_col=names[0],
        time_col=names[1],
        target_col=names[2],
        id_dtype=frame.schema[names[0]],
        time_dtype=None if text else frame.schema[names[1]],
    )


def _reading_notes(frame: nw.DataFrame[Any], schema: Schema, names: tuple[str, ...]) -> list[str]:
    unread = [column for column in frame.columns if column not in names]
    notes = [f"columns not read: {', '.join(map(repr, unread))}"] if unread else []
    if schema.time_dtype is None:
        notes.append(f"text in {schema.time_col!r} read as timestamps")
    return notes


def _read_cells(frame: nw.DataFrame[Any], names: tuple[str, str, str], faults: Faults) -> Cells:
    """The three columns, each of a kind that can be used; raises what cannot."""
    columns = []
    for name, convert in zip(names, (_to_ids, to_stamps, _to_targets), strict=True):
        try:
            columns.append(convert(to_polars(frame[name])))
        except ColumnError as error:
            faults.add(ColumnError, str(error))
    if not len(frame):
        faults.add(TooFewRows, "the frame has no rows; pass one row per series and time")
    faults.raise_any()
    ids, stamps, targets = columns
    values = targets.fill_null(np.nan).to_numpy()
    return Cells(ids, stamps, values, np.arange(len(frame), dtype=np.int64))


def _to_ids(column: pl.Series) -> pl.Series:
    if column.dtype.is_float() or column.dtype.is_nested() or column.dtype == pl.Object:
        raise ColumnError(
            f"column {column.name!r} holds {column.dtype}, which cannot be told apart as ids; "
            "cast it to text or integers"
        )
    return column


def _to_targets(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise ColumnError(f"column {column.name!r} holds {dtype}, not numbers; cast it to Float64")
    values = column.cast(pl.Float64)
    if dtype.is_integer():
        large = (values.abs() >= EXACT_INTEGERS).fill_null(value=False).to_numpy()
        if large.any():
            row = int(np.argmax(large))
            raise ColumnError(
                f"row {row}: {column.name!r} is {column[row]}, beyond what Float64 holds exactly; "
                "rescale the column"
            )
    return values


def _find_grid(asked: Frequency | None, cells: Cells, offsets: Steps, faults: Faults) -> Frequency:
    """The grid of the panel; when there is none, everything found so far is told with it."""
    try:
        if asked is None:
            return infer_frequency(cells.stamps, offsets)
        return asked.aligned(cells.stamps)
    except InputError as error:
        faults.add(type(error), str(error))
        faults.raise_any()
        raise
