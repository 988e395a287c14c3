"""The pieces a report page is laid from.

Each block is a frozen dataclass of plain values: it knows what it says and nothing of HTML. The
page's template draws blocks and escapes every text in them, so data may hold anything. A new kind
of block is a dataclass here and a macro in ``templates/blocks.html``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from ..errors import SettingError, ShapeError, join_faults
from .cells import Cell, is_absent, is_finite, is_number, lay_out, show_cell
from .svg import check_svg

Better: TypeAlias = Literal["lower", "higher"]


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 opens a chapter and enters the page's contents."""

    kind: ClassVar[str] = "heading"
    text: str
    level: Literal[1, 2, 3] = 2

    @property
    def anchor(self) -> str:
        """The name by which the contents, or a link from elsewhere, finds the heading.

        >>> Heading("One day, and the days it resembles").anchor
        'one-day-and-the-days-it-resembles'
        """
        return "-".join(re.findall(r"\w+", self.text.lower())) or "untitled"


@dataclass(frozen=True)
class Text:
    """Paragraphs, parted by blank lines; a phrase between backticks is set as code."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True)
class Note:
    """An aside the reader should not miss: a caveat, a condition, a warning."""

    kind: ClassVar[str] = "note"
    text: str
    title: str = ""
    tone: Literal["plain", "warning"] = "plain"


@dataclass(frozen=True)
class KeyValues:
    """A short list of facts, each a name and a value."""

    kind: ClassVar[str] = "keyvalues"
    items: Sequence[tuple[str, Cell]]
    decimals: int = 3

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Names and values as text."""
        return [(name, show_cell(value, self.decimals)) for name, value in self.items]


@dataclass(frozen=True)
class Figure:
    """A drawing with the sentence that says what to see in it.

    Args:
        svg: One ``<svg>`` element, as :func:`figure_svg` gives it. Scripts, event handlers and
            references to other files are refused.
        caption: Printed under the drawing.
        alt: What the drawing shows, for readers who cannot see it.

    Raises:
        InputError: ``svg`` is not one well-formed, self-contained drawing.
    """

    kind: ClassVar[str] = "figure"
    svg: str
    caption: str
    alt: str

    def __post_init__(self) -> None:
        check_svg(self.svg)


@dataclass(frozen=True)
class Table:
    """Rows under named columns; numbers stand on the right, the best ones are marked.

    Args:
        columns: Column names, each once.
        rows: One sequence of cells a row, as long as ``columns``.
        caption: Printed above the table.
        decimals: Decimals of floating-point cells, for all columns or by column name (3 for the
            columns not named).
        best: For columns whose best number is marked, whether ``"lower"`` or ``"higher"`` is
            better. Numbers that read the same are marked together.
        highlight: Numbers of the rows set on a tinted ground, counted from 0.

    Raises:
        ShapeError: A row is longer or shorter than ``columns``.
        SettingError: ``best``, ``decimals`` or ``highlight`` names what the table lacks.

    >>> scores = Table(["model", "mase"], [["ours", 0.91], ["repeat", 1.2]], best={"mase": "lower"})
    >>> print(scores.as_text())
    model    mase
    ------  ------
    ours    0.910*
    repeat  1.200
    """

    kind: ClassVar[str] = "table"
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    decimals: int | Mapping[str, int] = 3
    best: Mapping[str, Better] = field(default_factory=dict)
    highlight: Sequence[int] = ()

    def __post_init__(self) -> None:
        self._check_widths()
        self._check_names()

    @property
    def shown(self) -> list[list[str]]:
        """Every cell as text, row by row."""
        by_name = self.decimals if isinstance(self.decimals, Mapping) else {}
        default = self.decimals if isinstance(self.decimals, int) else 3
        places = [by_name.get(column, default) for column in self.columns]
        return [
            [show_cell(cell, place) for cell, place in zip(row, places, strict=True)]
            for row in self.rows
        ]

    @property
    def numeric(self) -> list[bool]:
        """For each column, whether it holds numbers and nothing but numbers."""
        columns = [[row[at] for row in self.rows] for at in range(len(self.columns))]
        return [
            any(map(is_number, column)) and all(is_number(c) or is_absent(c) for c in column)
            for column in columns
        ]

    @property
    def winners(self) -> set[tuple[int, int]]:
        """(row, column) of every best cell."""
        shown = self.shown
        won: set[tuple[int, int]] = set()
        for name, better in self.best.items():
            at = list(self.columns).index(name)
            finite = [(cell, i) for i, row in enumerate(self.rows) if is_finite(cell := row[at])]
            if not finite:
                continue
            _, first = min(finite) if better == "lower" else max(finite)
            won |= {(i, at) for _, i in finite if shown[i][at] == shown[first][at]}
        return won

    def as_text(self) -> str:
        """The table in plain text, for a terminal; a star marks the best cells."""
        won = self.winners
        marked = [name in self.best for name in self.columns]
        rows = [
            [
                text + (("*" if (i, at) in won else " ") if marked[at] else "")
                for at, text in enumerate(row)
            ]
            for i, row in enumerate(self.shown)
        ]
        columns = [
            name + (" " if mark else "") for name, mark in zip(self.columns, marked, strict=True)
        ]
        return lay_out(columns, rows, self.numeric)

    def _check_widths(self) -> None:
        faults = [
            f"row {i} has {len(row)} cells, the table {len(self.columns)} columns"
            for i, row in enumerate(self.rows)
            if len(row) != len(self.columns)
        ]
        if faults:
            raise ShapeError(join_faults(faults) + "; give every row one cell a column")

    def _check_names(self) -> None:
        named = set(self.best) | (
            set(self.decimals) if isinstance(self.decimals, Mapping) else set()
        )
        faults = [f"no column {name!r}" for name in sorted(named - set(self.columns))]
        faults += [f"no row {at}" for at in self.highlight if not 0 <= at < len(self.rows)]
        if faults:
            raise SettingError(
                f"{join_faults(faults)}; the table has the columns {', '.join(self.columns)} "
                f"and {len(self.rows)} rows"
            )


@dataclass(frozen=True)
class Columns:
    """Blocks side by side, where the page is wide enough; below each other where it is not."""

    kind: ClassVar[str] = "columns"
    blocks: Sequence[Block]


Block: TypeAlias = Heading | Text | Note | KeyValues | Figure | Table | Columns
"""Anything a page can hold."""
