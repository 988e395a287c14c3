"""Columns in, columns out: the caller's data frame and polars, through narwhals.

In: a data frame of any eager library narwhals knows (polars, pandas, pyarrow ...). Out: the three
columns of a long frame as polars series, and a :class:`Schema` that remembers what they were made
of, so that every answer goes back in the caller's kind. pandas needs no pyarrow for this.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from ..core import ColumnError, InputError

# Text that is read as a timestamp; only spellings that mean one thing everywhere.
TEXT_FORMATS = tuple(
    f"%Y{sep}%m{sep}%d{clock}"
    for sep in ("-", "/")
    for clock in (
        "",
        " %H:%M",
        "T%H:%M",
        " %H:%M:%S%.f",
        "T%H:%M:%S%.f",
        " %H:%M:%S%.f%#z",
        "T%H:%M:%S%.f%#z",
    )
)


@dataclass(frozen=True, slots=True)
class Schema:
    """What the caller's frame was made of.

    Attributes:
        native: Library of the frame: ``"polars"``, ``"pandas"``, ``"pyarrow"`` ...
        id_col, time_col, target_col: Column names.
        id_dtype, time_dtype: Dtypes in the caller's frame, as narwhals names them; None for time
            that was written as text, which goes back as datetimes.
    """

    native: Any
    id_col: str
    time_col: str
    target_col: str
    id_dtype: nw.dtypes.DType
    time_dtype: nw.dtypes.DType | None

    def build(self, columns: Mapping[str, pl.Series]) -> Any:
        """A data frame of the caller's library from polars columns of equal length.

        The id and time columns go back to the caller's dtype.
        """
        if self.native == "polars":
            return pl.DataFrame(dict(columns))
        ours = {self.id_col: self.id_dtype, self.time_col: self.time_dtype}
        parts = [
            _to_native(name, series, self.native, ours.get(name)).to_frame()
            for name, series in columns.items()
        ]
        return nw.concat(parts, how="horizontal").to_native()


def open_frame(frame: Any) -> nw.DataFrame[Any]:
    """See a data frame of any eager library through narwhals.

    Raises:
        InputError: When it is lazy, or no data frame at all.
    """
    if isinstance(frame, pl.LazyFrame):
        raise InputError("the frame is lazy; call .collect() first")
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(
            f"{type(frame).__name__} is no data frame; pass a polars or pandas DataFrame with one "
            "row per (unique_id, ds)"
        ) from None


def check_names(frame: nw.DataFrame[Any], wanted: Mapping[str, str]) -> list[str]:
    """One fault for each wanted column that is missing, with the closest column found.

    Args:
        frame: Any frame.
        wanted: Argument name -> column name.
    """
    found = frame.columns
    index = getattr(getattr(nw.to_native(frame), "index", None), "names", None) or []
    return [
        f"no column {name!r} (found {', '.join(map(repr, found)) or 'none'}); "
        + _name_cure(argument, name, found, index)
        for argument, name in wanted.items()
        if name not in found
    ]


def _name_cure(argument: str, name: str, found: Sequence[str], index: Iterable[Any]) -> str:
    if name in index:
        return "it is the index: call .reset_index()"
    by_lower = {column.lower(): column for column in found}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    if close:
        return f"did you mean {argument}={by_lower[close[0]]!r}?"
    return f"rename it or pass {argument}="


def to_polars(column: nw.Series[Any]) -> pl.Series:
    """One column as a polars series; missing values of any kind become nulls.

    Raises:
        ColumnError: When the column mixes types.
    """
    native = column.to_native()
    if isinstance(native, pl.Series):
        return native.rechunk()
    dtype, missing = column.dtype, column.is_null()
    if isinstance(dtype, nw.Datetime):
        # Polars knows no seconds as a unit; everything finer is kept.
        unit = "ms" if dtype.time_unit == "s" else dtype.time_unit
        values = pl.Series(column.name, column.to_numpy().astype(f"M8[{unit}]"))
        zone = dtype.time_zone
        if zone is None:
            return values
        return values.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    if dtype.is_integer() and not missing.any():
        return pl.Series(column.name, column.to_numpy())
    if dtype.is_float():
        return pl.Series(column.name, column.to_numpy().astype(np.float64), nan_to_null=True)
    gone = missing.to_list()
    cells = [None if none else cell for none, cell in zip(gone, column.to_list(), strict=True)]
    return _from_cells(column.name, cells)


def _from_cells(name: str, cells: list[Any]) -> pl.Series:
    """A polars series of Python objects that must all be of one kind."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float, Decimal} and Decimal in kinds:
        cells = [None if cell is None else Decimal(str(cell)) for cell in cells]
    elif len(kinds) > 1 and not kinds <= {int, float}:
        first, other = _two_kinds(cells)
        raise ColumnError(
            f"column {name!r} mixes {type(cells[first]).__name__} (row {first}) and "
            f"{type(cells[other]).__name__} (row {other}); make it one type"
        )
    return pl.Series(name, cells, strict=False)


def _two_kinds(cells: Sequence[Any]) -> tuple[int, int]:
    """Rows of the first value and of the first of another type."""
    first = next(row for row, cell in enumerate(cells) if cell is not None)
    other = next(
        row
        for row, cell in enumerate(cells)
        if cell is not None and type(cell) is not type(cells[first])
    )
    return first, other


def to_stamps(column: pl.Series) -> pl.Series:
    """A time column as integers, dates or datetimes; text is parsed, bad text becomes null.

    Raises:
        ColumnError: When the column can never be a time.
    """
    dtype = column.dtype
    if dtype in (pl.String, pl.Categorical) or isinstance(dtype, pl.Enum):
        return _parse_text(column.cast(pl.String))
    if dtype.is_integer():
        return column.cast(pl.Int64)
    if dtype == pl.Date or isinstance(dtype, pl.Datetime):
        return column
    raise ColumnError(
        f"column {column.name!r} is {dtype}, which is no time; use dates, datetimes, integers, or "
        "text such as '2024-03-31 02:00'"
    )


def _parse_text(text: pl.Series) -> pl.Series:
    first = text.drop_nulls().head(1)
    for layout in TEXT_FORMATS:
        if "%H" not in layout:
            if first.str.to_date(layout, strict=False).null_count() == 0 and len(first):
                return text.str.to_date(layout, strict=False)
        elif first.str.to_datetime(layout, time_unit="us", strict=False).null_count() == 0:
            return text.str.to_datetime(layout, time_unit="us", strict=False)
    raise ColumnError(
        f"column {text.name!r} holds text that is no timestamp, such as {first.to_list()[0]!r}; "
        "write it as '2024-03-31' or '2024-03-31 02:00'"
    )


def _to_native(
    name: str, series: pl.Series, native: Any, dtype: nw.dtypes.DType | None
) -> nw.Series[Any]:
    """One polars series as a series of another library."""
    if isinstance(series.dtype, pl.Datetime):
        zone = series.dtype.time_zone
        walls = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if zone else series
        column = nw.new_series(name, walls.to_numpy(), None, backend=native)
        if zone:
            column = column.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    elif series.dtype.is_numeric() and not series.null_count():
        column = nw.new_series(name, series.to_numpy(), None, backend=native)
    else:
        column = nw.new_series(name, series.to_list(), None, backend=native)
    if dtype is None or isinstance(dtype, nw.Object | nw.Unknown):
        return column
    return column.cast(dtype)
