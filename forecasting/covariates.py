"""What is known beside the target, and ahead of it: promotions, prices, holidays, planned closures.

In: number columns of a long frame whose rows may go on behind the last target. Out: a table that a
panel carries along, read by series and step. A column is known ahead because the caller says so;
whoever stands at an origin reads the H steps behind it, through :func:`known_ahead`, and nothing
farther.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import ColumnError, InputError, NonFiniteError
from .columns import to_polars
from .faults import Faults
from .units import Steps

Table = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Covariates:
    """Known columns of every series, on the grid of the panel that carries them.

    Attributes:
        names: Of the columns, [F].
        starts: Id of each series -> step of the first row of its table.
        tables: Id of each series -> values, NaN where nothing is known, [T, F].
    """

    names: tuple[str, ...] = ()
    starts: Mapping[Any, int] = field(default_factory=dict)
    tables: Mapping[Any, Table] = field(default_factory=dict)

    def joined(self, later: Covariates) -> Covariates:
        """Both tables as one; where both know a value, the later one counts."""
        starts, tables = dict(self.starts), dict(self.tables)
        for series_id in later.tables:
            spans = [one._span(series_id) for one in (self, later) if series_id in one.tables]
            first = min(span[0] for span in spans)
            count = max(span[1] for span in spans) - first
            known = self.between(series_id, first, count)
            new = later.between(series_id, first, count)
            starts[series_id] = first
            tables[series_id] = np.where(np.isnan(new), known, new)
        return Covariates(self.names, starts, tables)

    def _span(self, series_id: Any) -> tuple[int, int]:
        """First step of the table of a series, and the one behind its last."""
        start = self.starts[series_id]
        return start, start + len(self.tables[series_id])

    def between(self, series_id: Any, first: int, count: int) -> Table:
        """Rows of one series from a step on, [count, F]."""
        rows = np.full((count, len(self.names)), np.nan)
        table = self.tables.get(series_id)
        if table is not None:
            shift = first - self.starts[series_id]
            begin = min(count, max(0, -shift))
            stop = max(begin, min(count, len(table) - shift))
            rows[begin:stop] = table[shift + begin : shift + stop]
        return rows


def read_covariates(frame: nw.DataFrame[Any], names: Sequence[str], faults: Faults) -> Table:
    """Columns of a frame as numbers, row by row, [T, F]; what is no number is a fault."""
    columns = []
    for name in names:
        try:
            columns.append(_to_numbers(to_polars(frame[name])))
        except ColumnError as error:
            faults.add(ColumnError, str(error))
    faults.raise_any()
    return np.column_stack(columns) if columns else np.zeros((len(frame), 0))


def check_covariates(
    names: Sequence[str],
    values: Table,
    needed: NDArray[np.bool_],
    tell: Callable[[int], str],
    faults: Faults,
) -> None:
    """Infinite values, and missing ones where the target is known, are faults.

    Args:
        names: Of the columns, [F].
        values: Of each row, [T, F].
        needed: Rows with a target, [T].
        tell: Row number, id and stamp of a row, in words.
        faults: Where faults go.
    """
    for name, column in zip(names, values.T, strict=True):
        _add(
            faults, NonFiniteError, np.isinf(column), tell, f"has an infinite {name!r}; correct it"
        )
        cure = "fill it in: 0 where nothing was on, the value that held where one did"
        missing = np.isnan(column) & needed
        _add(faults, InputError, missing, tell, f"has no {name!r}; {cure}")


def grid_covariates(
    names: Sequence[str], ids: Sequence[Any], offsets: Steps, steps: Steps, values: Table
) -> Covariates:
    """Rows sorted by series and step as one table a series, without holes in time."""
    if not names:
        return Covariates()
    starts, tables = {}, {}
    for series_id, first, stop in zip(ids, offsets[:-1], offsets[1:], strict=True):
        mine = steps[first:stop]
        table = np.full((int(mine[-1] - mine[0]) + 1, len(names)), np.nan)
        table[mine - mine[0]] = values[first:stop]
        starts[series_id], tables[series_id] = int(mine[0]), table
    return Covariates(tuple(names), starts, tables)


def _to_numbers(column: pl.Series) -> Table:
    dtype = column.dtype
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise ColumnError(
            f"covariate {column.name!r} holds {dtype}, not numbers; make it one column of 0 and 1 "
            "for each value, or match series by it: match=[series_labels(frame, "
            f"{column.name!r})]"
        )
    numbers: Table = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return numbers


def _add(
    faults: Faults,
    kind: type[InputError],
    mask: NDArray[np.bool_],
    tell: Callable[[int], str],
    what: str,
) -> None:
    faults.add_rows(kind, np.flatnonzero(mask), lambda row: f"{tell(row)} {what}")
