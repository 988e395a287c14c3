"""Co-occurrence: what people who took the same things took, in closed form.

In: histories of the training users. Out: scores of all items for any history, and the items that
go with an item. An item is reached over users both share; how much a busy user, a popular item of
the history and a popular candidate count is three exponents, chosen on validation data. There is
nothing to train, so it is ready in seconds and follows every new event.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..core import SettingError
from .histories import Histories, Rows

_BLOCK = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class CooccurrenceSettings:
    """How much what counts.

    Attributes:
        user_exponent: A shared user with n items counts ``n ** -user_exponent``.
        history_exponent: An item of the history with n users counts ``n ** -history_exponent``.
        candidate_exponent: A candidate with n users counts ``n ** -candidate_exponent``; smaller
            lets bestsellers through.
        neighbours: Candidates kept an item, the strongest; bounds the memory.
    """

    user_exponent: float = 0.8
    history_exponent: float = 0.6
    candidate_exponent: float = 0.3
    neighbours: int = 2000

    def __post_init__(self) -> None:
        if self.neighbours < 1:
            raise SettingError(f"neighbours is {self.neighbours}; keep 1 candidate an item or more")


class Cooccurrence:
    """Score items by the users they share with a history.

    Args:
        histories: What each training user took.
        settings: The exponents; None for the usual ones.

    Source: the linear part of GF-CF (arXiv 2108.07567, eq. 9) is all exponents at 1, 1/2, 1/2;
    freeing them and truncating the rows is ours.

    >>> histories = Histories.of([[0, 1], [0, 1, 2], [2]], width=3)
    >>> source = Cooccurrence(histories)
    >>> scores = source.score(Histories.of([[0]], width=3))[0]
    >>> bool(scores[1] > scores[2] > 0)
    True
    """

    name = "cooccurrence"

    def __init__(self, histories: Histories, settings: CooccurrenceSettings | None = None) -> None:
        self.settings = settings = CooccurrenceSettings() if settings is None else settings
        matrix = histories.matrix
        matrix.data[:] = 1.0
        self.item_users = np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)
        shares = _scale(np.diff(matrix.indptr), -settings.user_exponent)
        candidates = _scale(self.item_users, -settings.candidate_exponent)
        weighted = (sparse.diags(shares) @ matrix @ sparse.diags(candidates)).tocsr()
        self.history_scale = _scale(self.item_users, -settings.history_exponent)
        self.links = _link(matrix.T.tocsr(), weighted, settings.neighbours)
        """csr float32 [I, I]: what one event with a row's item says for each candidate."""

    def score(self, histories: Histories) -> NDArray[np.float32]:
        """Score all items for B histories, float32 [B, I]; 0 where no user links them."""
        asked = histories.matrix
        asked.data *= self.history_scale[asked.indices]
        return np.asarray((asked @ self.links).toarray(), dtype=np.float32)

    def rescaled(self, settings: CooccurrenceSettings) -> Cooccurrence:
        """Give the same links under other exponents of history and candidate.

        Which links are kept, and the user exponent, stay those of this source.
        """
        other = copy.copy(self)
        other.settings = settings
        other.history_scale = _scale(self.item_users, -settings.history_exponent)
        change = self.settings.candidate_exponent - settings.candidate_exponent
        other.links = (self.links @ sparse.diags(_scale(self.item_users, change))).tocsr()
        return other

    def widen_(self, count: int) -> None:
        """Make room for ``count`` further items that nobody took."""
        width = self.links.shape[0] + count
        self.links.resize((width, width))
        self.history_scale = np.pad(self.history_scale, (0, count))
        self.item_users = np.pad(self.item_users, (0, count))

    def related(self, rows: Rows) -> NDArray[np.float32]:
        """Score all items as companions of single items, float32 [B, I]; an item itself is -inf."""
        scores = np.asarray(self.links[rows].toarray(), dtype=np.float32)
        scores[scores == 0] = -np.inf
        scores[np.arange(len(rows)), rows] = -np.inf
        return scores

    def brought_by(self, history: Rows, candidate: int) -> NDArray[np.float32]:
        """Tell how much each item of a history speaks for a candidate, float32 [len(history)]."""
        column = self.links[history][:, [candidate]].toarray().ravel()
        return np.asarray(column * self.history_scale[history], dtype=np.float32)


def _scale(counts: NDArray[np.int64], exponent: float) -> NDArray[np.float32]:
    """Counts ** exponent, and 0 where there is nothing to count."""
    return np.where(counts > 0, np.maximum(counts, 1).astype(np.float64) ** exponent, 0.0).astype(
        np.float32
    )


def _link(
    by_item: sparse.csr_matrix, weighted: sparse.csr_matrix, neighbours: int
) -> sparse.csr_matrix:
    """Multiply in blocks of items and keep the strongest links of each."""
    blocks = [
        _strongest((by_item[start : start + _BLOCK] @ weighted).tocsr(), neighbours)
        for start in range(0, by_item.shape[0], _BLOCK)
    ]
    return sparse.vstack(blocks, format="csr")


def _strongest(block: sparse.csr_matrix, kept: int) -> sparse.csr_matrix:
    """Keep the largest entries of each row; of equal ones at the bar, those of smaller columns."""
    block.sort_indices()
    strong = np.ones(block.nnz, dtype=bool)
    for start, stop in zip(block.indptr[:-1], block.indptr[1:], strict=True):
        if stop - start > kept:
            values = block.data[start:stop]
            bar = np.partition(values, len(values) - kept)[len(values) - kept]
            above = values > bar
            level = np.flatnonzero(values == bar)[: kept - int(above.sum())]
            above[level] = True
            strong[start:stop] = above
    owners = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    counts = np.bincount(owners[strong], minlength=block.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_matrix((block.data[strong], block.indices[strong], indptr), block.shape)
