"""Ids and rows: the two names that every user and every item has.

In: the ids of a column, strings or whole numbers of any width. Out: a :class:`Vocabulary` that
leads from ids to rows (0, 1, 2 …) and back, without ever changing an id or its type. Matrices and
vectors are addressed by row; only this module knows which id a row stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import ColumnError, DuplicateRows, UnknownId

Ids = Sequence[object] | NDArray[np.generic] | pl.Series


class Vocabulary:
    """The ids of one kind of thing, in a fixed order.

    Args:
        ids: Each id once: strings, or whole numbers of up to 64 bits.
        name: What the ids name, ``"user_id"`` or ``"item_id"``; for error messages.

    Raises:
        DuplicateRows: An id stands twice.
        ColumnError: Ids that are missing, or neither text nor whole numbers.

    >>> items = Vocabulary(["tea", "milk"], "item_id")
    >>> items.rows_of(["milk", "rum"]).tolist(), items.ids_of([0]).to_list()
    ([1, -1], ['tea'])
    """

    def __init__(self, ids: Ids, name: str) -> None:
        self.name = name
        self.ids = as_id_series(ids, name)
        if self.ids.n_unique() != len(self.ids):
            twice = self.ids.filter(self.ids.is_duplicated()).unique(maintain_order=True)
            raise DuplicateRows(
                f"{name}: {len(twice)} ids stand more than once, first {twice[0]!r}; give every "
                f"{name} once"
            )

    @classmethod
    def of_column(cls, column: pl.Series) -> Vocabulary:
        """Make the vocabulary of a column: its distinct ids in sorted order."""
        return cls(as_id_series(column, column.name).unique().sort(), column.name)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} of {self.name}, {self.ids.dtype})"

    def rows_of(self, ids: Ids) -> NDArray[np.int64]:
        """Find the row of each id, int64; -1 marks an id that is not here."""
        asked = self._cast(ids)
        joined = asked.to_frame("id").join(self._table, on="id", how="left", maintain_order="left")
        return joined["row"].fill_null(-1).to_numpy().astype(np.int64)

    def known_rows(self, ids: Ids) -> NDArray[np.int64]:
        """Find the row of each id.

        Raises:
            UnknownId: Ids that are not here, the first few named.
        """
        rows = self.rows_of(ids)
        if len(missing := np.flatnonzero(rows < 0)):
            asked = as_id_series(ids, self.name)
            named = ", ".join(repr(asked[int(place)]) for place in missing[:5])
            raise UnknownId(
                f"{self.name}: {len(missing)} of {len(rows)} ids were never seen ({named}); use "
                "ids of the training data, or choose how unknown ones are answered"
            )
        return rows

    def ids_of(self, rows: Sequence[int] | NDArray[np.int64]) -> pl.Series:
        """Give the ids of rows, in the type they came in."""
        return self.ids.gather(np.asarray(rows, dtype=np.int64)).alias(self.name)

    def extended(self, ids: Ids) -> Vocabulary:
        """Give a vocabulary with further ids at the end; the present ones keep their rows."""
        more = as_id_series(ids, self.name).cast(self.ids.dtype)
        return Vocabulary(pl.concat([self.ids, more]), self.name)

    def _cast(self, ids: Ids) -> pl.Series:
        asked = as_id_series(ids, self.name)
        if asked.dtype == self.ids.dtype or len(asked) == 0:
            return asked.cast(self.ids.dtype)
        if asked.dtype.is_integer() and self.ids.dtype.is_integer():
            # An id too wide for the stored type is unknown, not an overflow.
            return asked.cast(self.ids.dtype, strict=False)
        raise ColumnError(
            f"{self.name}: the ids known are {self.ids.dtype} but {asked.dtype} was asked for "
            f"(first {asked[0]!r}); ask with ids of the type that was fitted"
        )

    @cached_property
    def _table(self) -> pl.DataFrame:
        return pl.DataFrame({"id": self.ids, "row": np.arange(len(self.ids), dtype=np.int64)})


def as_id_series(ids: Ids, name: str) -> pl.Series:
    """Give ids as a polars series of text or whole numbers.

    Raises:
        ColumnError: A missing id, or ids of another type.
    """
    series = ids.alias(name) if isinstance(ids, pl.Series) else pl.Series(name, ids, strict=True)
    if series.dtype == pl.Categorical or isinstance(series.dtype, pl.Enum):
        series = series.cast(pl.String)
    if len(series) == 0 and series.dtype == pl.Null:
        series = series.cast(pl.Int64)
    if not (series.dtype == pl.String or series.dtype.is_integer()):
        raise ColumnError(
            f"{name} holds {series.dtype}, but ids are text or whole numbers; cast the column "
            "(a float id has usually lost its integer type to a missing value)"
        )
    if series.null_count():
        first = int(series.is_null().arg_max() or 0)
        raise ColumnError(
            f"{name}: {series.null_count()} ids are missing, first in row {first}; remove those "
            "rows or fill the id"
        )
    return series
