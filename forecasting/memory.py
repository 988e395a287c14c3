"""What history showed: every complete window of a panel, measured, embedded and held.

In: a panel, and the recipe by which its windows become vectors. Out: vectors that can be searched,
and beside each the summary of the past and the continuation. The windows stand in the order they
became complete, so the past of any origin is a prefix: one memory answers every origin of a
backtest, and nothing behind an origin can be reached.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..core import ExactIndex, LeakError, StaleIndex, TooFewRows, normalize
from .embeddings import Embedding
from .levels import summarise
from .matching import ANYTHING, Match
from .origins import Origins
from .panel import Panel, Values
from .recipe import Recipe
from .units import Steps
from .windows import Windows

_BLOCK = 8192
ALL = slice(None)


class Memory:
    """Every complete window of a panel, searchable by what would follow.

    Args:
        panel: History.
        recipe: How windows become vectors.
        embedding: What makes the vectors.
        stride: Keep every so many windows.
        stored: The vectors of this very panel, made earlier; None embeds the windows.
        earlier: The same memory before its panel grew: what it holds is taken over to the bit, and
            only windows that are new are embedded.

    Raises:
        StaleIndex: The stored vectors are of another encoder or another panel.
    """

    def __init__(
        self,
        panel: Panel,
        recipe: Recipe,
        embedding: Embedding,
        *,
        stride: int = 1,
        stored: ExactIndex | None = None,
        earlier: Memory | None = None,
    ) -> None:
        self.recipe = recipe
        self.embedding = embedding
        self.windows = Windows(panel, recipe.lookback, recipe.horizon, stride=stride)
        self.units = recipe.units(panel)
        self.keys = None if recipe.match is None else recipe.match.keys(panel, self._origins())
        if self.keys is not None:
            # Each key there is, and the first window that has it.
            self._known_keys, self._firsts = np.unique(self.keys, return_index=True)
        self._make_room(stored)
        new = self._take_over(earlier)
        for start in range(0, len(new), _BLOCK):
            self._measure(new[start : start + _BLOCK], embed=stored is None)
        self.index = stored or ExactIndex.from_units(
            self._vectors, fingerprint=embedding.fingerprint
        )
        del self._vectors
        self.index.stale_fraction(embedding.fingerprint)
        if len(self.index) != len(self.windows):
            raise StaleIndex(
                f"the stored index holds {len(self.index)} continuations and the panel has "
                f"{len(self.windows)}; attach the panel again to index it"
            )

    def _origins(self, rows: Steps | slice = ALL) -> Origins:
        return Origins(self.windows.series_of(rows), self.windows.origin_steps(rows))

    def _make_room(self, stored: ExactIndex | None) -> None:
        """Arrays for every window, filled a block at a time: nothing stands in memory twice."""
        count, lookback = len(self.windows), self.recipe.lookback
        one = np.zeros((1, lookback))
        shown = np.zeros((1, self.recipe.shown))
        width = self.embedding.hold(shown, np.zeros((1, self.recipe.horizon))).shape[1]
        rows = count if stored is None else 0
        self._vectors: NDArray[np.float32] = np.empty((rows, width), dtype=np.float32)
        parts = summarise(one).shape[1]
        if self.recipe.direct is not None:
            parts += self.recipe.horizon
        self.summaries: NDArray[np.float32] = np.empty((count, parts), dtype=np.float32)
        self.bases: Values = np.empty(count)
        self.scales: Values = np.empty(count)

    def _take_over(self, earlier: Memory | None) -> Steps:
        """Copy what an earlier index holds; the rows that are new."""
        if earlier is None:
            return np.arange(len(self.windows))
        earlier.index.stale_fraction(self.embedding.fingerprint)
        place = self.windows.places_in(earlier.windows)
        known = np.flatnonzero(place >= 0)
        self._vectors[known] = earlier.index.vectors[place[known]]
        for mine, theirs in (
            (self.summaries, earlier.summaries),
            (self.bases, earlier.bases),
            (self.scales, earlier.scales),
        ):
            mine[known] = theirs[place[known]]
        return np.flatnonzero(place < 0)

    def _measure(self, rows: Steps, *, embed: bool) -> None:
        past = self.windows.pasts(rows)
        normaliser = self.recipe.normaliser
        base, scale = normaliser.measure(past, self.units[self.windows.series_of(rows)])
        # Without their base, numbers are small enough for float32 whatever level a series is at.
        past = normaliser.apply(past, base, scale)
        summary = summarise(past)
        if self.recipe.direct is not None:
            said = self.recipe.direct.expect(self.windows.panel, self._origins(rows))
            summary = np.column_stack([summary, normaliser.apply(said, base, scale)])
        self.summaries[rows], self.bases[rows], self.scales[rows] = summary, base, scale
        if embed:
            future = normaliser.apply(self.windows.futures(rows), base, scale)
            shown = self.recipe.show(self.windows.panel, self._origins(rows), past)
            vectors = torch.from_numpy(self.embedding.hold(shown, future))
            self._vectors[rows] = normalize(vectors).float().numpy()

    def normal_pasts(self, rows: Steps) -> Values:
        """Windows less their base, in their unit, [B, L]."""
        past = self.windows.pasts(rows)
        return self.recipe.normaliser.apply(past, self.bases[rows], self.scales[rows])

    def shown(self, rows: Steps) -> Values:
        """What the embedding was shown of windows that are held, [B, shown]."""
        return self.recipe.show(self.windows.panel, self._origins(rows), self.normal_pasts(rows))

    def __len__(self) -> int:
        return len(self.windows)

    def upto(self, origins: Origins) -> Steps:
        """How many windows each origin may use, [O].

        Raises:
            LeakError: An origin with nothing complete before it.
        """
        counts = self.windows.upto(origins.steps)
        if len(counts) and counts.min() < 1:
            raise LeakError(
                f"{int((counts < 1).sum())} origins have no complete window of "
                f"{self.recipe.lookback} + {self.recipe.horizon} rows before them; start later"
            )
        return counts

    def wanted(self, panel: Panel, origins: Origins, counts: Steps) -> Steps | None:
        """What candidates of each origin must share with it, [O]; None where nothing is matched.

        Raises:
            TooFewRows: Origins with no such window before them.
        """
        if self.recipe.match is None:
            return None
        keys, met = self._meet(self.recipe.match, panel, origins, counts)
        if self.recipe.company:
            # A member without a past of its own is answered from everybody's.
            return np.where(met, keys, ANYTHING)
        if not met.all():
            raise TooFewRows(
                f"{int((~met).sum())} of {len(origins)} origins have no complete window before "
                f"them that matches by {list(self.recipe.match.rules)}; start later or match less"
            )
        return keys

    def matched(self, panel: Panel, origins: Origins) -> NDArray[np.bool_]:
        """Which origins have a window before them that may answer, whatever it must share, [O]."""
        if self.recipe.match is None or self.recipe.company:
            return np.ones(len(origins), dtype=bool)
        counts = self.windows.upto(origins.steps)
        return self._meet(self.recipe.match, panel, origins, counts)[1]

    def _meet(
        self, match: Match, panel: Panel, origins: Origins, counts: Steps
    ) -> tuple[Steps, NDArray[np.bool_]]:
        """Key of each origin, and whether a window before it has the same."""
        keys = match.keys(panel, origins)
        place = np.minimum(np.searchsorted(self._known_keys, keys), len(self._known_keys) - 1)
        return keys, (self._known_keys[place] == keys) & (self._firsts[place] < counts)

    def hide(self, logits: Tensor, start: int, counts: Tensor, keys: Tensor | None) -> None:
        """Take out of logits [Q, n] of windows from ``start`` on what a question may not see."""
        stop = start + logits.shape[1]
        if int(counts.min()) < stop:
            logits.masked_fill_(torch.arange(start, stop)[None] >= counts[:, None], -torch.inf)
        if keys is not None and self.keys is not None:
            held = torch.from_numpy(self.keys[start:stop])
            other = (held[None] != keys[:, None]) & (keys != ANYTHING)[:, None]
            logits.masked_fill_(other, -torch.inf)

    def futures(self, rows: Steps | slice) -> Values:
        """Continuations less the base of the window before them, in its unit, [B, H]."""
        futures = self.windows.futures(rows)
        return self.recipe.normaliser.apply(futures, self.bases[rows], self.scales[rows])
