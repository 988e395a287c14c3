"""What history showed: an index of continuations, and the weighing of it.

In: a panel, and the recipe by which its windows become vectors. Out: for windows that ask, the
softmax-weighted continuations and summaries of everything that was complete at their origin. The
windows stand in the order they became complete, so the past of any origin is a prefix of the
index: one index answers every origin of a backtest, and nothing behind an origin can be reached.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from ..core import ExactIndex, LeakError, StaleIndex, TooFewRows, normalize
from .embeddings import Embedding
from .kernels import Kernel, Softmax
from .levels import summarise
from .matching import ANYTHING, Match
from .origins import Origins, pasts
from .panel import Panel, Values
from .recalled import Asked, Found, Recalled, Weighed, join_recalled, search_alike
from .recipe import Recipe
from .softmax import RunningMean, softmax
from .units import Steps
from .windows import Windows

_BLOCK = 8192
# Windows weighed at a time: their weights for all queries stay in the cache.
_TILE = 2048
_QUERIES = 1024
# So few forecasts cost nothing in double precision, and then an explanation adds up exactly.
_PRECISE_QUERIES = 256
FULL = Softmax()
ALL = slice(None)


class ContinuationIndex:
    """Every complete window of a panel, searchable by what would follow.

    Args:
        panel: History.
        recipe: How windows become vectors.
        embedding: What makes the vectors.
        kernel: How near becomes how heavy.
        stride: Keep every so many windows.
        neighbours: Weigh only the K nearest windows; None leaves it to the kernel.
        stored: The index of this very panel, made earlier; None embeds the windows.
        earlier: The same index before its panel grew: what it holds is taken over to the bit, and
            only windows that are new are embedded.

    Raises:
        StaleIndex: The stored index is of another encoder or another panel.
    """

    def __init__(
        self,
        panel: Panel,
        recipe: Recipe,
        embedding: Embedding,
        kernel: Kernel = FULL,
        *,
        stride: int = 1,
        neighbours: int | None = None,
        stored: ExactIndex | None = None,
        earlier: ContinuationIndex | None = None,
    ) -> None:
        self.recipe = recipe
        self.neighbours = neighbours
        self.embedding = embedding
        self.kernel = kernel
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

    def _take_over(self, earlier: ContinuationIndex | None) -> Steps:
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

    def ask(self, panel: Panel, origins: Origins) -> Asked:
        """Turn the windows up to each origin into what the index is asked with."""
        past = pasts(panel, origins, self.recipe.lookback)
        unit = self.recipe.units(panel)[origins.series]
        base, scale = self.recipe.normaliser.measure(past, unit)
        own = self.recipe.normaliser.apply(past, base, scale)
        vectors = self.embedding.ask(self.recipe.show(panel, origins, own))
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
        return Asked(normalize(torch.from_numpy(vectors)).float().numpy(), lengths, scale)

    def recall(self, panel: Panel, origins: Origins, kernel: Kernel | None = None) -> Recalled:
        """Weigh everything that was complete at each origin.

        Args:
            panel: Holds the windows that ask.
            origins: Where they end.
            kernel: How near becomes how heavy; None for the index's own.
        """
        return self.recall_each(panel, origins, [kernel or self.kernel])[0]

    def recall_each(
        self, panel: Panel, origins: Origins, kernels: Sequence[Kernel]
    ) -> list[Recalled]:
        """The same under several kernels, which cost little more than one: see :meth:`recall`."""
        parts = [
            self._recall(panel, origins[start : start + _QUERIES], kernels)
            for start in range(0, len(origins), _QUERIES)
        ]
        return [join_recalled(of_kernel) for of_kernel in zip(*parts, strict=True)]

    def weights(self, panel: Panel, origins: Origins) -> NDArray[np.float64]:
        """Weight of every window for one origin, [N]; those it may not see weigh nothing."""
        weights = np.zeros(len(self))
        if isinstance(self.kernel, Softmax) and self.neighbours is None:
            counts = self.upto(origins)
            count, keys = int(counts[0]), self.wanted(panel, origins, counts)
            asked = self.ask(panel, origins)
            logits = self.index.vectors[:count].astype(np.float64) @ asked.vectors[0]
            logits *= self.kernel.sharpness(self.embedding)
            if keys is not None and self.keys is not None and keys[0] != ANYTHING:
                logits[self.keys[:count] != keys[0]] = -np.inf
            weights[:count] = softmax(logits, np.zeros(1, dtype=np.int64), np.array([count]))
        else:
            near = self.nearest(panel, origins, self.kernel)
            weights[near.rows] = near.weights
        return weights

    def nearest(self, panel: Panel, origins: Origins, kernel: Kernel) -> Weighed:
        """The nearest windows of each origin and what they weigh."""
        return self._weigh(*self._find(panel, origins, self._count(kernel)), kernel)

    def _count(self, kernel: Kernel) -> int:
        return self.neighbours or kernel.neighbours or len(self)

    def _find(self, panel: Panel, origins: Origins, count: int) -> tuple[Asked, Found]:
        asked, counts = self.ask(panel, origins), self.upto(origins)
        keys = self.wanted(panel, origins, counts)
        return asked, search_alike(self.index, asked.vectors, count, counts, self.keys, keys)

    def _weigh(self, asked: Asked, found: Found, kernel: Kernel) -> Weighed:
        starts, cosine = found.offsets[:-1], found.similarity.astype(np.float64)
        logits = kernel.logits(self.embedding, cosine, asked.lengths, starts)
        weights = softmax(logits, starts, np.diff(found.offsets))
        return Weighed(found.rows, weights, found.offsets, asked.scales)

    def futures(self, rows: Steps | slice) -> Values:
        """Continuations less the base of the window before them, in its unit, [B, H]."""
        futures = self.windows.futures(rows)
        return self.recipe.normaliser.apply(futures, self.bases[rows], self.scales[rows])

    def _recall(self, panel: Panel, origins: Origins, kernels: Sequence[Kernel]) -> list[Recalled]:
        whole = [one for one in kernels if isinstance(one, Softmax) and self.neighbours is None]
        near = [one for one in kernels if one not in whole]
        found: dict[Kernel, Recalled] = dict(
            zip(whole, self._weigh_all(panel, origins, whole), strict=True)
        )
        for count in sorted({self._count(kernel) for kernel in near}):
            alike = [kernel for kernel in near if self._count(kernel) == count]
            found |= zip(alike, self._weigh_nearest(panel, origins, alike, count), strict=True)
        return [found[kernel] for kernel in kernels]

    def _weigh_all(
        self, panel: Panel, origins: Origins, kernels: Sequence[Softmax]
    ) -> list[Recalled]:
        seen = self.upto(origins)
        keys = self.wanted(panel, origins, seen)
        counts, wanted = torch.from_numpy(seen), None if keys is None else torch.from_numpy(keys)
        asked = self.ask(panel, origins)
        kind = torch.float64 if len(origins) <= _PRECISE_QUERIES else torch.float32
        queries = torch.from_numpy(asked.vectors).to(kind)
        held = torch.from_numpy(self.index.stored.vectors)
        width = self.recipe.horizon + self.summaries.shape[1]
        totals = [RunningMean(len(origins), width, kind) for _ in kernels]
        for start in range(0, int(counts.max()) if kernels else 0, _TILE):
            rows = slice(start, min(start + _TILE, len(self)))
            cosine = queries @ held[rows].to(kind).T
            self.hide(cosine, start, counts, wanted)
            said = torch.from_numpy(np.column_stack([self.futures(rows), self.summaries[rows]]))
            for kernel, total in zip(kernels, totals, strict=True):
                total.add(cosine * kernel.sharpness(self.embedding), said.to(kind))
        return [self._recalled(*total.finish(), asked.scales) for total in totals]

    def _weigh_nearest(
        self, panel: Panel, origins: Origins, kernels: Sequence[Kernel], count: int
    ) -> list[Recalled]:
        asked, found = self._find(panel, origins, count)
        # Neighbouring origins share neighbours: each is read once, however many it answers.
        rows, place = np.unique(found.rows, return_inverse=True)
        said = np.column_stack([self.futures(rows), self.summaries[rows]])
        shape = (len(origins), len(rows))
        recalled = []
        for kernel in kernels:
            near = self._weigh(asked, found, kernel)
            mean = csr_array((near.weights, place, near.offsets), shape=shape) @ said
            effective = 1 / np.add.reduceat(near.weights**2, near.offsets[:-1])
            recalled.append(self._recalled(mean, effective, near.scales))
        return recalled

    def _recalled(self, mean: Values, effective: Values, scales: Values) -> Recalled:
        horizon, mean = self.recipe.horizon, mean * scales[:, None]
        return Recalled(mean[:, :horizon], mean[:, horizon:], effective)
