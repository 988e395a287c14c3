"""Rows at the door: arrays and data frames in, one checked float64 matrix out.

A data frame is read by column name, so a permuted frame gives the same answers and a missing or
foreign column is told by name; an array is read by position. Everything that is wrong with an
input is said at once, with row and column. What else should be readable as rows is added to
:func:`open_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..core import ColumnError, InputError, NonFiniteError, ShapeError, TooFewRows, join_faults

OnMissing = Literal["error", "nan"]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Schema:
    """What the columns of a fitted table were.

    Attributes:
        names: Column names; ``x0``, ``x1`` … for an array.
        named: Whether the names are the caller's own.
    """

    names: tuple[str, ...]
    named: bool

    @property
    def width(self) -> int:
        """D, number of columns."""
        return len(self.names)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Checked rows.

    Attributes:
        rows: float64 [N, D].
        schema: Of the columns.
        whole: Rows without NaN or infinity, bool [N].
    """

    rows: Matrix
    schema: Schema
    whole: NDArray[np.bool_]


def read_table(
    data: Any,
    *,
    schema: Schema | None = None,
    on_missing: OnMissing = "error",
    least: int = 1,
    reader: str = "the detector",
) -> Table:
    """Read rows.

    Args:
        data: Array-like [N, D], or a data frame that narwhals knows (polars, pandas …).
        schema: Of the fitted table; columns are matched to it. None takes the input's own.
        on_missing: ``"error"`` refuses NaN and infinity, ``"nan"`` lets the row through marked as
            not whole.
        least: Fewest rows that will do.
        reader: Who reads, for messages.

    Raises:
        ShapeError: Not two-dimensional, or another number of columns.
        ColumnError: Columns that are missing, foreign or not numeric, all by name.
        NonFiniteError: NaN or infinity, by row and column.
        TooFewRows: Fewer than ``least``.
    """
    found, rows = open_rows(data)
    if schema is not None:
        rows, found = _match(rows, found, schema, reader)
    if rows.shape[1] == 0:
        raise ShapeError(
            f"found 0 feature(s) (shape={rows.shape}) while a minimum of 1 is required; "
            "give at least one column"
        )
    if len(rows) < least:
        raise TooFewRows(
            f"found {len(rows)} sample(s) (shape={rows.shape}) while a minimum of {least} is "
            f"required by {reader}; add rows"
        )
    finite: NDArray[np.bool_] = np.isfinite(rows)
    whole: NDArray[np.bool_] = np.all(finite, axis=1)
    if on_missing == "error" and not finite.all():
        _refuse_missing(rows, finite, found)
    return Table(rows, found, whole)


def open_rows(data: Any) -> tuple[Schema, Matrix]:
    """See any accepted input as a float64 matrix with column names."""
    if sparse.issparse(data):
        raise InputError("sparse input is not read; distances need dense rows: pass .toarray()")
    if nw.dependencies.is_into_dataframe(data):
        return _open_frame(nw.from_native(data, eager_only=True))
    try:
        raw = np.asarray(data)
    except ValueError as error:
        raise ShapeError(f"rows of different lengths ({error}); give a matrix [N, D]") from error
    if raw.dtype.kind == "c":
        raise InputError("Complex data not supported; give real numbers")
    if raw.ndim != 2:
        raise ShapeError(
            f"expected a matrix [N, D], got {raw.ndim} dimension(s), shape {raw.shape}. Reshape "
            "your data: one row is .reshape(1, -1), one column .reshape(-1, 1)"
        )
    return Schema(tuple(f"x{i}" for i in range(raw.shape[1])), named=False), _numbers(raw)


def _open_frame(frame: nw.DataFrame[Any]) -> tuple[Schema, Matrix]:
    columns, faults = [], []
    for column in frame.iter_columns():
        if column.dtype.is_numeric() or isinstance(column.dtype, nw.Boolean | nw.Object):
            columns.append(_numbers(column.to_numpy()))
        else:
            faults.append(
                f"column {column.name!r} is {column.dtype}, not a number; encode it or leave it out"
            )
    if faults:
        raise ColumnError(join_faults(faults))
    rows = np.column_stack(columns) if columns else np.empty((len(frame), 0))
    names = tuple(str(name) for name in frame.columns)
    return Schema(names, named=True), np.ascontiguousarray(rows, dtype=np.float64)


def _numbers(raw: NDArray[Any]) -> Matrix:
    try:
        return np.ascontiguousarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else InputError
        raise kind(
            f"rows of type {raw.dtype} hold something that is no number ({error}); the argument "
            "must be a string or a real number in every cell"
        ) from error


def _match(rows: Matrix, found: Schema, fitted: Schema, reader: str) -> tuple[Matrix, Schema]:
    """Bring columns into the fitted order: by name where both have names, else by position."""
    if found.named and fitted.named:
        faults = [f"column {n!r} is missing" for n in fitted.names if n not in found.names]
        faults += [f"column {n!r} was not fitted" for n in found.names if n not in fitted.names]
        if faults:
            raise ColumnError(
                "The feature names should match those that were passed during fit: "
                f"{join_faults(faults)}"
            )
        return np.ascontiguousarray(rows[:, [found.names.index(n) for n in fitted.names]]), fitted
    if rows.shape[1] != fitted.width:
        raise ShapeError(
            f"X has {rows.shape[1]} features, but {reader} is expecting {fitted.width} features "
            "as input; give the columns that were fitted"
        )
    return rows, fitted


def _refuse_missing(rows: Matrix, finite: NDArray[np.bool_], schema: Schema) -> None:
    bad = np.argwhere(~finite)
    faults = [
        f"row {row}, column {schema.names[column]!r}: {_spell(rows[row, column])}"
        for row, column in bad[:9]
    ]
    faults += [""] * max(0, len(bad) - len(faults))
    raise NonFiniteError(
        f"input contains NaN or infinity: {join_faults(faults)}\n"
        "fill or drop these rows, or score with on_missing='nan' to leave them unscored"
    )


def _spell(value: float) -> str:
    return "NaN" if np.isnan(value) else str(value)
