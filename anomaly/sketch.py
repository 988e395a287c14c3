"""Sketches: what kept rows remember of the rows that went, so that a coreset loses little.

In: kept vectors and vectors that went, in one space. Out: :class:`Sketched`, a searcher that finds
the kept rows nearest to a query and then looks among the sketches of the rows they stand for. A
sketch is the difference from the nearest kept row, a byte a number. Kept rows alone say nothing of
near twins between them, which is what tells normal from abnormal where rows come in close groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..core import TooFewRows
from .distances import Floats, Integers, Lengths, Nearest, Vectors, take_least
from .spaces import Searcher

PROBED = 2
"""Kept rows among whose sketches a query looks."""

MOST = 32
"""Sketches a kept row carries: of the rows farthest from it, which it describes worst itself."""

LEVELS = 127
TILE = 2**20
"""Numbers unpacked at once; 4 MB stay in the cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Sketches:
    """Rows that went, in one space, each beside the kept row nearest to it there.

    Attributes:
        owner: Number of that kept row, ascending, [M].
        codes: Difference from it in steps, int8 [M, W].
        step: Length of a step, the same for all beside one kept row, float32 [M], > 0.
        number: What the row is called where it is left out, -1 where it never is, [M].
    """

    owner: Integers
    codes: NDArray[np.int8]
    step: NDArray[np.float32]
    number: Integers

    @classmethod
    def of(cls, kept: Vectors, gone: Vectors, number: Integers) -> Self:
        """Sketch vectors [G, W] beside the kept ones, at most ``MOST`` beside each.

        Args:
            kept: [N, W], N >= 1.
            gone: [G, W].
            number: [G], see the attribute.
        """
        found = Lengths(kept).nearest(gone, 1)
        owner, gap = found.rows[:, 0], found.distances[:, 0]
        order = np.lexsort((-gap, owner))
        place = np.arange(len(order)) - np.searchsorted(owner[order], owner[order])
        chosen = order[place < MOST]
        away = gone[chosen] - kept[owner[chosen]]
        reach = np.zeros(len(kept))
        np.maximum.at(reach, owner[chosen], np.abs(away).max(axis=1, initial=0.0))
        step = np.where(reach > 0, reach / LEVELS, 1.0)[owner[chosen]].astype(np.float32)
        codes = np.round(away / step[:, None]).astype(np.int8)
        return cls(owner[chosen], codes, step, number[chosen])

    def restored(self, kept: Vectors) -> Floats:
        """Give the vectors back, [M, W], to half a step."""
        away = self.codes * self.step[:, None].astype(np.float64)
        restored: Floats = np.asarray(kept, dtype=np.float64)[self.owner] + away
        return restored

    def left(self, keep: Integers) -> Sketches:
        """Give the sketches beside some of the kept rows, by ascending number; these count anew."""
        at = np.searchsorted(keep, self.owner).clip(max=len(keep) - 1)
        stay = keep[at] == self.owner
        return Sketches(at[stay], self.codes[stay], self.step[stay], self.number[stay])


class Sketched:
    """Kept rows of one space with the sketches of those that went, ready to be searched.

    Args:
        kept: Searcher among the kept rows.
        vectors: These rows, [N, W].
        sketches: Of the others.
    """

    def __init__(self, kept: Searcher, vectors: Vectors, sketches: Sketches) -> None:
        self.kept, self.vectors, self.sketches = kept, vectors, sketches
        self._sizes = np.bincount(sketches.owner, minlength=len(vectors))
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._steps = np.ones(len(vectors), dtype=np.float32)
        self._steps[sketches.owner] = sketches.step

    def nearest(self, queries: Vectors, k: int, *, leave_out: Integers | None = None) -> Nearest:
        """Find the k nearest of the nearest kept rows and of the rows these stand for.

        ``rows`` says which kept row was found or stands for what was found, so one may stand there
        more than once. What is nearer, but beside a kept row farther away, is missed.

        Args:
            queries: [Q, W].
            k: At least 1.
            leave_out: One number a query that must not be answered, [Q]: of a kept row, or N plus
                the ``number`` of a sketch; -1 where nothing is left out.

        Raises:
            TooFewRows: Fewer than k kept rows may be answered.
        """
        count = len(self.vectors)
        if k > count - (leave_out is not None):
            raise TooFewRows(
                f"k={k} neighbours asked for and {count} rows kept; lower k or keep more"
            )
        out = np.full(len(queries), -1, dtype=np.int64) if leave_out is None else leave_out
        answer = self._search(queries, k, min(PROBED, count), out)
        # Where two kept rows stand for too few, more of them are probed.
        short = np.flatnonzero(np.isinf(answer.distances[:, -1]))
        if len(short):
            more = self._search(queries[short], k, min(k + 1, count), out[short])
            answer.distances[short], answer.rows[short] = more.distances, more.rows
        return answer

    def _search(self, queries: Vectors, k: int, probed: int, out: Integers) -> Nearest:
        """As :meth:`nearest`, among that many kept rows; infinitely far where k are not there."""
        found = self.kept.nearest(queries, probed)
        distances = np.empty((len(queries), k))
        rows = np.empty((len(queries), k), dtype=np.int64)
        step = max(1, TILE // (probed * MOST * max(1, self.vectors.shape[1])))
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            near = Nearest(found.distances[part], found.rows[part])
            distances[part], rows[part] = self._tile(queries[part], near, k, out[part])
        return Nearest(distances, rows)

    def _tile(
        self, queries: Vectors, found: Nearest, k: int, out: Integers
    ) -> tuple[Floats, Integers]:
        probed = found.rows.shape[1]
        sizes = self._sizes[found.rows]
        asked = sizes.sum(axis=1)
        at = _runs(self._starts[found.rows].ravel(), sizes.ravel())
        away = self._away(queries, found.rows, sizes.ravel(), at)
        if (out >= len(self.vectors)).any():
            number = self.sketches.number.take(at)
            away[(number == np.repeat(out - len(self.vectors), asked)) & (number >= 0)] = np.inf
        # A line a query: the kept rows, then the sketches beside them, then nothing.
        width = probed + max(int(asked.max(initial=0)), k)
        table = np.full((len(queries), width), np.inf, dtype=np.float32)
        table[:, :probed] = found.distances
        table[:, :probed][found.rows == out[:, None]] = np.inf
        table.ravel()[_runs(np.arange(len(queries)) * width + probed, asked)] = away
        distances, columns = take_least(table, k)
        owners = found.rows[np.arange(len(queries))[:, None], columns.clip(max=probed - 1)]
        beside = (columns >= probed) & np.isfinite(distances)
        starts = np.cumsum(asked) - asked - probed
        owners[beside] = self.sketches.owner[at[(columns + starts[:, None])[beside]]]
        return distances.astype(np.float64), owners

    def _away(
        self, queries: Vectors, rows: Integers, sizes: Integers, at: Integers
    ) -> NDArray[np.float32]:
        """Distances of queries to the sketches ``at``, those beside the kept ``rows`` [Q, P]."""
        steps = self._steps[rows].ravel()
        offsets = (queries[:, None, :] - self.vectors[rows]).reshape(rows.size, -1)
        offsets = (offsets / steps[:, None]).astype(np.float32)
        codes = self.sketches.codes.take(at, axis=0)
        difference = np.subtract(codes, np.repeat(offsets, sizes, axis=0), dtype=np.float32)
        lengths = np.sqrt(np.einsum("td,td->t", difference, difference))
        away: NDArray[np.float32] = lengths * np.repeat(steps, sizes)
        return away


def _runs(starts: Integers, sizes: Integers) -> Integers:
    """Numbers of runs one after the other: ``sizes[i]`` of them from ``starts[i]`` on."""
    ends = np.cumsum(sizes)
    runs: Integers = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
        starts - ends + sizes, sizes
    )
    return runs
