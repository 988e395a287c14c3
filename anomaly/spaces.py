"""Spaces: the ways in which a row can be near another, and how near.

In: standardised rows [N, D]. Out: distances to the nearest reference rows. A space embeds rows and
searches among the embedded reference rows; the model adds up what several spaces say. The raw
space is what plain nearest neighbours see, the learned one is in ``learned.py``. Another view of a
row is another class here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .distances import Integers, Lengths, Matrix, Nearest, Vectors


class Searcher(Protocol):
    """Reference rows of one space, ready to be searched; :class:`Lengths` is one."""

    def nearest(self, queries: Vectors, k: int, *, leave_out: Integers | None = None) -> Nearest:
        """Find the k nearest reference rows of embedded queries."""
        ...


class Space(Protocol):
    """A way to see rows."""

    @property
    def name(self) -> str:
        """Short name, part of saved files."""
        ...

    def embed(self, rows: Matrix) -> Vectors:
        """Embed standardised rows [N, D] as vectors [N, W]."""
        ...

    def prepare(self, vectors: Vectors) -> Searcher:
        """Make embedded reference rows searchable."""
        ...

    def tensors(self) -> Mapping[str, Vectors]:
        """Everything that was fitted, for a bundle."""
        ...


class RawSpace:
    """Rows as they are: the space of plain nearest neighbours."""

    name = "raw"

    def embed(self, rows: Matrix) -> Matrix:
        """Give the rows themselves."""
        return rows

    def prepare(self, vectors: Vectors) -> Lengths:
        """Make reference rows searchable by Euclidean distance."""
        return Lengths(vectors)

    def tensors(self) -> Mapping[str, Vectors]:
        """Nothing is fitted."""
        return {}


class Standardiser:
    """Centre and scale of each column, from normal rows.

    A constant column keeps the scale 1: whoever leaves the constant is seen, in its own unit.

    Args:
        centre: [D].
        scale: [D], > 0.
    """

    def __init__(self, centre: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        self.centre, self.scale = centre, scale

    @classmethod
    def of(cls, rows: Matrix) -> Standardiser:
        """Learn centre and scale; in float64, so that a far origin costs nothing."""
        centre = rows.mean(axis=0)
        spread = (rows - centre).std(axis=0)
        tiny = 1e-12 * np.maximum(1.0, np.abs(centre))
        return cls(centre, np.where(spread > tiny, spread, 1.0))

    def apply(self, rows: Matrix) -> Matrix:
        """Put rows on the standard scale."""
        scaled: Matrix = (rows - self.centre) / self.scale
        return scaled
