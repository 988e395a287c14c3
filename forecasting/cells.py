"""The cells of a long frame, and what can be wrong with them.

One :class:`Cells` is the three columns row by row, with the row numbers of the caller's frame, so
that every fault can say where it is. Checks hand back the rows that can still be looked at, and
leave their faults in a :class:`Faults`. To add a check, add it to :func:`check_cells` (one row
alone) or beside :func:`check_duplicates` and :func:`check_grid` (rows among each other).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import DuplicateRows, InputError, NonFiniteError
from .faults import Faults
from .frequency import Frequency
from .units import Steps


@dataclass(frozen=True, slots=True)
class Cells:
    """The three columns of a frame, row by row, with the row numbers of the caller's frame."""

    ids: pl.Series
    stamps: pl.Series
    values: NDArray[np.float64]
    rows: Steps

    def taken(self, places: NDArray[Any]) -> Cells:
        """The cells at these places, in this order."""
        chosen = np.flatnonzero(places) if places.dtype == bool else places
        return Cells(
            self.ids.gather(chosen),
            self.stamps.gather(chosen),
            self.values[chosen],
            self.rows[chosen],
        )

    def told(self, place: int) -> str:
        """Row number, id and stamp in words."""
        return f"row {self.rows[place]} ({self.ids[place]!r} at {self.stamps[place]})"


def check_cells(cells: Cells, faults: Faults) -> Cells:
    """Faults of single rows; hands back the rows without them."""
    no_id, no_stamp = cells.ids.is_null().to_numpy(), cells.stamps.is_null().to_numpy()
    infinite = np.isinf(cells.values)
    finer = np.zeros_like(infinite)
    if isinstance(cells.stamps.dtype, pl.Datetime) and cells.stamps.dtype.time_unit == "ns":
        finer = (cells.stamps.to_physical() % 1_000 != 0).fill_null(value=False).to_numpy()
    _add(faults, cells, InputError, no_id, "has no id; name the series or drop the row")
    _add(faults, cells, InputError, no_stamp, "has no readable time; correct or drop the row")
    _add(faults, cells, InputError, finer, "has a time finer than a microsecond; round it")
    _add(
        faults,
        cells,
        NonFiniteError,
        infinite,
        "has an infinite target; correct it, or make it NaN if it is missing",
    )
    if np.isnan(cells.values).all():
        faults.add(InputError, "the frame has no value: every target is missing")
    bad = no_id | no_stamp | infinite | finer
    if bad.all():
        faults.raise_any()
    return cells.taken(np.flatnonzero(~bad)) if bad.any() else cells


def _add(
    faults: Faults, cells: Cells, kind: type[InputError], mask: NDArray[np.bool_], what: str
) -> None:
    """One fault for each row of the mask."""
    faults.add_rows(kind, np.flatnonzero(mask), lambda row: f"{cells.told(row)} {what}")


def sort_cells(cells: Cells, notes: list[str]) -> tuple[Cells, Steps]:
    """Rows by id and time, and where each series begins."""
    codes = _number_ids(cells.ids)
    times = cells.stamps.to_physical().cast(pl.Int64).to_numpy()
    forward = np.diff(codes)
    if bool(((forward > 0) | ((forward == 0) & (np.diff(times) >= 0))).all()):
        return cells, offsets_of(codes)
    places = _order(codes, times)
    notes.append(f"rows sorted by {cells.ids.name!r} and {cells.stamps.name!r}")
    return cells.taken(places), offsets_of(codes[places])


def _order(codes: Steps, times: Steps) -> Steps:
    """Places in ascending order of code, then time."""
    first = int(times.min())
    span = int(times.max()) - first + 1
    if span * (int(codes.max()) + 1) < np.iinfo(np.int64).max:
        # One key sorts several times faster than two.
        return np.argsort(codes * span + (times - first))
    return np.lexsort((times, codes))


def _number_ids(ids: pl.Series) -> Steps:
    """Rank of each id among the ids; only one look-up for each run of equal ids."""
    if ids.dtype == pl.Categorical or isinstance(ids.dtype, pl.Enum):
        ids = ids.cast(pl.String)
    changes = (ids != ids.shift()).fill_null(value=False).to_numpy()
    heads = np.concatenate([[0], np.flatnonzero(changes)])
    runs = np.diff(heads, append=len(ids))
    firsts = ids.gather(heads).alias("id").to_frame()
    ranks = firsts.unique().sort("id").with_row_index("rank")
    joined = firsts.join(ranks, on="id", how="left", maintain_order="left")
    return np.repeat(joined["rank"].cast(pl.Int64).to_numpy(), runs)


def offsets_of(codes: Steps) -> Steps:
    """First row of each run of equal codes, and the total."""
    return np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1, [len(codes)]])


def check_duplicates(cells: Cells, faults: Faults) -> None:
    """Rows that repeat the id and stamp of the row before them are faults."""
    again = (cells.ids == cells.ids.shift()) & (cells.stamps == cells.stamps.shift())
    faults.add_rows(
        DuplicateRows,
        np.flatnonzero(again.fill_null(value=False).to_numpy()),
        lambda place: (
            f"{cells.told(place)} repeats row {cells.rows[place - 1]}; "
            f"keep one row per ({cells.ids.name}, {cells.stamps.name})"
        ),
    )


def check_grid(grid: Frequency, cells: Cells, faults: Faults) -> tuple[Cells, Steps, Steps]:
    """Rows off the grid are faults; hands back the rows on it, their offsets and steps."""
    steps, on_grid = grid.locate(cells.stamps)
    codes = _number_ids(cells.ids)
    offsets = offsets_of(codes)
    if on_grid.all():
        return cells, offsets, steps
    # A series with not one row on the grid has another phase: one fault, not one a row.
    apart = ~np.logical_or.reduceat(on_grid, offsets[:-1])
    example = cells.told(int(np.argmax(on_grid)))
    faults.add_rows(
        InputError,
        offsets[:-1][apart],
        lambda place: (
            f"the whole series of {cells.told(place)} lies off the grid of freq={str(grid)!r} that "
            f"{example} is on; shift it, or read series of another phase apart"
        ),
    )
    single = ~on_grid & ~np.repeat(apart, np.diff(offsets))
    faults.add_rows(
        InputError,
        np.flatnonzero(single),
        lambda place: (
            f"{cells.told(place)} is off the grid of freq={str(grid)!r}; the step before it is "
            f"{grid.stamps(steps[place : place + 1], cells.stamps.dtype)[0]}: round the stamp or "
            "pass another freq"
        ),
    )
    kept = np.flatnonzero(on_grid)
    return cells.taken(kept), offsets_of(codes[kept]), steps[kept]
