"""Files for the command line: CSV (also gzipped) and Parquet, long or wide, into a panel.

In: a path. Out: a :class:`Panel`. A file with the three long columns is read as a long frame. Any
other is wide, one column for each series, with a column of times when one is named and time
counted in rows when none is. A CSV whose first line is all numbers has no header; its columns are
named ``column_1``, ``column_2`` ... Ids of a wide file are its column names.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ..core import ColumnError, DuplicateRows, InputError, TooFewRows, join_faults
from .columns import check_names, open_frame
from .frames import read_frame
from .frequency import Frequency
from .gaps import Gaps
from .panel import Panel

ID, TIME, TARGET = "unique_id", "ds", "y"


def read_file(
    path: str | Path,
    *,
    time: str | None = None,
    freq: str | int | Frequency | None = None,
    gaps: Gaps = "error",
    covariates: Sequence[str] = (),
) -> Panel:
    """Read a file into a panel.

    Args:
        path: ``.csv``, ``.csv.gz``, ``.txt``, ``.txt.gz`` or ``.parquet``.
        time: Column of times of a wide file; None for a long file (``unique_id, ds, y``) and for a
            wide file without one, whose rows are then counted from 0.
        freq: The step of time; see :func:`read_frame`.
        gaps: The policy for absent rows; see :func:`read_frame`.
        covariates: Columns of a long file that are known ahead; see :func:`read_frame`.

    Returns:
        The panel; ``panel.native`` is ``"polars"``.

    Raises:
        InputError: When the file is no table, or with every fault of the frame.
        ColumnError: When a column is missing or holds no numbers; names the columns found.
        TooFewRows: When the file is empty.
    """
    path = Path(path)
    table = _read_table(path)
    if not table.height or not table.width:
        raise TooFewRows(f"{path.name} holds no rows; give it one line per time")
    is_long = {ID, TIME, TARGET} <= set(table.columns) and time in (None, TIME)
    if covariates and not is_long:
        raise ColumnError(
            f"{path.name} is wide, with one column a series, and cannot hold the covariates "
            f"{list(covariates)}; pass a long file with {ID}, {TIME}, {TARGET} and one column each"
        )
    long = table if is_long else _lengthen(path, table, time)
    return read_frame(long, freq=freq, gaps=gaps, covariates=covariates)


def _read_table(path: Path) -> pl.DataFrame:
    """The file as it is: times still text, numbers parsed."""
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}; check the path")
    kinds = [kind for kind in path.suffixes if kind != ".gz"]
    kind = kinds[-1].lower() if kinds else ""
    if kind not in (".csv", ".txt", ".parquet"):
        raise InputError(
            f"{path.name} is of no known kind; pass .csv, .csv.gz, .txt, .txt.gz or .parquet"
        )
    try:
        if kind == ".parquet":
            return pl.read_parquet(path)
        first = pl.read_csv(path, has_header=False, n_rows=1, infer_schema=False)
        header = not all(_is_number(cell) for cell in first.row(0))
        names = None if header else [f"column_{place + 1}" for place in range(first.width)]
        return pl.read_csv(path, has_header=header, new_columns=names, infer_schema_length=None)
    except pl.exceptions.NoDataError:
        raise TooFewRows(f"{path.name} is empty; give it one line per time") from None
    except pl.exceptions.DuplicateError:
        raise DuplicateRows(f"{path.name} names a column twice; rename one") from None
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path.name} cannot be read as {kind}: {reason}") from None


def _lengthen(path: Path, table: pl.DataFrame, time: str | None) -> pl.DataFrame:
    """A wide table as a long one."""
    if time is None:
        table, time = table.with_row_index(TIME), TIME
        table = table.with_columns(pl.col(TIME).cast(pl.Int64))
    elif time not in table.columns:
        raise ColumnError(f"{path.name}: " + check_names(open_frame(table), {"time": time})[0])
    series = sorted(name for name in table.columns if name != time)
    if not series:
        raise ColumnError(f"{path.name} has no column besides the times {time!r}")
    faults = [
        f"column {name!r} of {path.name} holds {table[name].dtype}, such as "
        f"{table[name].drop_nulls().head(1).to_list()}; a wide file has one column of numbers per "
        f"series, so drop it, or pass time={name!r} if it holds the times"
        for name in series
        if not (table[name].dtype.is_numeric() or table[name].dtype == pl.Null)
    ]
    if faults:
        raise ColumnError(join_faults(faults))
    long = table.with_columns(pl.col(series).cast(pl.Float64)).unpivot(
        series, index=time, variable_name=ID, value_name=TARGET
    )
    return long.select(ID, pl.col(time).alias(TIME), TARGET)


def _is_number(cell: str | None) -> bool:
    try:
        float(cell or "")
    except ValueError:
        return False
    return True
