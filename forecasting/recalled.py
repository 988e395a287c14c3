"""What passes between an index of continuations and those who ask it.

In: nothing but arrays. Out: the questions as vectors, the windows that answer with their weights,
and what these add up to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core import ExactIndex
from .matching import ANYTHING
from .panel import Values
from .units import Steps


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The windows up to some origins, as the index is asked about them.

    Attributes:
        vectors: On the unit sphere, [O, D].
        lengths: Of the vectors before they were put there, [O].
        scales: Of the windows, [O].
    """

    vectors: NDArray[np.float32]
    lengths: Values
    scales: Values


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """The nearest windows of some origins, flat, those of one origin together.

    Attributes:
        rows: Their rows in the index.
        weights: Those of one origin sum to one.
        offsets: Where each origin begins, [O + 1].
        scales: Of the windows that ask, [O].
    """

    rows: Steps
    weights: Values
    offsets: Steps
    scales: Values


@dataclass(frozen=True, slots=True, eq=False)
class Recalled:
    """What the past of each origin adds up to, in units of the asking series.

    Attributes:
        future: Weighted continuation, [O, H].
        summary: Weighted summary of the pasts before it, [O, F].
        effective: Effective number of windows, 1 / sum of squared weights, [O].
    """

    future: Values
    summary: Values
    effective: Values


def join_recalled(parts: Sequence[Recalled]) -> Recalled:
    """What several groups of origins recalled, as one."""
    return Recalled(
        np.concatenate([part.future for part in parts]),
        np.concatenate([part.summary for part in parts]),
        np.concatenate([part.effective for part in parts]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Nearest windows, flat, those of one question together.

    Attributes:
        rows, similarity: Of each.
        offsets: Where each question begins, [Q + 1].
    """

    rows: Steps
    similarity: NDArray[np.float32]
    offsets: Steps


def search_alike(
    index: ExactIndex,
    vectors: NDArray[np.float32],
    k: int,
    upto: Steps,
    held: Steps | None,
    wanted: Steps | None,
) -> Found:
    """The k nearest windows of each question among those with its key.

    Args:
        index: Windows.
        vectors: Questions, [Q, D].
        k: How many.
        upto: How many windows each question may see, [Q].
        held: Key of each window, [N]; None where nothing is matched.
        wanted: Key of each question, [Q].
    """
    if held is None or wanted is None:
        found = index.search(vectors, k, upto=upto)
        return Found(found.rows, found.similarity, found.offsets)
    counts = np.zeros(len(vectors), dtype=np.int64)
    parts = []
    for key in np.unique(wanted):
        asking = np.flatnonzero(wanted == key)
        alike = (held == key) | (key == ANYTHING)
        found = index.search(vectors[asking], k, eligible=alike, upto=upto[asking])
        counts[asking] = found.counts
        parts.append((np.repeat(asking, found.counts), found.rows, found.similarity))
    owner, rows, similarity = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(owner, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Found(rows[order], similarity[order], offsets)
