"""Sources: who proposes candidates, and how several proposals become one list.

In: histories, and sources that score all items for them. Out: :class:`Proposal`, one score an item
and user, and which source spoke for an item most. Scores of different sources have different
scales; each is brought to mean 0 and deviation 1 over the catalogue, user by user, before they are
weighed. Quotas reserve places for a source that would never win by score, such as the cold tower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core import SettingError
from .histories import Histories
from .ranking import Ranked, rank_rows
from .scale import standardise_

Scores: TypeAlias = NDArray[np.float32]
RuleOut: TypeAlias = Callable[[Scores], None]


class Source(Protocol):
    """What proposes candidates."""

    @property
    def name(self) -> str:
        """How candidates name it."""
        ...

    def score(self, histories: Histories) -> Scores:
        """Score all items for B histories, float32 [B, I]; larger is better."""
        ...


@dataclass(frozen=True, eq=False)
class Blend:
    """Sources and their weights.

    Attributes:
        sources: Who is asked.
        weights: Weight of each, by name; a source with weight 0 fills quotas only.
        quotas: How many of a source's own first items must stand in each list, by name.
    """

    sources: Sequence[Source]
    weights: Mapping[str, float]
    quotas: Mapping[str, int]

    def __post_init__(self) -> None:
        known = {source.name for source in self.sources}
        strange = sorted((set(self.weights) | set(self.quotas)) - known)
        if strange:
            raise SettingError(
                f"there is no source {', '.join(strange)}; there are {', '.join(sorted(known))}"
            )

    @classmethod
    def of_those_there(
        cls, sources: Iterable[Source], weights: Mapping[str, float], quotas: Mapping[str, int]
    ) -> Blend:
        """Blend the sources there are; weights and quotas of others are left out."""
        present = list(sources)
        names = {source.name for source in present}
        return cls(
            present,
            {name: weight for name, weight in weights.items() if name in names},
            {name: quota for name, quota in quotas.items() if name in names},
        )

    def propose(self, histories: Histories, rule_out_: RuleOut, k: int) -> Proposal:
        """Rank all items for B histories.

        Args:
            histories: B of them.
            rule_out_: Sets scores [B, I] of items that may not be proposed to -inf, in place.
            k: Items a list at most.

        Returns:
            Lists of at most k items, best first.
        """
        parts = {
            source.name: source.score(histories)
            for source in self.sources
            if self.weights.get(source.name, 0.0) or self.quotas.get(source.name, 0)
        }
        weighed = [name for name in parts if self.weights.get(name, 0.0)]
        if len(parts) == 1:
            # One source needs no common scale: its own scores are the answer.
            total = parts[weighed[0]].copy() if self.quotas else parts[weighed[0]]
        else:
            total = self._weigh({name: standardise_(part) for name, part in parts.items()})
        rule_out_(total)
        ranked = rank_rows(total, k)
        proposal = Proposal(ranked, self._name(ranked, parts))
        for name, quota in self.quotas.items():
            if quota:
                rule_out_(parts[name])
        return proposal.with_quotas(parts, self.quotas, k)

    def _weigh(self, parts: Mapping[str, Scores]) -> Scores:
        first, *others = [name for name in parts if self.weights.get(name, 0.0)]
        total: Scores = np.float32(self.weights[first]) * parts[first]
        for name in others:
            total += np.float32(self.weights[name]) * parts[name]
        return total

    def _name(self, ranked: Ranked, parts: Mapping[str, Scores]) -> NDArray[np.str_]:
        """For each candidate, the source whose weighted score speaks for it most."""
        names = [name for name in parts if self.weights.get(name, 0.0)]
        if len(names) == 1:
            return np.full(len(ranked.items), names[0])
        owners = ranked.owners
        spoken = np.stack(
            [self.weights[name] * parts[name][owners, ranked.items] for name in names]
        )
        named: NDArray[np.str_] = np.array(names)[spoken.argmax(axis=0)]
        return named


@dataclass(frozen=True, eq=False)
class Proposal:
    """Lists of B users, with the source of each candidate."""

    ranked: Ranked
    source: NDArray[np.str_]

    def with_quotas(
        self,
        parts: Mapping[str, Scores],
        quotas: Mapping[str, int],
        k: int,
    ) -> Proposal:
        """See to it that the first items of a source that has a quota stand in each list.

        Those that are not listed yet go in at the end, behind those ranked by score, and take the
        score of the last one there, so scores never rise along a list.
        """
        quotas = {name: quota for name, quota in quotas.items() if quota}
        if not quotas:
            return self
        rows = range(len(self.ranked.offsets) - 1)
        lists = [self._fill(row, parts, quotas, k) for row in rows]
        counts = np.array([len(one) for one in lists])
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        flat = [entry for one in lists for entry in one]
        ranked = Ranked(
            offsets,
            np.array([entry[0] for entry in flat], dtype=np.int64),
            np.array([entry[1] for entry in flat], dtype=np.float32),
        )
        return Proposal(ranked, np.array([entry[2] for entry in flat], dtype=np.str_))

    def _fill(
        self,
        row: int,
        parts: Mapping[str, Scores],
        quotas: Mapping[str, int],
        k: int,
    ) -> list[tuple[int, float, str]]:
        start, stop = self.ranked.offsets[row : row + 2]
        entries = [
            (int(item), float(score), str(name))
            for item, score, name in zip(
                self.ranked.items[start:stop],
                self.ranked.scores[start:stop],
                self.source[start:stop],
                strict=True,
            )
        ]
        protected: set[int] = set()
        for name, quota in quotas.items():
            best = rank_rows(parts[name][row : row + 1], min(quota, k)).items.tolist()
            listed = {entry[0] for entry in entries}
            protected |= set(best) & listed
            chosen = [item for item in best if item not in listed][: k - len(protected)]
            entries = _make_room(entries, k - len(chosen), protected)
            protected |= set(chosen)
            below = entries[-1][1] if entries else 0.0
            entries += [(item, below, name) for item in chosen]
        return entries


def _make_room(
    entries: list[tuple[int, float, str]], kept: int, protected: set[int]
) -> list[tuple[int, float, str]]:
    """Drop the last entries that no quota protects, until at most ``kept`` are left."""
    surplus = len(entries) - kept
    out: list[tuple[int, float, str]] = []
    for entry in reversed(entries):
        if surplus > 0 and entry[0] not in protected:
            surplus -= 1
            continue
        out.append(entry)
    return out[::-1]
