"""The graph under the approximate index: faiss's HNSW, seen through rows instead of places.

In: unit vectors. Out: :class:`Hits` whose similarities were computed anew, so they are equal to
the bit to those of the exact scan. faiss cannot remove from a graph: a removed row stays as a
dead place, which paths may cross and no answer contains, until the graph is built anew.

This is the only module that knows faiss.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
import torch  # before faiss: the other order loads a second OpenMP runtime
from numpy.typing import NDArray

from .scan import Hits, nearest_first, score_pairs
from .scope import Scope
from .stored_rows import StoredRows

_DEAD = -1  # a place without a row; never leaves this module


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """How the graph is built.

    Attributes:
        links: Edges a row (the paper's M).
        build_effort: Candidates looked at for each new row (efConstruction).
        rebuild_at: Share of dead places at which the graph is built anew, in (0, 1].
    """

    links: int = 32
    build_effort: int = 80
    rebuild_at: float = 0.2


class Graph:
    """A graph over rows, some of which may have been removed since."""

    def __init__(self, engine: Any, row_of: NDArray[np.int64]) -> None:
        self._engine = engine
        self._row_of = row_of  # place in the graph -> row of the index

    @classmethod
    def built(cls, vectors: NDArray[np.float32], settings: GraphSettings) -> Self:
        """Build a graph of unit vectors, float32 [N, D]."""
        faiss = load_faiss()
        engine = faiss.IndexHNSWFlat(vectors.shape[1], settings.links, faiss.METRIC_INNER_PRODUCT)
        engine.hnsw.efConstruction = settings.build_effort
        engine.add(vectors)
        return cls(engine, np.arange(len(vectors)))

    @property
    def dead_share(self) -> float:
        """Share of places whose row was removed, in [0, 1]."""
        return float(np.mean(self._row_of == _DEAD))

    def add(self, vectors: NDArray[np.float32]) -> None:
        """Add the rows that follow the present ones."""
        first = int(self._row_of.max(initial=-1)) + 1
        self._engine.add(vectors)
        new = np.arange(first, first + len(vectors))
        self._row_of = np.concatenate([self._row_of, new])

    def without(self, rows: NDArray[np.int64]) -> Graph:
        """Give the same graph with some rows dead and the later ones moved up."""
        living = np.flatnonzero(self._row_of != _DEAD)
        kept = np.ones(len(living), dtype=np.bool_)
        kept[rows] = False
        row_of = np.full_like(self._row_of, _DEAD)
        row_of[living[kept]] = np.arange(int(kept.sum()))
        return Graph(self._engine, row_of)

    def hits(
        self, unit: NDArray[np.float32], stored: StoredRows, k: int, ef: int, scope: Scope
    ) -> Hits:
        """Find up to k rows in scope for each query: nearest first, ties by id, scored exactly.

        Fewer than k come back where the graph did not reach enough rows that are alive and in
        scope; whoever needs all of them asks the exact scan.
        """
        narrowed = scope.eligible is not None or scope.upto is not None
        wanted = 2 * k if narrowed or self.dead_share > 0 else k
        fetch = min(wanted, len(self._row_of))
        settings = load_faiss().SearchParametersHNSW(efSearch=max(ef, fetch))
        _, places = self._engine.search(unit, fetch, params=settings)
        places = places.reshape(-1)
        row = np.where(places < 0, _DEAD, self._row_of[places])
        query = np.repeat(np.arange(len(unit)), fetch)
        alive = row != _DEAD
        if not alive.all() or narrowed:
            query, row = query[alive], row[alive]
            allowed = scope.allows(query, row)
            query, row = query[allowed], row[allowed]
        return _ranked(unit, stored, query, row, k)

    def dump(self) -> dict[str, torch.Tensor]:
        """Give the graph as tensors."""
        memory = load_faiss().serialize_index(self._engine)
        return {"graph": torch.from_numpy(memory), "places": torch.from_numpy(self._row_of)}

    @classmethod
    def restored(cls, graph: torch.Tensor, places: torch.Tensor) -> Self:
        """Make a dumped graph work again."""
        return cls(load_faiss().deserialize_index(graph.numpy()), places.numpy())


@cache
def load_faiss() -> Any:
    """Import faiss, and let it survive a fork, as torch does in ``scan``."""
    import faiss  # noqa: PLC0415 - only whoever uses a graph pays for it

    os.register_at_fork(after_in_child=lambda: faiss.omp_set_num_threads(1))
    return faiss


def _ranked(
    unit: NDArray[np.float32],
    stored: StoredRows,
    query: NDArray[np.int64],
    row: NDArray[np.int64],
    k: int,
) -> Hits:
    """Score pairs exactly, put them in order, and keep the k best of each query."""
    score = score_pairs(unit, stored.vectors, query, row)
    tie = row if stored.rank is None else stored.rank[row]
    order = nearest_first(query, score, tie)
    query, row, score = query[order], row[order], score[order]
    first = np.searchsorted(query, np.arange(len(unit) + 1))
    kept = np.arange(len(query)) - first[query] < k
    offsets = np.concatenate([[0], np.cumsum(np.minimum(np.diff(first), k))])
    return Hits(offsets, row[kept], score[kept])
