"""Baselines: what a team would use otherwise, on the same events, for the same evaluator.

In: interactions. Out: candidates in the one format, whoever made them: the bestseller list, five
models of ``implicit`` and EASE. What implicit pads (item 0, scores of -3.4e38) is taken off before
anything is counted. Another baseline is a class with ``name`` and ``candidates``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..core import SettingError
from .interactions import Interactions
from .linear import LinearItems, LinearSettings
from .popularity import Popularity
from .ranking import Ranked, rank_rows

ImplicitKind: TypeAlias = Literal["als", "bpr", "bm25", "tfidf", "cosine"]

_NO_SCORE = -1e30  # implicit marks what it filtered with the lowest float32
_BATCH = 512
_MOST_EASE_ITEMS = 20_000


class Baseline(Protocol):
    """What stands beside the generator in a comparison."""

    @property
    def name(self) -> str:
        """How tables name it."""
        ...

    def candidates(self, interactions: Interactions, k: int) -> pl.DataFrame:
        """Fit and give ``user_id, item_id, score, rank`` for all users, seen items left out."""
        ...


@dataclass(frozen=True, slots=True)
class Bestsellers:
    """What most people took, the same for everybody but for what each has already."""

    name: str = "bestsellers"

    def candidates(self, interactions: Interactions, k: int) -> pl.DataFrame:
        """Give the candidates of all users."""
        source = Popularity(interactions.item_counts)
        return _from_scores(interactions, source.score, k)


@dataclass(frozen=True, slots=True)
class ImplicitModel:
    """A model of the ``implicit`` library.

    Attributes:
        kind: Which one.
        factors: Width of ``als`` and ``bpr``.
        iterations: Passes of ``als`` and ``bpr``.
        regularization: Of ``als`` and ``bpr``.
        neighbours: Neighbours kept an item by ``bm25``, ``tfidf`` and ``cosine``.
        seed: Of ``als``; ``bpr`` is not reproducible whatever the seed.
    """

    kind: ImplicitKind
    factors: int = 128
    iterations: int = 15
    regularization: float = 0.05
    neighbours: int = 100
    seed: int = 0

    @property
    def name(self) -> str:
        """How tables name it."""
        return f"implicit {self.kind}"

    def fit(self, matrix: sparse.csr_matrix) -> Any:
        """Fit the model on a csr matrix [U, I]; give implicit's own object."""
        with threadpool_limits(1, "blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = self._build()
            model.fit(matrix, show_progress=False)
        return model

    def candidates(self, interactions: Interactions, k: int) -> pl.DataFrame:
        """Give the candidates of all users."""
        matrix = interactions.matrix
        model = self.fit(matrix)
        users = np.arange(matrix.shape[0])
        parts = []
        with threadpool_limits(1, "blas"):
            for start in range(0, len(users), _BATCH):
                rows = users[start : start + _BATCH]
                items, scores = model.recommend(rows, matrix[rows], N=k)
                parts.append(_without_padding(interactions, rows, items, scores, matrix))
        return pl.concat(parts)

    def _build(self) -> Any:
        from implicit.als import AlternatingLeastSquares  # noqa: PLC0415
        from implicit.bpr import BayesianPersonalizedRanking  # noqa: PLC0415
        from implicit.nearest_neighbours import (  # noqa: PLC0415
            BM25Recommender,
            CosineRecommender,
            TFIDFRecommender,
        )

        near = {"bm25": BM25Recommender, "tfidf": TFIDFRecommender, "cosine": CosineRecommender}
        if self.kind in near:
            return near[self.kind](K=self.neighbours)
        settings = {
            "factors": self.factors,
            "iterations": self.iterations,
            "regularization": self.regularization,
            "random_state": self.seed,
        }
        if self.kind == "als":
            return AlternatingLeastSquares(**settings, alpha=10.0, use_gpu=False)
        if self.kind == "bpr":
            return BayesianPersonalizedRanking(**settings | {"iterations": 100}, use_gpu=False)
        raise SettingError(f"kind is {self.kind!r}; implicit has als, bpr, bm25, tfidf and cosine")


@dataclass(frozen=True, slots=True)
class Ease:
    """EASE: one linear model of all items on all others, in closed form.

    Attributes:
        regularization: Added to the diagonal of the item-item matrix.

    Source: Steck, WWW 2019, eq. 8.
    """

    regularization: float = 200.0
    name: str = "EASE"

    def candidates(self, interactions: Interactions, k: int) -> pl.DataFrame:
        """Give the candidates of all users.

        Raises:
            SettingError: More items than a dense item-item matrix should have.
        """
        settings = LinearSettings(regularisation=self.regularization, most_items=_MOST_EASE_ITEMS)
        source = LinearItems(interactions.histories, settings)
        return _from_scores(interactions, source.score, k)


def usual_baselines(items: int, *, seed: int = 0) -> Sequence[Baseline]:
    """Give the baselines of a comparison; EASE only where the catalogue allows it."""
    models: list[Baseline] = [Bestsellers()]
    kinds: tuple[ImplicitKind, ...] = ("cosine", "tfidf", "bm25", "als", "bpr")
    models += [ImplicitModel(kind, seed=seed) for kind in kinds]
    return [*models, Ease()] if items <= _MOST_EASE_ITEMS else models


def _from_scores(interactions: Interactions, score: Any, k: int) -> pl.DataFrame:
    parts = []
    for start in range(0, len(interactions.users), _BATCH):
        histories = interactions.histories.take(slice(start, start + _BATCH))
        scores = score(histories)
        scores[histories.owners, histories.items] = -np.inf
        ranked = rank_rows(scores, k)
        parts.append(_tell(interactions, ranked, start))
    return pl.concat(parts)


def _without_padding(
    interactions: Interactions,
    rows: NDArray[np.int64],
    items: NDArray[np.int32],
    scores: NDArray[np.float32],
    matrix: sparse.csr_matrix,
) -> pl.DataFrame:
    """Take off what implicit adds to fill a list: -1, filtered items, item 0 with a score of 0."""
    listed = (items >= 0) & (scores > _NO_SCORE) & (scores != 0)
    seen = matrix[rows].astype(bool).toarray()
    listed &= ~np.take_along_axis(seen, np.maximum(items, 0), axis=1)
    counts = listed.sum(axis=1)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    ranked = Ranked(offsets, items[listed].astype(np.int64), scores[listed])
    return _tell(interactions, ranked, int(rows[0]))


def _tell(interactions: Interactions, ranked: Ranked, start: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "user_id": interactions.users.ids_of(ranked.owners + start),
            "item_id": interactions.items.ids_of(ranked.items),
            "score": ranked.scores,
            "rank": ranked.ranks.astype(np.int32),
        }
    )
