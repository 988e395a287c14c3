"""The exact index: what was seen before, searched by similarity.

In: vectors with ids, and the fingerprint of the encoder that made them. Out: :class:`Neighbours`.
This is the default engine, and the ground truth that other engines are judged by; how it scans is
in ``scan``, what it holds in ``stored_rows``, and what it may be asked in ``engine``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import polars as pl
import torch
from numpy.typing import ArrayLike, NDArray

from ..errors import SettingError
from .engine import METRIC, check_fingerprint, check_metric
from .neighbours import IdArray, Neighbours
from .packing import Packed, pack_rows, unpack_rows
from .saved import SavedIndex
from .scan import Hits, hits_within, top_hits
from .scope import Scope, make_scope
from .stored_rows import StoredRows, VectorLike, unit_vectors


class ExactIndex(SavedIndex):
    """Exact nearest neighbours by cosine: the default, and what other engines are judged by.

    Args:
        vectors: Reference vectors, float [N, D], finite and not zero; they are normalised by the
            library's one ``normalize``. N may be 0.
        ids: Their ids, int64 or str [N], all different. None: 0 .. N-1.
        fingerprint: Of the encoder that made the vectors; others are refused from then on.
        metric: Only "cosine"; named so that a wrong expectation fails here.

    Raises:
        ShapeError: Not [N, D], or another number of ids.
        NonFiniteError: Rows with NaN or infinity, by number.
        InputError: Rows of length zero, by number.
        DuplicateRows: An id that stands twice.
        MetricMismatch: Another metric.

    >>> index = ExactIndex(np.eye(3, dtype=np.float32), ["a", "b", "c"], fingerprint="f")
    >>> ids, similarity = index.search(np.array([[3.0, 4.0, 0.0]]), k=2)[0]
    >>> ids.tolist(), similarity.round(2).tolist()
    (['b', 'a'], [0.800000011920929, 0.6000000238418579])
    """

    kind = "exact-index"

    def __init__(
        self,
        vectors: VectorLike,
        ids: ArrayLike | None = None,
        *,
        fingerprint: str,
        metric: str = METRIC,
    ) -> None:
        check_metric(metric)
        self.stored = StoredRows.of(vectors, ids)
        self._fingerprint = fingerprint

    @classmethod
    def from_units(cls, vectors: NDArray[np.float32], *, fingerprint: str) -> Self:
        """Index vectors that :func:`normalize` made, to the bit as they are and without a copy.

        For large references that are encoded a block at a time into one array, and for rows that
        an index has held before. Rows are called 0 .. N-1.

        Args:
            vectors: Unit vectors, float32 [N, D].
            fingerprint: Of the encoder that made them.

        Raises:
            InputError: Rows that are not of length one, by number.
        """
        index = cls.__new__(cls)
        index.stored, index._fingerprint = StoredRows.of_units(vectors), fingerprint
        return index

    def __len__(self) -> int:
        return len(self.stored)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows of width {self.stored.width}, {METRIC})"

    @property
    def fingerprint(self) -> str:
        """Of the encoder that made the vectors."""
        return self._fingerprint

    @property
    def metric(self) -> str:
        """Always "cosine"."""
        return METRIC

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Unit vectors in the order they were added, float32 [N, D]; read-only."""
        return _read_only(self.stored.vectors)

    @property
    def ids(self) -> IdArray:
        """External ids in the order they were added, [N]; read-only."""
        return _read_only(self.stored.ids)

    def rows_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Find the row of each id; an unknown one raises UnknownId."""
        return self.stored.rows_of(ids)

    def search(
        self,
        queries: VectorLike,
        k: int,
        *,
        eligible: ArrayLike | None = None,
        upto: ArrayLike | None = None,
        fingerprint: str | None = None,
        metric: str = METRIC,
    ) -> Neighbours:
        """Find the k nearest rows of each query.

        The answer for a query does not depend, to the last bit, on the other queries.

        Args:
            queries: float [Q, D], finite and not zero.
            k: How many neighbours, at least 1.
            eligible: Rows that may be answered: bool [N] for all queries, or [Q, N].
            upto: int [Q]; query q sees only the first ``upto[q]`` rows (in order of insertion).
            fingerprint: Of the encoder that made the queries; checked when given.
            metric: Checked against the index's own.

        Returns:
            The neighbours; fewer than k where fewer rows may be answered.

        Raises:
            SettingError: k below 1.
            ShapeError: Another width than the index, or a filter of the wrong shape.
            NonFiniteError: Queries with NaN or infinity, by number.
            StaleIndex: Queries of another encoder.
            MetricMismatch: Another metric.
        """
        if k < 1:
            raise SettingError(f"k is {k}, but a search asks for at least 1 neighbour")
        check_metric(metric)
        unit = self.admit(queries, fingerprint)
        return self.answer(self.nearest(unit, k, make_scope(len(unit), len(self), eligible, upto)))

    def range_search(
        self,
        queries: VectorLike,
        at_least: float,
        *,
        eligible: ArrayLike | None = None,
        upto: ArrayLike | None = None,
        fingerprint: str | None = None,
    ) -> Neighbours:
        """Find every row whose similarity is at least ``at_least``, in [-1, 1], nearest first.

        The other arguments and errors are those of :meth:`search`.
        """
        if not -1.0 <= at_least <= 1.0:
            raise SettingError(f"at_least is {at_least}, but a cosine lies in [-1, 1]")
        unit = self.admit(queries, fingerprint)
        scope = make_scope(len(unit), len(self), eligible, upto)
        seen, rows, scope = self._seen(scope)
        hits = hits_within(unit, rows.vectors, rows.rank, at_least, scope)
        return self.answer(hits if seen is None else hits._replace(rows=seen[hits.rows]))

    def append(self, vectors: VectorLike, ids: ArrayLike, *, fingerprint: str) -> None:
        """Add rows at the end; on any error the index stays as it was.

        Args:
            vectors: float [M, D], finite and not zero.
            ids: Their ids, [M], none of them in the index yet.
            fingerprint: Of the encoder that made them; another one raises StaleIndex.
        """
        self.stale_fraction(fingerprint)
        self.stored = self.stored.extended(vectors, ids)

    def remove(self, ids: ArrayLike) -> None:
        """Take rows out by id; an unknown id raises UnknownId and changes nothing."""
        self.stored = self.stored.without(ids)

    def reindexed(self, vectors: VectorLike, *, fingerprint: str) -> ExactIndex:
        """Give the same ids with a new encoder's vectors [N, D']; this index stays as it is."""
        return ExactIndex(vectors, self.stored.ids, fingerprint=fingerprint)

    def stale_fraction(self, fingerprint: str) -> float:
        """Give the share of rows that another encoder than this one made.

        It is 0, or an error: rows of two encoders never stand in one index.

        Raises:
            StaleIndex: The index was built by another encoder.
        """
        check_fingerprint(self._fingerprint, fingerprint)
        return 0.0

    def pack(self, prefix: str = "index") -> Packed:
        """Take the index apart for a bundle; ``prefix`` keeps two indexes apart."""
        return pack_rows(self.stored, self._fingerprint, prefix)

    @classmethod
    def unpack(
        cls,
        config: Mapping[str, Any],
        tensors: Mapping[str, torch.Tensor],
        tables: Mapping[str, pl.DataFrame],
        prefix: str = "index",
    ) -> Self:
        """Put a packed index together again; it answers to the bit as before."""
        rows, fingerprint = unpack_rows(config, tensors, tables, prefix)
        index = cls.__new__(cls)
        index.stored, index._fingerprint = rows, fingerprint
        return index

    def admit(self, queries: VectorLike, fingerprint: str | None) -> NDArray[np.float32]:
        """Check queries and put them on the sphere."""
        if fingerprint is not None:
            check_fingerprint(self._fingerprint, fingerprint)
        return unit_vectors(queries, "queries", self.stored.width)

    def nearest(self, unit: NDArray[np.float32], k: int, scope: Scope) -> Hits:
        """Search for queries that were admitted before: what engines build on."""
        seen, rows, scope = self._seen(scope)
        hits = top_hits(unit, rows.vectors, rows.rank, k, scope)
        return hits if seen is None else hits._replace(rows=seen[hits.rows])

    def answer(self, hits: Hits) -> Neighbours:
        """Give hits their ids."""
        return Neighbours(self.stored.ids[hits.rows], hits.rows, hits.similarity, hits.offsets)

    def _seen(self, scope: Scope) -> tuple[NDArray[np.int64] | None, StoredRows, Scope]:
        """Leave out the rows that no query may see, where that is one filter for all."""
        if scope.eligible is None or scope.eligible.ndim == 2:
            return None, self.stored, scope
        seen = np.flatnonzero(scope.eligible)
        reach = None if scope.upto is None else np.searchsorted(seen, scope.upto)
        return seen, self.stored.take(seen), Scope(upto=reach)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
