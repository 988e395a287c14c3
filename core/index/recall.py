"""Recall: how much of the exact answer an index gives.

In: an index and queries it has not seen. Out: recall@k in [0, 1], against the exact scan over the
index's own vectors. What the index *says* about its answers is not believed: every answered row is
scored anew, so a lossy index cannot praise itself; and a row as near as the k-th counts, whatever
its id, so ties cost nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import TooFewRows
from .engine import VectorIndex
from .scan import Hits, score_pairs, top_hits
from .scope import Scope
from .stored_rows import StoredRows, VectorLike, unit_vectors

TIE = 1e-6
"""Similarities this close are the same for recall: a few roundings of float32."""


def measure_recall(index: VectorIndex, queries: VectorLike, k: int = 10) -> float:
    """Measure recall@k of an index against the exact answer.

    Args:
        index: Any engine.
        queries: Held-out vectors, float [Q, D], Q at least 1.
        k: Neighbours a query.

    Returns:
        Mean share of the exact k that were found, in [0, 1]; 1 for :class:`ExactIndex`.

    Raises:
        TooFewRows: No query, or an empty index.
    """
    unit = unit_vectors(queries, "queries", index.vectors.shape[1])
    stored = StoredRows.trusted(np.array(index.vectors), np.array(index.ids))
    found = index.search(unit, k)
    hits = Hits(found.offsets, found.rows, found.similarity)
    return recall_against(exact_hits(stored, unit, k), hits, stored, unit)


def exact_hits(stored: StoredRows, unit: NDArray[np.float32], k: int) -> Hits:
    """Give the exact answer to held-out queries."""
    if len(unit) == 0 or len(stored) == 0:
        raise TooFewRows(
            f"recall needs queries and rows, but there are {len(unit)} queries and {len(stored)} "
            "rows; hold some vectors out, and fill the index first"
        )
    return top_hits(unit, stored.vectors, stored.rank, k, Scope())


def recall_against(
    truth: Hits, found: Hits, stored: StoredRows, unit: NDArray[np.float32]
) -> float:
    """Judge an answer by scoring its rows anew against the k-th exact similarity."""
    wanted = np.diff(truth.offsets)
    kth = truth.similarity[truth.offsets[1:] - 1]
    query = np.repeat(np.arange(len(wanted)), np.diff(found.offsets))
    pairs = np.unique(np.stack([query, found.rows], axis=1), axis=0)
    score = score_pairs(unit, stored.vectors, pairs[:, 0], pairs[:, 1])
    good = pairs[score >= kth[pairs[:, 0]] - TIE, 0]
    hits = np.minimum(np.bincount(good, minlength=len(wanted)), wanted)
    return float(np.mean(hits / wanted))
