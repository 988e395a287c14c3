"""How a single value reads on a page or in a terminal.

One value in, one short text out, the same text in both places. A missing value reads as a dash and
never as zero, and a number too small for the asked decimals is shown in scientific notation
rather than rounded to nothing.
"""

from __future__ import annotations

import datetime as dt
import math
import numbers
from collections.abc import Sequence
from typing import TypeAlias, TypeGuard

Cell: TypeAlias = object
"""What a cell may hold: text, numbers, dates, booleans, or None for no value."""

ABSENT = "–"


def is_number(cell: Cell) -> TypeGuard[float]:
    """Whether a cell holds a number; truth values are not numbers.

    >>> is_number(3), is_number("3"), is_number(True)
    (True, False, False)
    """
    return isinstance(cell, numbers.Real) and not isinstance(cell, bool)


def is_finite(cell: Cell) -> TypeGuard[float]:
    """Whether a cell holds a number that is neither NaN nor infinite."""
    return is_number(cell) and math.isfinite(cell)


def is_absent(cell: Cell) -> bool:
    """Whether a cell holds no value: None or NaN."""
    return cell is None or (is_number(cell) and math.isnan(cell))


def show_cell(cell: Cell, decimals: int = 3) -> str:
    """Write one value as text.

    Args:
        cell: Any value.
        decimals: Decimals of floating-point numbers, at least 0.

    >>> show_cell(0.5), show_cell(12345), show_cell(1e-9), show_cell(None), show_cell(True)
    ('0.500', '12,345', '1.000e-09', '–', 'yes')
    """
    if is_absent(cell):
        return ABSENT
    if type(cell).__name__ in {"bool", "bool_"}:
        return "yes" if cell else "no"
    if isinstance(cell, numbers.Integral):
        return _show_integer(int(cell))
    if is_number(cell):
        return _show_float(float(cell), decimals)
    if isinstance(cell, dt.datetime):
        return _show_moment(cell)
    return str(cell)


def lay_out(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Set texts in aligned columns for a terminal.

    Args:
        columns: Column names.
        rows: Texts, one sequence a row.
        right: For each column, whether it is aligned on the right.
    """
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    lines = [list(columns), ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def _show_integer(value: int) -> str:
    # Four figures read well without a comma, and years stay years.
    return f"{value:,}" if abs(value) >= 10_000 else str(value)


def _show_float(value: float, decimals: int) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    vanishes = value != 0 and abs(value) < 0.5 * 10.0**-decimals
    if vanishes or abs(value) >= 1e9:
        return f"{value:.{decimals}e}"
    return f"{value:,.{decimals}f}" if abs(value) >= 10_000 else f"{value:.{decimals}f}"


def _show_moment(moment: dt.datetime) -> str:
    if moment.time() == dt.time():
        return moment.date().isoformat()
    return moment.isoformat(sep=" ", timespec="auto" if moment.second else "minutes")
