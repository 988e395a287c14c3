"""Corrupted rows: what a row looks like when something went wrong.

In: normal rows, on any scale, and a generator. Out: rows that each carry one fault of a named
kind. They serve twice, as the negatives a learned distance is trained against and as the
injections the register measures with; the two never share a draw. A new kind is one function and
one line in the table at the bottom, with the sentence that explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Generator = np.random.Generator


class Population:
    """Normal rows, with what faults have to know of their columns; taken once.

    Args:
        rows: On any scale, [N, D].
    """

    def __init__(self, rows: Matrix) -> None:
        self.rows = rows

    @cached_property
    def mean(self) -> Vector:
        """Mean of each column, [D]."""
        mean: Vector = self.rows.mean(axis=0)
        return mean

    @cached_property
    def spread(self) -> Vector:
        """Standard deviation of each column, [D]."""
        spread: Vector = self.rows.std(axis=0)
        return spread

    @cached_property
    def middle(self) -> Vector:
        """Median of each column, [D]."""
        middle: Vector = np.median(self.rows, axis=0)
        return middle

    @cached_property
    def least(self) -> Vector:
        """Smallest value of each column, [D]."""
        least: Vector = self.rows.min(axis=0)
        return least


@dataclass(frozen=True, slots=True)
class RowFault:
    """One kind of fault in a row.

    Attributes:
        name: Its name in registers and tables.
        meaning: What happened to the row, in a sentence.
        inject: (rows [N, D] to spoil, normal rows, severity >= 0, generator) -> rows [N, D].
    """

    name: str
    meaning: str
    inject: Callable[[Matrix, Population, float, Generator], Matrix]


def _cell_error(rows: Matrix, normal: Population, severity: float, draw: Generator) -> Matrix:
    spoilt, at, column = _one_cell(rows, draw)
    spread = normal.spread[column]
    spoilt[at, column] += draw.choice([-1.0, 1.0], len(rows)) * severity * spread
    return spoilt


def _missing_code(rows: Matrix, normal: Population, severity: float, draw: Generator) -> Matrix:
    """A code such as -999 or 0 for "no value": the cell leaves its range by severity spreads."""
    spoilt, at, column = _one_cell(rows, draw)
    low, spread = normal.least[column], normal.spread[column]
    spoilt[at, column] = low - severity * spread
    return spoilt


def _scale_error(rows: Matrix, normal: Population, severity: float, draw: Generator) -> Matrix:
    """The whole row in another unit, seen from the middle of the normal rows."""
    del draw
    middle = normal.middle
    scaled: Matrix = middle + (rows - middle) * (1 + severity)
    return scaled


def _swap(rows: Matrix, normal: Population, severity: float, draw: Generator) -> Matrix:
    """Two columns of a row exchanged, on the standard scale; severity is the number of swaps."""
    spread, middle = normal.spread, normal.mean
    unit = (rows - middle) / np.where(spread > 0, spread, 1)
    for _ in range(max(1, round(severity))):
        at = np.arange(len(rows))
        first = draw.integers(rows.shape[1], size=len(rows))
        second = draw.integers(rows.shape[1], size=len(rows))
        unit[at, first], unit[at, second] = unit[at, second].copy(), unit[at, first].copy()
    swapped: Matrix = middle + unit * spread
    return swapped


def _broken_dependency(
    rows: Matrix, normal: Population, severity: float, draw: Generator
) -> Matrix:
    """Cells taken from other normal rows: each is ordinary, together they are not.

    Severity is the share of cells, in (0, 1].
    """
    chosen = draw.random(rows.shape) < severity
    chosen[np.arange(len(rows)), draw.integers(rows.shape[1], size=len(rows))] = True
    strangers = normal.rows[
        draw.integers(len(normal.rows), size=rows.shape), np.arange(rows.shape[1])
    ]
    return np.where(chosen, strangers, rows)


def _between_modes(rows: Matrix, normal: Population, severity: float, draw: Generator) -> Matrix:
    """A mixture of two normal rows; severity is how close to the middle, 1 the middle itself."""
    others = normal.rows[draw.integers(len(normal.rows), size=len(rows))]
    weight = np.clip(0.5 * severity, 0.0, 0.5)
    mixed: Matrix = (1 - weight) * rows + weight * others
    return mixed


def _far_cluster(rows: Matrix, normal: Population, severity: float, draw: Generator) -> Matrix:
    """All columns moved one way, as by another device: severity spreads in a common direction."""
    direction = draw.choice([-1.0, 1.0], rows.shape[1])
    moved: Matrix = rows + severity * normal.spread * direction
    return moved


def _blur(rows: Matrix, normal: Population, severity: float, draw: Generator) -> Matrix:
    """Noise on every cell, in spreads."""
    blurred: Matrix = rows + severity * normal.spread * draw.normal(size=rows.shape)
    return blurred


def _one_cell(rows: Matrix, draw: Generator) -> tuple[Matrix, NDArray[np.int64], NDArray[np.int64]]:
    return rows.copy(), np.arange(len(rows)), draw.integers(rows.shape[1], size=len(rows))


CELL_ERROR = RowFault("cell error", "one cell off by some spreads of its column", _cell_error)
MISSING_CODE = RowFault("missing code", "one cell holds a code below its range", _missing_code)
SCALE_ERROR = RowFault("scale error", "the whole row stretched away from the middle", _scale_error)
SWAP = RowFault("swap", "two columns exchanged", _swap)
BROKEN_DEPENDENCY = RowFault(
    "broken dependency", "cells from other normal rows: each ordinary, not together",
    _broken_dependency,
)  # fmt: skip
BETWEEN_MODES = RowFault("between modes", "a mixture of two normal rows", _between_modes)
FAR_CLUSTER = RowFault("far cluster", "all columns moved one way", _far_cluster)
BLUR = RowFault("blur", "noise on every cell", _blur)

ROW_FAULTS: tuple[RowFault, ...] = (
    CELL_ERROR, MISSING_CODE, SCALE_ERROR, SWAP, BROKEN_DEPENDENCY, BETWEEN_MODES, FAR_CLUSTER,
)  # fmt: skip
"""The kinds that a register measures."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Faults drawn at random with random severities: the negatives of the learned distance.

    Attributes:
        parts: (fault, least severity, largest severity), drawn equally often.
    """

    parts: Sequence[tuple[RowFault, float, float]]

    def draw(self, normal: Population, count: int, draw: Generator) -> Matrix:
        """Draw ``count`` corrupted rows from normal ones, [count, D]."""
        shares = np.array_split(np.arange(count), len(self.parts))
        pieces = []
        for (fault, low, high), share in zip(self.parts, shares, strict=True):
            # Four severities a batch: as good as one a row, at a fraction of the cost.
            for piece in np.array_split(share, 4):
                rows = normal.rows[draw.integers(len(normal.rows), size=len(piece))]
                severity = float(draw.uniform(low, high))
                pieces.append(fault.inject(rows, normal, severity, draw))
        return np.concatenate(pieces)


NEGATIVES = Mixture(
    (
        (BROKEN_DEPENDENCY, 0.1, 0.6),
        (CELL_ERROR, 1.0, 4.0),
        (BETWEEN_MODES, 0.6, 1.0),
        (BLUR, 0.1, 0.6),
        (SCALE_ERROR, 0.5, 2.0),
    )
)
