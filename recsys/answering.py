"""Answering: histories in, candidates with ids, ranks, sources and statuses out.

The one path that users, sessions, fallbacks and jobs share. Scores are made for a batch of a
bounded number of cells at a time, so memory does not grow with the number of users asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import SettingError
from .candidates import Candidates, empty_frame, name_status
from .events import like_native
from .filters import Filters
from .histories import Histories
from .popularity import Popularity
from .ranking import Ranked, rank_rows
from .sources import Blend, Proposal
from .vocabulary import Vocabulary

_CELLS = 1 << 23
"""Scores held at a time: 32 MiB a source."""
_MOST_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked of a generator.

    Attributes:
        asked: Ids of users or sessions, each once; the name of the series names the column.
        histories: One history an id; empty where nothing is known.
        filters: Which items may be shown.
        k: Candidates each at most.
        fallback: Whether ids with an empty history get what most people took.
    """

    asked: pl.Series
    histories: Histories
    filters: Filters
    k: int
    fallback: bool

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SettingError(f"k is {self.k}, but a request asks for at least 1 candidate")

    def part(self, rows: slice) -> Request:
        """Cut the request to some of its ids."""
        return Request(
            self.asked[rows.start : rows.stop],
            self.histories.take(rows),
            self.filters,
            self.k,
            self.fallback,
        )


@dataclass(frozen=True, eq=False)
class Answerer:
    """A blend of sources over one catalogue.

    Attributes:
        items: Ids of the catalogue.
        blend: Who proposes.
        popularity: Who answers for the unknown.
        native: A table of the kind that answers should be given in.
    """

    items: Vocabulary
    blend: Blend
    popularity: Popularity
    native: Any

    def answer(self, request: Request) -> Candidates:
        """Answer a request, batch by batch."""
        asked = request.asked
        parts = [self._answer_batch(request.part(rows)) for rows in self._batches(len(asked))]
        frames = [empty_frame(asked.dtype, self.items.ids.dtype, asked.name)]
        frames += [frame for frame, _ in parts]
        counts = np.concatenate([np.zeros(0, dtype=np.int64), *(count for _, count in parts)])
        known = request.histories.lengths > 0
        statuses = [
            name_status(count, request.k, known=is_known)
            for count, is_known in zip(counts.tolist(), known.tolist(), strict=True)
        ]
        table = pl.DataFrame(
            {
                asked.name: asked,
                "status": pl.Series(statuses, dtype=pl.String),
                "candidates": counts,
            }
        )
        return Candidates(like_native(pl.concat(frames), self.native), table, request.k)

    def _answer_batch(self, request: Request) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        proposal = self._propose(request)
        ranked = proposal.ranked
        frame = pl.DataFrame(
            {
                request.asked.name: request.asked.gather(ranked.owners),
                "item_id": self.items.ids_of(ranked.items),
                "score": ranked.scores,
                "rank": ranked.ranks.astype(np.int32),
                "source": pl.Series(proposal.source.tolist(), dtype=pl.String),
            }
        )
        return frame, ranked.counts

    def _propose(self, request: Request) -> Proposal:
        histories = request.histories
        unknown = histories.lengths == 0

        def rule_out_known_(scores: NDArray[np.float32]) -> None:
            request.filters.rule_out_(scores, request.asked, histories)
            scores[unknown] = -np.inf

        proposal = self.blend.propose(histories, rule_out_known_, request.k)
        if not (request.fallback and unknown.any()):
            return proposal
        scores = self.popularity.score(histories)
        request.filters.rule_out_(scores, request.asked, histories)
        scores[~unknown] = -np.inf
        return _join(proposal, rank_rows(scores, request.k), self.popularity.name)

    def _batches(self, count: int) -> Iterator[slice]:
        size = max(1, min(_MOST_ROWS, _CELLS // max(len(self.items), 1)))
        return (slice(start, min(start + size, count)) for start in range(0, count, size))


def _join(proposal: Proposal, fallback: Ranked, name: str) -> Proposal:
    """Join lists of some rows of a batch with lists of the others."""
    owners = np.concatenate([proposal.ranked.owners, fallback.owners])
    order = np.argsort(owners, kind="stable")
    counts = proposal.ranked.counts + fallback.counts
    ranked = Ranked(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([proposal.ranked.items, fallback.items])[order],
        np.concatenate([proposal.ranked.scores, fallback.scores])[order],
    )
    named = np.concatenate([proposal.source, np.full(len(fallback.items), name)])
    return Proposal(ranked, named[order])
