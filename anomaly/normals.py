"""Normal rows as they are kept: values, ids, when they came, and what they were used for.

In: verified-normal rows. Out: :class:`Normals`, immutable, so that every change gives a new one and
the old one is what undo goes back to. It knows nothing of distances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import DuplicateRows, InputError, ShapeError, UnknownId
from .distances import Integers, Lengths, Matrix

Ids = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Normals:
    """Verified-normal rows in the order they came.

    Attributes:
        rows: On their own scale, float64 [N, D].
        ids: int64 or str, all different, [N].
        batch: Number of the addition each row came with; 0 is the fit, [N].
        trained_on: Rows the encoder has seen, bool [N]; the others can calibrate.
        own_scores: Leave-one-out score of each row when it came, [N].
    """

    rows: Matrix
    ids: Ids
    batch: Integers
    trained_on: NDArray[np.bool_]
    own_scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.rows)

    def extended(self, rows: Matrix, ids: Ids, own_scores: NDArray[np.float64]) -> Normals:
        """Give these rows and, after them, new ones that no encoder has seen."""
        if self.ids.dtype.kind != ids.dtype.kind:
            raise InputError(
                f"the reference set has ids such as {self.ids[0]!r} and the new rows such as "
                f"{ids[0]!r}; give ids of one kind"
            )
        taken = np.intersect1d(self.ids, ids)
        if len(taken):
            raise DuplicateRows(
                f"{len(taken)} ids are in the reference set already ({_shown(taken)}); remove the "
                "old rows first, or give the new ones other ids"
            )
        number = int(self.batch.max(initial=-1)) + 1
        return Normals(
            np.concatenate([self.rows, rows]),
            np.concatenate([self.ids, ids]),
            np.concatenate([self.batch, np.full(len(rows), number)]),
            np.concatenate([self.trained_on, np.zeros(len(rows), dtype=bool)]),
            np.concatenate([self.own_scores, own_scores]),
        )

    def joined(self, others: Normals) -> Normals:
        """Give these rows and, after them, others with all that is known of them."""
        pairs = {name: (getattr(self, name), getattr(others, name)) for name in self.__slots__}
        return Normals(**{name: np.concatenate(pair) for name, pair in pairs.items()})

    def kept(self, keep: Integers) -> Normals:
        """Give some of the rows, by number."""
        return replace(
            self,
            rows=self.rows[keep],
            ids=self.ids[keep],
            batch=self.batch[keep],
            trained_on=self.trained_on[keep],
            own_scores=self.own_scores[keep],
        )

    def rows_of(self, ids: ArrayLike) -> Integers:
        """Find row numbers by id.

        Raises:
            UnknownId: Ids that are not here, all named.
        """
        asked = np.atleast_1d(np.asarray(ids))
        places = {key: row for row, key in enumerate(self.ids.tolist())}
        unknown = [one for one in asked.tolist() if one not in places]
        if unknown:
            raise UnknownId(
                f"{len(unknown)} ids are not in the reference set ({_shown(np.array(unknown))}); "
                "see `reference_.ids`"
            )
        return np.array([places[one] for one in asked.tolist()], dtype=np.int64)


def make_ids(ids: ArrayLike | None, count: int, first: int) -> Ids:
    """Check given ids, or number rows from ``first``."""
    if ids is None:
        return np.arange(first, first + count, dtype=np.int64)
    given = np.asarray(ids)
    if given.shape != (count,):
        raise ShapeError(f"{count} rows and ids of shape {given.shape}; give one id a row")
    if given.dtype.kind not in "iuU":
        given = given.astype(str)
    values, counts = np.unique(given, return_counts=True)
    if (counts > 1).any():
        twice = values[counts > 1]
        raise DuplicateRows(f"ids stand twice ({_shown(twice)}); give every row its own")
    return given.astype(np.int64) if given.dtype.kind in "iu" else given


def share_of_twins(rows: Matrix, normal: Matrix) -> float:
    """Share of rows that equal a normal row to the last digit."""
    if not len(rows):
        return 0.0
    return float((Lengths(normal).nearest(rows, 1).distances[:, 0] == 0).mean())


def _shown(ids: Ids) -> str:
    listed = ", ".join(map(str, ids[:5].tolist()))
    return listed if len(ids) <= 5 else f"{listed}, …"
