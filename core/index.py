"""The index: what was seen before, searched by similarity.

In: vectors with ids, and the fingerprint of the encoder that made them. Out: :class:`Neighbours`.
:class:`ExactIndex` is the default and the ground truth; :class:`VectorIndex` is the contract that
every engine keeps: same signature, larger similarity = nearer, ties by id, filters exact, shorter
answers instead of filler, and never an answer for vectors of another encoder.

A new engine is a class that keeps this contract and passes the same tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, Protocol, Self

import numpy as np
import polars as pl
import torch
from numpy.typing import ArrayLike, NDArray

from .bundle import load_bundle, save_bundle
from .errors import MetricMismatch, SettingError, StaleIndex
from .neighbours import IdArray, Neighbours
from .packing import PackedIndex, pack_rows, unpack_rows
from .scan import Hits, hits_within, top_hits
from .scope import Scope, make_scope
from .stored_rows import StoredRows, VectorLike, unit_vectors

METRIC = "cosine"
"""The one metric. On the sphere, inner product and Euclidean distance rank the same way."""


class VectorIndex(Protocol):
    """What every index engine can do; see :class:`ExactIndex` for the meaning of each argument."""

    @property
    def fingerprint(self) -> str:
        """Of the encoder that made the vectors."""

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Unit vectors, float32 [N, D]."""

    @property
    def ids(self) -> IdArray:
        """External ids, [N]."""

    def __len__(self) -> int: ...

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
        """Find the k nearest rows of each query."""

    def stale_fraction(self, fingerprint: str) -> float:
        """Give the share of rows that another encoder made: 0, or an error."""

    def rows_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Find the row of each id."""


class ExactIndex:
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

    def __init__(
        self,
        vectors: VectorLike,
        ids: ArrayLike | None = None,
        *,
        fingerprint: str,
        metric: str = METRIC,
    ) -> None:
        check_metric(metric)
        self._rows = StoredRows.of(vectors, ids)
        self._fingerprint = fingerprint

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows of width {self._rows.width}, {METRIC})"

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
        return _read_only(self._rows.vectors)

    @property
    def ids(self) -> IdArray:
        """External ids in the order they were added, [N]; read-only."""
        return _read_only(self._rows.ids)

    def rows_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Find the row of each id; an unknown one raises UnknownId."""
        return self._rows.rows_of(ids)

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
        vectors, rank, scope, back = self._view(len(unit), eligible, upto)
        return self.answer(top_hits(unit, vectors, rank, k, scope), back)

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
        vectors, rank, scope, back = self._view(len(unit), eligible, upto)
        return self.answer(hits_within(unit, vectors, rank, at_least, scope), back)

    def append(self, vectors: VectorLike, ids: ArrayLike, *, fingerprint: str) -> None:
        """Add rows at the end; on any error the index stays as it was.

        Args:
            vectors: float [M, D], finite and not zero.
            ids: Their ids, [M], none of them in the index yet.
            fingerprint: Of the encoder that made them; another one raises StaleIndex.
        """
        self.stale_fraction(fingerprint)
        self._rows = self._rows.extended(vectors, ids)

    def remove(self, ids: ArrayLike) -> None:
        """Take rows out by id; an unknown id raises UnknownId and changes nothing."""
        self._rows = self._rows.without(ids)

    def stale_fraction(self, fingerprint: str) -> float:
        """Give the share of rows that another encoder than this one made.

        It is 0, or an error: rows of two encoders never stand in one index.

        Raises:
            StaleIndex: The index was built by another encoder.
        """
        check_fingerprint(self._fingerprint, fingerprint)
        return 0.0

    def pack(self, prefix: str = "index") -> PackedIndex:
        """Take the index apart for a bundle; ``prefix`` keeps two indexes apart."""
        return pack_rows(self._rows, self._fingerprint, prefix)

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
        index._rows, index._fingerprint = rows, fingerprint
        return index

    def save(self, path: str | PathLike[str]) -> None:
        """Save the index alone as a bundle of kind "exact-index"."""
        parts = self.pack()
        save_bundle(
            path,
            kind="exact-index",
            config=parts.config,
            tensors=parts.tensors,
            tables=parts.tables,
            fingerprint=self._fingerprint,
        )

    @classmethod
    def load(cls, path: str | PathLike[str], *, fingerprint: str | None = None) -> Self:
        """Load a saved index; vectors of another encoder than ``fingerprint`` raise StaleIndex."""
        bundle = load_bundle(path, kind="exact-index")
        index = cls.unpack(bundle.config, bundle.tensors, bundle.tables)
        if fingerprint is not None:
            index.stale_fraction(fingerprint)
        return index

    def admit(self, queries: VectorLike, fingerprint: str | None) -> NDArray[np.float32]:
        """Check queries and put them on the sphere."""
        if fingerprint is not None:
            check_fingerprint(self._fingerprint, fingerprint)
        return unit_vectors(queries, "queries", self._rows.width)

    def answer(self, hits: Hits, back: NDArray[np.int64] | None = None) -> Neighbours:
        """Give hits their ids; ``back`` leads from the rows searched to the rows of the index."""
        rows = hits.rows if back is None else back[hits.rows]
        return Neighbours(self._rows.ids[rows], rows, hits.similarity, hits.offsets)

    def _view(
        self, queries: int, eligible: ArrayLike | None, upto: ArrayLike | None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64] | None, Scope, NDArray[np.int64] | None]:
        """Give (vectors, rank, scope, way back) of the rows that anyone may see."""
        scope = make_scope(queries, len(self), eligible, upto)
        if scope.eligible is None or scope.eligible.ndim == 2:
            return self._rows.vectors, self._rows.rank, scope, None
        seen = np.flatnonzero(scope.eligible)
        rank = None if self._rows.rank is None else self._rows.rank[seen]
        reach = None if scope.upto is None else np.searchsorted(seen, scope.upto).astype(np.int64)
        return self._rows.vectors[seen], rank, Scope(upto=reach), seen


def check_metric(metric: str) -> None:
    """Refuse any metric but the one there is."""
    if metric != METRIC:
        raise MetricMismatch(
            f"the metric is {METRIC!r} but {metric!r} was asked for; on unit vectors inner product "
            "and Euclidean distance give the same order, so ask for 'cosine' and convert the "
            "similarities, knowingly, where another scale is needed"
        )


def check_fingerprint(held: str, given: str) -> None:
    """Refuse vectors of another encoder than the index was built with."""
    if held != given:
        raise StaleIndex(
            f"the index was built by the encoder {held[:12]}… but the vectors come from "
            f"{given[:12]}…; build a new index from vectors of the encoder in use"
        )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
