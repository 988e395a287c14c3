"""What is not there: missing ends, absent rows, missing targets, and the policies for them.

In: the rows of a panel, sorted by series and step. Out: series without holes in time, NaN where a
value is missing, and a note for everything that was done. To add a policy, name it in ``Gaps`` and
give it a branch in :func:`close_gaps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import InputError
from .faults import Faults
from .units import Steps

Gaps = Literal["error", "missing", "zero", "interpolate"]
# A single mistyped year must not become millions of rows.
LARGEST_GROWTH = 64
ALWAYS_FINE = 1_000_000
SHOWN_SERIES = 5


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows sorted by series and step, none of them twice.

    Attributes:
        ids: Id of each series, [S].
        offsets: First row of each series and the total, [S + 1].
        steps: Step of each row, [T].
        values: Target of each row, NaN where missing, [T].
        origin: Row number in the caller's frame, [T].
    """

    ids: tuple[Any, ...]
    offsets: Steps
    steps: Steps
    values: NDArray[np.float64]
    origin: Steps

    @property
    def lengths(self) -> Steps:
        """Rows of each series, [S]."""
        return np.diff(self.offsets)


class Filled(NamedTuple):
    """Series without holes in time; the fields of a panel of the same names."""

    starts: Steps
    offsets: Steps
    values: NDArray[np.float64]
    interpolated: Steps


def trim(rows: Rows, notes: list[str]) -> Rows:
    """Leave out what is missing before the first and after the last value of each series."""
    known = ~np.isnan(rows.values)
    places = np.arange(len(known))
    first = np.minimum.reduceat(np.where(known, places, len(known)), rows.offsets[:-1])
    last = np.maximum.reduceat(np.where(known, places, -1), rows.offsets[:-1])
    empty = last < 0
    leading = np.where(empty, 0, first - rows.offsets[:-1])
    trailing = np.where(empty, 0, rows.offsets[1:] - 1 - last)
    if not (empty.any() or leading.any() or trailing.any()):
        return rows
    if empty.any():
        notes.append(f"series without a single value left out: {_named(rows.ids, empty)}")
    for counts, side, why in (
        (leading, "before the first value", "not yet launched"),
        (trailing, "after the last value", "not yet known"),
    ):
        if counts.any():
            notes.append(
                f"{_counted(counts.sum(), 'missing target')} {side} left out, as {why}: "
                f"{_named(rows.ids, counts)}"
            )
    keep = (places >= np.repeat(first, rows.lengths)) & (places <= np.repeat(last, rows.lengths))
    lengths = np.where(empty, 0, last - first + 1)
    return Rows(
        ids=tuple(name for name, gone in zip(rows.ids, empty, strict=True) if not gone),
        offsets=np.concatenate([[0], np.cumsum(lengths[~empty])]),
        steps=rows.steps[keep],
        values=rows.values[keep],
        origin=rows.origin[keep],
    )


def check_gaps(rows: Rows, gaps: Gaps, tell: Callable[[int], str], faults: Faults) -> None:
    """Refuse absent rows under ``"error"``, and under any policy gaps too long to be meant.

    Args:
        rows: Trimmed rows.
        gaps: The policy.
        tell: Row number, id and stamp of a row, in words.
        faults: Where faults go.
    """
    before, absent = _jumps(rows)
    if gaps == "error":
        counts = dict(zip(before.tolist(), absent.tolist(), strict=True))
        faults.add_rows(
            InputError,
            before,
            lambda row: (
                f"{_counted(counts[row], 'row')} absent between {tell(row)} and {tell(row + 1)}; "
                "add the rows or pass gaps='missing', 'zero' or 'interpolate'"
            ),
        )
    elif absent.sum() > LARGEST_GROWTH * len(rows.steps) + ALWAYS_FINE:
        row = int(before[absent.argmax()])
        faults.add(
            InputError,
            f"{absent.sum()} rows are absent from a frame of {len(rows.steps)}, {absent.max()} of "
            f"them between {tell(row)} and {tell(row + 1)}; correct the stamps or the freq",
        )


def close_gaps(rows: Rows, gaps: Gaps, notes: list[str]) -> Filled:
    """Give every step between the first and last row of a series its place, under the policy."""
    starts = rows.steps[rows.offsets[:-1]]
    lengths = rows.steps[rows.offsets[1:] - 1] - starts + 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    written = np.isnan(rows.values)
    whole = len(rows.steps) == offsets[-1]
    if whole and not written.any():
        return Filled(starts, offsets, rows.values, np.zeros(0, dtype=np.int64))

    places = rows.steps + np.repeat(offsets[:-1] - starts, rows.lengths)
    absent = np.ones(offsets[-1], dtype=bool)
    absent[places] = False
    values = np.full(offsets[-1], np.nan)
    values[places] = rows.values
    missing = np.zeros_like(absent)
    missing[places[written]] = True

    interpolated = np.zeros(0, dtype=np.int64)
    if gaps == "zero":
        values[absent] = 0.0
    elif gaps == "interpolate":
        # Both ends of every series are known after trimming, so no line crosses into another one.
        known = np.flatnonzero(~np.isnan(values))
        interpolated = np.flatnonzero(np.isnan(values))
        values[interpolated] = np.interp(interpolated, known, values[known])
    done = {"zero": "filled with zero", "interpolate": "interpolated"}.get(gaps, "left missing")
    kept = "interpolated" if gaps == "interpolate" else "kept as missing"
    for mask, what, how in ((absent, "absent row", done), (missing, "missing target", kept)):
        counts = np.add.reduceat(mask, offsets[:-1], dtype=np.int64)
        if counts.any():
            notes.append(f"{_counted(counts.sum(), what)} {how}: {_named(rows.ids, counts)}")
    return Filled(starts, offsets, values, interpolated)


def _jumps(rows: Rows) -> tuple[Steps, Steps]:
    """Rows that the next row of their series does not follow, and how many are absent there."""
    # Duplicates, told elsewhere, lie no step apart.
    absent = np.maximum(np.diff(rows.steps) - 1, 0)
    absent[rows.offsets[1:-1] - 1] = 0
    before = np.flatnonzero(absent)
    return before, absent[before]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _named(ids: Sequence[Any], counts: NDArray[Any]) -> str:
    """The series concerned, each with its count."""
    concerned = np.flatnonzero(counts)
    told = [
        repr(ids[number]) if counts.dtype == bool else f"{ids[number]!r} ({counts[number]})"
        for number in concerned[:SHOWN_SERIES].tolist()
    ]
    more = len(concerned) - SHOWN_SERIES
    return ", ".join(told) + (f" and {more} more series" if more > 0 else "")
