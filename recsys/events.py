"""Events: the table that everything starts from, read from whatever holds it.

In: a polars, pandas or Arrow table, the path of a Parquet file, or a csr matrix. Out: a polars
table ``user_id, item_id, weight[, datetime]``, checked row by row, one row an event as given. The
names are RecTools'; other names are mapped once, with ``columns``. What an event may be is decided
in ``_faults``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import polars as pl
from scipy import sparse

from ..core import ColumnError, InputError, NonFiniteError, ShapeError, join_faults
from .vocabulary import Ids, as_id_series

Events: TypeAlias = Any
"""A table of any kind narwhals reads, a Parquet path, or a scipy sparse matrix."""

NAMES = ("user_id", "item_id", "weight", "datetime")


def read_events(native: Events, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Read events into the one table the room works on.

    Args:
        native: Table with ``user_id`` and ``item_id``; ``weight`` (default 1, a zero is no event)
            and ``datetime`` are optional. Or a Parquet path, or a sparse matrix [U, I] whose rows
            and columns are then the ids.
        columns: Our name to yours, e.g. ``{"user_id": "household"}``.

    Returns:
        ``user_id, item_id, weight (float32)[, datetime]`` in the order given.

    Raises:
        ColumnError: A column is missing or of the wrong kind; ids are missing.
        NonFiniteError: Weights that are not numbers, by row.
        InputError: Negative weights, by row.

    >>> read_events(pl.DataFrame({"user_id": [7], "item_id": ["tea"]})).row(0)
    (7, 'tea', 1.0)
    """
    if sparse.issparse(native):
        return _of_matrix(native)
    table = to_polars(native)
    named = {ours: (columns or {}).get(ours, ours) for ours in NAMES}
    missing = [named[ours] for ours in NAMES[:2] if named[ours] not in table.columns]
    if missing:
        raise ColumnError(
            f"events need the columns {', '.join(missing)}, found {', '.join(table.columns)}; "
            "rename them, or say which they are with columns={'user_id': …}"
        )
    present = {ours: theirs for ours, theirs in named.items() if theirs in table.columns}
    table = table.select([pl.col(theirs).alias(ours) for ours, theirs in present.items()])
    if "weight" not in table.columns:
        table = table.with_columns(weight=pl.lit(1.0, dtype=pl.Float32))
    return _checked(table)


def read_matrix(matrix: Any, users: Ids | None = None, items: Ids | None = None) -> pl.DataFrame:
    """Read a sparse user-item matrix with ids of its own.

    Args:
        matrix: scipy sparse [U, I]; stored zeros are no events.
        users: Id of each row, [U]; None for 0 .. U-1.
        items: Id of each column, [I]; None for 0 .. I-1.

    Raises:
        ShapeError: Another number of ids than rows or columns.
    """
    for name, ids, size in (("users", users, matrix.shape[0]), ("items", items, matrix.shape[1])):
        if ids is not None and len(ids) != size:
            raise ShapeError(
                f"{name}: {len(ids)} ids for a matrix of {matrix.shape[0]} users by "
                f"{matrix.shape[1]} items; give one id a row or column"
            )
    table = _of_matrix(matrix)
    if users is not None:
        series = as_id_series(users, "user_id")
        table = table.with_columns(user_id=series.gather(table["user_id"].to_numpy()))
    if items is not None:
        series = as_id_series(items, "item_id")
        table = table.with_columns(item_id=series.gather(table["item_id"].to_numpy()))
    return table


def like_native(table: pl.DataFrame, native: object) -> Any:
    """Give a table back in the kind that came in: pandas, Arrow, or polars for all else."""
    try:
        kind = nw.from_native(native, eager_only=True).implementation  # type: ignore[call-overload]
    except TypeError:
        return table
    if kind.is_pandas():
        # Column by column: polars' own conversion would need pyarrow.
        import pandas as pd  # noqa: PLC0415

        plain = {name: table[name].to_numpy() for name in table.columns}
        return pd.DataFrame(plain, columns=table.columns)
    return table.to_arrow() if kind.is_pyarrow() else table


def to_polars(native: Events) -> pl.DataFrame:
    """Read a table of any kind, or a Parquet file, as polars."""
    if isinstance(native, str | Path):
        return pl.read_parquet(native)
    if isinstance(native, pl.LazyFrame):
        return native.collect()
    try:
        table = nw.from_native(native, eager_only=True)
    except TypeError as error:
        raise InputError(
            f"events came as a {type(native).__name__}; give a polars, pandas or Arrow table, the "
            "path of a Parquet file, or a scipy sparse matrix"
        ) from error
    if table.implementation.is_polars():
        native_table: pl.DataFrame = table.to_native()
        return native_table
    return pl.DataFrame({name: _column(table[name]) for name in table.columns})


def _column(series: Any) -> Any:
    """Read one column without pyarrow: through numpy, text through a list."""
    values = series.to_numpy()
    return values.tolist() if values.dtype == object else values


def _of_matrix(matrix: Any) -> pl.DataFrame:
    coordinates = sparse.coo_matrix(matrix)
    table = pl.DataFrame(
        {
            "user_id": coordinates.row.astype(np.int64),
            "item_id": coordinates.col.astype(np.int64),
            "weight": coordinates.data.astype(np.float32),
        }
    )
    return _checked(table.sort("user_id", "item_id"))


def _checked(table: pl.DataFrame) -> pl.DataFrame:
    if not table["weight"].dtype.is_numeric() and table["weight"].dtype != pl.Boolean:
        raise ColumnError(
            f"weight holds {table['weight'].dtype}, but a weight is a number; cast the column"
        )
    ids = [as_id_series(table[name], name) for name in NAMES[:2]]
    table = table.with_columns(*ids, pl.col("weight").cast(pl.Float32))
    weight = table["weight"].to_numpy()
    broken = np.flatnonzero(~np.isfinite(weight))
    if len(broken):
        raise NonFiniteError(_tell(table, broken, "weight is not a number", "remove those rows"))
    below = np.flatnonzero(weight < 0)
    if len(below):
        cure = "an event weighs more than 0; leave dislikes out or keep them as a filter"
        raise InputError(_tell(table, below, "weight is negative", cure))
    if "datetime" in table.columns:
        table = table.with_columns(_as_moment(table["datetime"]))
    return table.filter(pl.col("weight") > 0)


def _as_moment(column: pl.Series) -> pl.Series:
    if column.dtype.is_integer():
        # Seconds of the Unix clock, as most published sets have them.
        column = pl.from_epoch(column, time_unit="s")
    if column.dtype == pl.Date:
        column = column.cast(pl.Datetime("us"))
    if not isinstance(column.dtype, pl.Datetime):
        raise ColumnError(
            f"datetime holds {column.dtype}; parse it first (`pl.col('datetime').str.to_datetime()`"
            ") or give whole seconds of the Unix clock"
        )
    if column.null_count():
        first = int(column.is_null().arg_max() or 0)
        raise ColumnError(
            f"datetime: {column.null_count()} moments are missing, first in row {first}; remove "
            "those rows"
        )
    return column


def _tell(table: pl.DataFrame, rows: np.ndarray[Any, Any], what: str, cure: str) -> str:
    faults = [
        f"row {row}: {what} ({table['weight'][int(row)]}; user {table['user_id'][int(row)]!r}, "
        f"item {table['item_id'][int(row)]!r})"
        for row in rows.tolist()
    ]
    return f"{join_faults(faults)}; {cure}"
