"""All pairs: the nearest other stretch of every stretch, exactly.

In: a panel and a length m. Out: :class:`NearestStretches`, for each stretch the one most like it
in shape that does not lie on top of it (a matrix profile, Yeh et al. 2016). Correlations of tiles
of stretches are one matrix product each, in float32, of which only the largest of every row and
column is kept; the few tiles in which a winner can lie are then read again in float64, so the
answer is that of float64 throughout. Memory is a few tiles, however long the panel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...core import Progress, SettingError, TooFewRows, silent
from ..frequency import Frequency
from ..gaps import Gaps
from ..panel import Panel, Values
from ..units import Steps
from .shapes import Shapes, library

TILE = 1024
GROUP = 8
"""Tiles whose shapes are kept at hand while the others pass by."""
KEPT = 3
NONE = -4.0
"""Below every correlation."""


@dataclass(frozen=True, slots=True, eq=False)
class NearestStretches:
    """Every stretch that has another one to be compared with, and the nearest of those.

    Attributes:
        panel: The data.
        length: m.
        starts: First row of each stretch in ``panel.values``, ascending, [N].
        nearest: First row of the nearest other stretch, [N].
        distance: z-normalised Euclidean distance to it, in [0, 2 sqrt(m)], [N].
    """

    panel: Panel
    length: int
    starts: Steps
    nearest: Steps
    distance: Values

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def correlation(self) -> Values:
        """Pearson correlation with the nearest, [N]; that of a constant is a convention."""
        return 1 - self.distance**2 / (2 * self.length)

    def to_frame(self) -> Any:
        """One row a stretch: series and first stamp, those of the nearest, and the distance."""
        here, there = self._places(self.starts), self._places(self.nearest)
        schema = self.panel.schema
        return self.panel.answer(
            {
                schema.id_col: here[0],
                schema.time_col: here[1],
                f"nearest_{schema.id_col}": there[0],
                f"nearest_{schema.time_col}": there[1],
                "distance": pl.Series(self.distance),
            }
        )

    def _places(self, rows: Steps) -> tuple[pl.Series, pl.Series]:
        series = np.searchsorted(self.panel.offsets[1:], rows, side="right")
        steps = self.panel.starts[series] + rows - self.panel.offsets[series]
        return self.panel.labels(series), self.panel.stamps(steps)


def nearest_stretches(
    frame: Any,
    length: int,
    *,
    apart: int | None = None,
    freq: str | int | Frequency | None = None,
    gaps: Gaps = "missing",
    progress: Progress = silent,
) -> NearestStretches:
    """Find the nearest other stretch of every stretch of m rows, in all series.

    Args:
        frame: Long frame ``unique_id, ds, y``, or a :class:`Panel`.
        length: m, at least 3.
        apart: Starts of two stretches of one series differ by at least so many rows; None for
            more than a quarter of m, rounded up, as matrix profiles have it.
        freq: The step of time, as in :func:`read_frame`.
        gaps: What absent rows become, as there; missing by default.
        progress: Shows the tiles.

    Returns:
        The nearest of each. Stretches with missing values, and those that nothing lies far enough
        from, are left out.

    Raises:
        TooFewRows: No stretch is left.

    Source: Yeh et al. 2016 (doi:10.1109/ICDM.2016.0179); the tiles are ours.
    """
    apart = -(-length // 4) + 1 if apart is None else apart
    if apart < 1:
        raise SettingError(f"apart starts at 1 row, found {apart}: a stretch is nearest to itself")
    shapes = Shapes(library(frame, freq, gaps), length)
    best = _scan(shapes, apart, progress)
    nearest, correlation = _settle(shapes, apart, best)
    found = np.flatnonzero(correlation > NONE)
    if not len(found):
        raise TooFewRows(
            f"no two of {len(shapes)} stretches of {length} rows start {apart} rows apart; "
            "shorten the length or bring more rows"
        )
    return NearestStretches(
        shapes.panel,
        length,
        shapes.starts[found],
        shapes.starts[nearest[found]],
        shapes.distances(found, nearest[found]),
    )


@dataclass(frozen=True, slots=True)
class _Best:
    """The tiles that hold the largest correlations of each row, largest first, [N, KEPT]."""

    values: NDArray[np.float32]
    tiles: NDArray[np.int32]

    def add(self, rows: slice, largest: NDArray[np.float32], tile: int) -> None:
        """Put a tile where it belongs among the kept ones of the rows it is larger in."""
        places = np.flatnonzero(largest > self.values[rows, -1])
        changed = places + rows.start
        values = np.column_stack([self.values[changed], largest[places]])
        tiles = np.pad(self.tiles[changed], ((0, 0), (0, 1)), constant_values=tile)
        order = np.argsort(-values, axis=1, kind="stable")[:, :KEPT]
        self.values[changed] = np.take_along_axis(values, order, axis=1)
        self.tiles[changed] = np.take_along_axis(tiles, order, axis=1)


def _scan(shapes: Shapes, apart: int, progress: Progress) -> _Best:
    """Every pair of tiles once, in float32."""
    tiles = list(enumerate(_tiles(len(shapes))))
    best = _Best(
        np.full((len(shapes), KEPT), NONE, dtype=np.float32),
        np.zeros((len(shapes), KEPT), dtype=np.int32),
    )
    # One buffer: pages that are asked for anew with every product cost as much as the product.
    buffer = torch.empty(TILE * TILE)
    groups = [tiles[start : start + GROUP] for start in range(0, len(tiles), GROUP)]
    for group in progress(groups, "comparing", len(groups)):
        asking = [(n, rows, _single(shapes.asking(rows))) for n, rows in group]
        for other, columns in tiles[group[0][0] :]:
            answering = _single(shapes.answering(columns)).T
            for number, rows, left in asking:
                if number > other:
                    continue
                size = (left.shape[0], answering.shape[1])
                scores = torch.mm(left, answering, out=buffer[: size[0] * size[1]].view(size))
                _rule_out(scores, shapes, rows, columns, apart)
                best.add(rows, scores.numpy().max(axis=1), other)
                if other != number:
                    best.add(columns, scores.numpy().max(axis=0), number)
    return best


def _settle(shapes: Shapes, apart: int, best: _Best) -> tuple[Steps, Values]:
    """Read the tiles in which the largest correlation can lie again, in float64."""
    nearest = np.zeros(len(shapes), dtype=np.int64)
    correlation = np.full(len(shapes), NONE)
    # What float32 may have rounded off a product of unit vectors, twice.
    slack = 2 * (shapes.length + 2) * float(np.finfo(np.float32).eps)
    close = best.values >= best.values[:, :1] - slack
    crowded = close.all(axis=1)
    for number, columns in enumerate(_tiles(len(shapes))):
        wanted = np.flatnonzero(crowded | (close & (best.tiles == number)).any(axis=1))
        answering = torch.from_numpy(shapes.answering(columns))
        for start in range(0, len(wanted), TILE):
            rows = wanted[start : start + TILE]
            scores = torch.from_numpy(shapes.asking(rows)) @ answering.T
            _rule_out(scores, shapes, rows, columns, apart)
            largest, place = (part.numpy() for part in scores.max(dim=1))
            better = largest > correlation[rows]
            correlation[rows[better]] = largest[better]
            nearest[rows[better]] = columns.start + place[better]
    return nearest, correlation


def _tiles(count: int) -> list[slice]:
    return [slice(start, min(start + TILE, count)) for start in range(0, count, TILE)]


def _single(values: Values) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))


def _rule_out(
    scores: Tensor, shapes: Shapes, rows: slice | Steps, columns: slice, apart: int
) -> None:
    """Stretches of one series that start too near to each other are no pair."""
    here, there = shapes.starts[rows], shapes.starts[columns]
    first, last = np.searchsorted(here, [there[0] - apart + 1, there[-1] + apart])
    if first == last:
        return
    near: NDArray[np.bool_] = np.abs(here[first:last, None] - there[None, :]) < apart
    near &= shapes.series[rows][first:last, None] == shapes.series[columns][None, :]
    scores[first:last].masked_fill_(torch.from_numpy(near), NONE)
