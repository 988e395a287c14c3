"""HNSW: an approximate index that has to earn its place.

In: vectors with ids, and held-out queries. Out: the same answers in the same form as
:class:`ExactIndex`, most of them. A fixed search effort means nothing (one setting gave a recall
of 0.98 on clustered and 0.49 on isotropic vectors), so an index exists only after its recall gate:
the smallest effort that reaches the target is found, kept and saved, or building fails.

Worth its memory from about 1e5 rows; ``gate_.speedup`` says by how much. The graph is faiss's
(Malkov & Yashunin, arXiv 1603.09320); ids, removals, filters and the gate are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Self

import numpy as np
import polars as pl
import torch
from numpy.typing import ArrayLike, NDArray

from ..errors import BundleFormatError, SettingError, TooFewRows
from .engine import METRIC, check_metric
from .exact import ExactIndex
from .gate import GateReport, RecallGate, pass_gate
from .graph import Graph, GraphSettings
from .neighbours import IdArray, Neighbours
from .packing import Packed
from .saved import SavedIndex
from .scan import Hits
from .scope import Scope, make_scope
from .stored_rows import StoredRows, VectorLike, unit_vectors


class HNSWIndex(SavedIndex):
    """Approximate nearest neighbours by cosine, behind a recall gate.

    A graph built by several threads differs from run to run (faiss); its gate always belongs to
    the graph that serves.

    Args:
        vectors: Reference vectors, float [N, D], as for :class:`ExactIndex`; N at least 1.
        ids: Their ids, int64 or str [N]. None: 0 .. N-1.
        fingerprint: Of the encoder that made the vectors.
        probes: Held-out queries for the gate, float [Q, D], at least ``gate.min_queries``: from
            the same encoder, but not rows of the index.
        gate: What the index must reach.
        settings: How the graph is built.
        metric: Only "cosine".

    Attributes:
        gate_: The :class:`GateReport`.

    Raises:
        RecallGateFailed: No effort reached the target; use :class:`ExactIndex`.
        TooFewRows: Too few probes, or no vectors.
    """

    kind = "hnsw-index"

    def __init__(
        self,
        vectors: VectorLike,
        ids: ArrayLike | None = None,
        *,
        fingerprint: str,
        probes: VectorLike,
        gate: RecallGate | None = None,
        settings: GraphSettings | None = None,
        metric: str = METRIC,
    ) -> None:
        check_metric(metric)
        self.gate = RecallGate() if gate is None else gate
        self.settings = GraphSettings() if settings is None else settings
        self._exact = ExactIndex(vectors, ids, fingerprint=fingerprint)
        self._probes = unit_vectors(probes, "probes", self._exact.stored.width)
        if len(self._probes) < self.gate.min_queries or len(self) == 0:
            raise TooFewRows(
                f"the recall gate needs {self.gate.min_queries} held-out queries and a filled "
                f"index, but there are {len(self._probes)} and {len(self)} rows; hold more out, "
                "or use ExactIndex"
            )
        self._graph = Graph.built(self._exact.stored.vectors, self.settings)
        self.gate_ = self._judge(self._exact.stored, self._graph)

    def __len__(self) -> int:
        return len(self._exact)

    def __repr__(self) -> str:
        return f"HNSWIndex({len(self)} rows, ef={self.ef}, recall={self.gate_.recall:.3f})"

    @property
    def ef(self) -> int:
        """Search effort chosen by the gate."""
        return self.gate_.ef

    @property
    def fingerprint(self) -> str:
        """Of the encoder that made the vectors."""
        return self._exact.fingerprint

    @property
    def metric(self) -> str:
        """Always "cosine"."""
        return METRIC

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Unit vectors in the order they were added, float32 [N, D]; read-only."""
        return self._exact.vectors

    @property
    def ids(self) -> IdArray:
        """External ids in the order they were added, [N]; read-only."""
        return self._exact.ids

    def rows_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Find the row of each id; an unknown one raises UnknownId."""
        return self._exact.rows_of(ids)

    def stale_fraction(self, fingerprint: str) -> float:
        """Give 0, or raise StaleIndex: see :meth:`ExactIndex.stale_fraction`."""
        return self._exact.stale_fraction(fingerprint)

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
        """Find (almost always) the k nearest rows of each query.

        Arguments, returns and errors are those of :meth:`ExactIndex.search`. Similarities are
        exact. Filters are exact too: no row out of scope is answered, and a query for which the
        graph finds fewer than k rows in scope is answered by the exact scan.
        """
        if k < 1:
            raise SettingError(f"k is {k}, but a search asks for at least 1 neighbour")
        check_metric(metric)
        unit = self._exact.admit(queries, fingerprint)
        scope = make_scope(len(unit), len(self), eligible, upto)
        k = min(k, max(len(self), 1))
        # The gate vouches for its own k; a larger one is searched with proportionally more effort.
        effort = self.ef * max(k, self.gate.k) // self.gate.k
        hits = self._graph.hits(unit, self._exact.stored, k, effort, scope)
        short = np.flatnonzero(np.diff(hits.offsets) < k)
        if len(short):
            hits = _patched(hits, short, self._exact.nearest(unit[short], k, scope.part(short)))
        return self._exact.answer(hits)

    def range_search(
        self,
        queries: VectorLike,
        at_least: float,
        *,
        eligible: ArrayLike | None = None,
        upto: ArrayLike | None = None,
        fingerprint: str | None = None,
    ) -> Neighbours:
        """Find every row at least this similar, by the exact scan: a graph cannot promise all."""
        return self._exact.range_search(
            queries, at_least, eligible=eligible, upto=upto, fingerprint=fingerprint
        )

    def append(self, vectors: VectorLike, ids: ArrayLike, *, fingerprint: str) -> None:
        """Add rows at the end, as :meth:`ExactIndex.append`; on any error nothing changes.

        The effort stays what the gate chose; after much growth, ask :meth:`regate`.
        """
        self.stale_fraction(fingerprint)
        stored = self._exact.stored.extended(vectors, ids)
        self._graph.add(stored.vectors[len(self) :])
        self._exact.stored = stored

    def remove(self, ids: ArrayLike) -> None:
        """Take rows out by id; on any error nothing changes.

        Once enough rows are gone (``settings.rebuild_at``), the graph is built and judged anew,
        which can raise RecallGateFailed.
        """
        stored = self._exact.stored.without(ids)
        graph, report = self._graph.without(self.rows_of(ids)), self.gate_
        if len(stored) and graph.dead_share >= self.settings.rebuild_at:
            graph = Graph.built(stored.vectors, self.settings)
            report = self._judge(stored, graph)
        self._exact.stored, self._graph, self.gate_ = stored, graph, report

    def regate(self) -> GateReport:
        """Judge the index as it is now, keep the new effort, and give the report.

        Raises:
            RecallGateFailed: The target is out of reach; the old effort stays.
        """
        self.gate_ = self._judge(self._exact.stored, self._graph)
        return self.gate_

    def reindexed(self, vectors: VectorLike, *, fingerprint: str, probes: VectorLike) -> HNSWIndex:
        """Give the same ids with the vectors [N, D'] of a new encoder.

        This index stays as it is, so it can serve until the new one has passed its gate.
        """
        return HNSWIndex(
            vectors,
            self.ids,
            fingerprint=fingerprint,
            probes=probes,
            gate=self.gate,
            settings=self.settings,
        )

    def pack(self, prefix: str = "index") -> Packed:
        """Take the index apart for a bundle; ``prefix`` keeps two indexes apart."""
        parts = self._exact.pack(prefix)
        judged = {name: asdict(one) for name, one in self._judged().items()}
        graph = {f"{prefix}.{name}": one for name, one in self._graph.dump().items()}
        probes = {f"{prefix}.probes": torch.from_numpy(self._probes)}
        return Packed(
            config=parts.config | {f"{prefix}.hnsw": judged},
            tensors=parts.tensors | graph | probes,
            tables=parts.tables,
        )

    @classmethod
    def unpack(
        cls,
        config: Mapping[str, Any],
        tensors: Mapping[str, torch.Tensor],
        tables: Mapping[str, pl.DataFrame],
        prefix: str = "index",
    ) -> Self:
        """Put a packed index together again: same graph, same effort, same answers."""
        index = cls.__new__(cls)
        index._exact = ExactIndex.unpack(config, tensors, tables, prefix)
        try:
            judged = config[f"{prefix}.hnsw"]
            index._graph = Graph.restored(tensors[f"{prefix}.graph"], tensors[f"{prefix}.places"])
            index._probes = tensors[f"{prefix}.probes"].numpy()
            index.gate = RecallGate(**judged["gate"])
            index.settings = GraphSettings(**judged["settings"])
            tried = tuple((ef, recall) for ef, recall in judged["report"]["tried"])
            index.gate_ = GateReport(**judged["report"] | {"tried": tried})
        except KeyError as missing:
            raise BundleFormatError(f"the bundle holds no graph: {missing} is missing") from missing
        return index

    def _judge(self, stored: StoredRows, graph: Graph) -> GateReport:
        """Send a graph through the gate."""
        k = min(self.gate.k, len(stored))

        def search(unit: NDArray[np.float32], ef: int) -> Hits:
            return graph.hits(unit, stored, k, ef, Scope())

        return pass_gate(self.gate, search, stored, self._probes)

    def _judged(self) -> dict[str, RecallGate | GraphSettings | GateReport]:
        return {"gate": self.gate, "settings": self.settings, "report": self.gate_}


def _patched(hits: Hits, queries: NDArray[np.int64], better: Hits) -> Hits:
    """Put the answers of some queries in place of the old ones."""
    counts = np.diff(hits.offsets)
    query = np.repeat(np.arange(len(counts)), counts)
    kept = ~np.isin(query, queries)
    counts[queries] = np.diff(better.offsets)
    query = np.concatenate([query[kept], np.repeat(queries, np.diff(better.offsets))])
    order = np.argsort(query, kind="stable")
    row = np.concatenate([hits.rows[kept], better.rows])[order]
    score = np.concatenate([hits.similarity[kept], better.similarity])[order]
    return Hits(np.concatenate([[0], np.cumsum(counts)]), row, score)
