"""The rows an index holds: unit vectors with their ids, checked once, never half changed.

In: vectors and ids as the caller has them. Out: :class:`StoredRows`, immutable, shared by every
engine. Adding or removing gives a *new* object, so a refused row leaves an index as it was.
Every fault of an input is told at once, by row.

A new kind of check on incoming vectors belongs into :func:`unit_vectors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ..errors import DuplicateRows, InputError, NonFiniteError, ShapeError, UnknownId, join_faults
from ..geometry import normalize
from .neighbours import IdArray

VectorLike = torch.Tensor | NDArray[Any]
"""Vectors, shape [rows, D]: a numpy array or a torch tensor of any float type."""

_UNIT_SLACK = 1e-3  # of a squared length: rounding, and no more


@dataclass(frozen=True, slots=True, eq=False)
class StoredRows:
    """Vectors and ids in the order they were added.

    Attributes:
        vectors: Unit vectors, float32 [N, D].
        ids: int64 or str, all different, [N].
        by_id: Row numbers in the order of ids, int64 [N].
        rank: Place of each row in that order, int64 [N]; None when rows are in that order.
    """

    vectors: NDArray[np.float32]
    ids: IdArray
    by_id: NDArray[np.int64]
    rank: NDArray[np.int64] | None

    @classmethod
    def of(cls, vectors: VectorLike, ids: ArrayLike | None) -> StoredRows:
        """Check and normalise vectors; without ids, rows are called 0 .. N-1."""
        unit = unit_vectors(vectors, "vectors")
        return cls.trusted(unit, _checked_ids(ids, len(unit)))

    @classmethod
    def of_units(cls, vectors: NDArray[np.float32]) -> StoredRows:
        """Take unit vectors as they are; rows are called 0 .. N-1."""
        lengths = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float32)
        wrong = np.flatnonzero(~(np.abs(lengths - 1) < _UNIT_SLACK))
        if len(wrong):
            raise InputError(
                f"{len(wrong)} rows of vectors are not of length one: rows {_shown(wrong)}; "
                "normalise them first"
            )
        return cls.trusted(vectors, np.arange(len(vectors), dtype=np.int64))

    @classmethod
    def trusted(cls, unit: NDArray[np.float32], ids: IdArray) -> StoredRows:
        """Take vectors that this class normalised before, to the bit as they are."""
        if len(ids) < 2 or np.all(ids[1:] > ids[:-1]):
            return cls(unit, ids, np.arange(len(ids)), None)
        by_id = np.argsort(ids, kind="stable")
        ordered = ids[by_id]
        twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        if len(twice):
            raise DuplicateRows(
                f"ids must be different, but {len(twice)} stand more than once: {_shown(twice)}; "
                "remove the old row before adding the new one"
            )
        rank = np.empty(len(ids), dtype=np.int64)
        rank[by_id] = np.arange(len(ids))
        return cls(unit, ids, by_id, rank)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def width(self) -> int:
        """D, the width of a vector."""
        return int(self.vectors.shape[1])

    def extended(self, vectors: VectorLike, ids: ArrayLike) -> StoredRows:
        """Give these rows and, after them, new ones."""
        unit = unit_vectors(vectors, "vectors", self.width)
        new = _checked_ids(ids, len(unit))
        if len(self) and new.dtype.kind != self.ids.dtype.kind:
            raise InputError(
                f"the index holds {_kind(self.ids)} ids but the new ones are {_kind(new)}; "
                "use one kind of id"
            )
        together = np.concatenate([self.ids, new]) if len(self) else new
        return StoredRows.trusted(np.concatenate([self.vectors, unit]), together)

    def take(self, rows: NDArray[np.int64]) -> StoredRows:
        """Give some rows, in ascending order; their ranks stay those among all rows."""
        rank = None if self.rank is None else self.rank[rows]
        return StoredRows(self.vectors[rows], self.ids[rows], self.by_id, rank)

    def without(self, ids: ArrayLike) -> StoredRows:
        """Give the rows that are not named; order stays."""
        kept = np.ones(len(self), dtype=np.bool_)
        kept[self.rows_of(ids)] = False
        return StoredRows.trusted(self.vectors[kept], self.ids[kept])

    def rows_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Find the row of each id.

        Raises:
            UnknownId: Some ids are not here; they are named.
        """
        wanted = _as_ids(ids)
        if len(wanted) == 0:
            return np.empty(0, dtype=np.int64)
        if len(self) == 0 or wanted.dtype.kind != self.ids.dtype.kind:
            raise UnknownId(
                f"none of the {len(wanted)} ids is in the index, which holds {len(self)} "
                f"{_kind(self.ids)} ids; asked for: {_shown(wanted)}"
            )
        place = np.searchsorted(self.ids, wanted, sorter=self.by_id)
        row = self.by_id[np.minimum(place, len(self) - 1)]
        missing = wanted[self.ids[row] != wanted]
        if len(missing):
            raise UnknownId(
                f"{len(missing)} of {len(wanted)} ids are not in the index: {_shown(missing)}"
            )
        return row


def unit_vectors(x: VectorLike, what: str, width: int | None = None) -> NDArray[np.float32]:
    """Check vectors and put them on the sphere.

    Args:
        x: Vectors, shape [rows, D].
        what: What they are, for messages ("vectors", "queries").
        width: The D they must have, if one is given already.

    Returns:
        Unit vectors, float32, contiguous, never sharing memory with ``x``.

    Raises:
        ShapeError: Not two-dimensional, or of another width.
        NonFiniteError: Rows with NaN or infinity; they are numbered.
        InputError: Rows of length zero, which have no direction; they are numbered.
    """
    tensor = x.detach().cpu() if isinstance(x, torch.Tensor) else torch.tensor(np.asarray(x))
    if tensor.ndim != 2:
        raise ShapeError(f"{what} must be [rows, width], but have the shape {tuple(tensor.shape)}")
    if width is not None and tensor.shape[1] != width:
        raise ShapeError(
            f"{what} have width {tensor.shape[1]} but the index holds vectors of width {width}; "
            "use the encoder that the index was built with"
        )
    if not tensor.is_floating_point():
        tensor = tensor.to(torch.float64)
    finite = torch.isfinite(tensor).all(dim=1)
    zero = (tensor == 0).all(dim=1)
    faults = _row_faults(what, "NaN or infinity", ~finite)
    faults += _row_faults(what, "length zero, so no direction", zero)
    if faults:
        cause = InputError if bool(finite.all()) else NonFiniteError
        raise cause(f"{join_faults(faults)}; drop or repair these rows")
    return normalize(tensor).to(torch.float32).contiguous().numpy()


def _row_faults(what: str, fault: str, rows: torch.Tensor) -> list[str]:
    numbers = rows.nonzero().reshape(-1).numpy()
    if len(numbers) == 0:
        return []
    return [f"{len(numbers)} rows of {what} have {fault}: rows {_shown(numbers)}"]


def _checked_ids(ids: ArrayLike | None, rows: int) -> IdArray:
    if ids is None:
        return np.arange(rows, dtype=np.int64)
    checked = _as_ids(ids)
    if len(checked) != rows:
        raise ShapeError(f"there are {rows} vectors but {len(checked)} ids; give one id a vector")
    return checked


def _as_ids(ids: ArrayLike) -> IdArray:
    """Give ids as an int64 or str array."""
    array = np.asarray(ids.numpy() if isinstance(ids, torch.Tensor) else ids)
    if array.ndim != 1:
        raise ShapeError(f"ids must be one-dimensional, but have the shape {array.shape}")
    if len(array) == 0:
        return array.astype(np.int64) if array.dtype.kind != "U" else array
    if array.dtype.kind in "iu" and (array.dtype != np.uint64 or array.max() < 1 << 63):
        return array.astype(np.int64)
    if array.dtype.kind == "U":
        return array
    if array.dtype.kind in "OT" and all(isinstance(one, str) for one in array):
        return array.astype(np.str_)
    raise InputError(f"ids must be integers or strings, but are {array.dtype}")


def _kind(ids: IdArray) -> str:
    return "str" if ids.dtype.kind == "U" else "int64"


def _shown(values: Sequence[Any] | NDArray[Any], limit: int = 8) -> str:
    text = ", ".join(str(value) for value in values[:limit])
    return text + (f" and {len(values) - limit} more" if len(values) > limit else "")
