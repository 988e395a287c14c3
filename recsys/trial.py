"""Trial: training events cut in two, so that settings are judged on what they have not seen.

In: interactions. Out: :class:`Trial`, what would have been known and what users took next: the
latest share of each history where events carry moments, a random share where they do not. Anything
that scores histories can be measured on it, alone or blended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core import TooFewRows
from .evaluation import ideal_gains
from .histories import Histories
from .interactions import Interactions
from .ranking import Ranked, rank_rows
from .scale import standardise_
from .sources import Source

_MOST_USERS = 1000

Found: TypeAlias = tuple[float, float]
"""Recall and NDCG."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Histories cut in two, and the users they are judged on.

    Attributes:
        inner: What is known of everybody.
        shown: Of that, the histories of the users judged.
        wanted: What was held back of theirs, at least one item each.
        k: Recall and NDCG count the first k.
    """

    inner: Histories
    shown: Histories
    wanted: Histories
    k: int

    @classmethod
    def cut(cls, known: Interactions, k: int, *, share: float, seed: int) -> Trial:
        """Hold back the latest share of each history, or a random one where nothing is dated.

        Raises:
            TooFewRows: No history is long enough to hold anything back.
        """
        histories, generator = known.histories, np.random.default_rng(seed)
        owners, lengths = histories.owners, histories.lengths
        order = histories.items * 0 + np.arange(len(owners))
        place = order - histories.offsets[:-1][owners]
        if not known.ordered:
            drawn = np.lexsort((generator.random(len(owners)), owners))
            place = np.empty_like(order)
            place[drawn] = order - histories.offsets[:-1][owners]
        later = place >= lengths[owners] - np.floor(share * lengths[owners])
        if not later.any():
            raise TooFewRows(
                f"no history is long enough to hold back {share:g} of it; add events, or set "
                "exponents and weights by hand"
            )
        inner, wanted = histories.keep(~later), histories.keep(later)
        users = np.flatnonzero(wanted.lengths)
        if len(users) > _MOST_USERS:
            users = np.sort(generator.choice(users, _MOST_USERS, replace=False))
        return cls(inner, inner.take(users), wanted.take(users), k)

    def measure(self, score: Callable[[Histories], NDArray[np.float32]]) -> Found:
        """Give recall and NDCG at k of what scores histories."""
        return _mean([self._judge(score(self.shown.take(rows)), rows) for rows in self._batches()])

    def measure_weights(
        self,
        blend: Mapping[str, float],
        sources: Mapping[str, Source],
        further: Source,
        weights: Sequence[float],
    ) -> dict[float, Found]:
        """Give recall and NDCG at k of a blend with one more source, for each weight of it.

        Args:
            blend: Weight of each source of the blend, by name.
            sources: These sources, by name.
            further: The one that is added.
            weights: Its weights that are tried.
        """
        found: dict[float, list[NDArray[np.float64]]] = {weight: [] for weight in weights}
        for rows in self._batches():
            shown = self.shown.take(rows)
            added = standardise_(further.score(shown))
            base = np.zeros_like(added)
            for name, weight in blend.items():
                base += np.float32(weight) * standardise_(sources[name].score(shown))
            for weight, parts in found.items():
                parts.append(self._judge(base + np.float32(weight) * added, rows))
        return {weight: _mean(parts) for weight, parts in found.items()}

    def _batches(self) -> Iterable[slice]:
        size = max(1, (1 << 24) // self.shown.width)
        return (slice(start, start + size) for start in range(0, len(self.shown), size))

    def _judge(self, scores: NDArray[np.float32], rows: slice) -> NDArray[np.float64]:
        shown = self.shown.take(rows)
        scores[shown.owners, shown.items] = -np.inf
        return measure_lists(rank_rows(scores, self.k), self.wanted.take(rows), self.k)


def measure_lists(ranked: Ranked, wanted: Histories, k: int) -> NDArray[np.float64]:
    """Give recall and NDCG of each list, float64 [2, B]; every history must want something."""
    width = np.int64(wanted.width)
    keys = wanted.owners * width + wanted.items
    hit = np.isin(ranked.owners * width + ranked.items, keys)
    gain = hit / np.log2(ranked.ranks + 1.0)
    owners, count = ranked.owners, len(wanted)
    ideal = ideal_gains(int(wanted.lengths.max()), k)[wanted.lengths]
    recall = np.bincount(owners, weights=hit, minlength=count) / wanted.lengths
    return np.stack([recall, np.bincount(owners, weights=gain, minlength=count) / ideal])


def _mean(parts: Sequence[NDArray[np.float64]]) -> Found:
    recall, ndcg = np.concatenate(parts, axis=1).mean(axis=1)
    return round(float(recall), 6), round(float(ndcg), 6)
