"""What history showed: an index of continuations, and the weighing of it.

In: a panel, and the recipe by which its windows become vectors. Out: for windows that ask, the
softmax-weighted continuations and summaries of everything that was complete at their origin. The
windows stand in the order they became complete, so the past of any origin is a prefix of the
index: one index answers every origin of a backtest, and nothing behind an origin can be reached.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from ..core import ExactIndex, LeakError, StaleIndex, normalize
from .embeddings import Embedding
from .kernels import Kernel, Softmax
from .levels import summarise
from .origins import Origins, pasts
from .panel import Panel, Values
from .recalled import Asked, Recalled, Weighed
from .recipe import Recipe
from .units import Steps
from .windows import Windows

_BLOCK = 8192
_QUERIES = 1024
# So few forecasts cost nothing in double precision, and then an explanation adds up exactly.
_PRECISE_QUERIES = 256
FULL = Softmax()


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

    def _make_room(self, stored: ExactIndex | None) -> None:
        """Arrays for every window, filled a block at a time: nothing stands in memory twice."""
        count, lookback = len(self.windows), self.recipe.lookback
        one = np.zeros((1, lookback))
        width = self.embedding.hold(one, np.zeros((1, self.recipe.horizon))).shape[1]
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
            origins = Origins(self.windows.series_of(rows), self.windows.origin_steps(rows))
            said = self.recipe.direct.expect(self.windows.panel, origins)
            summary = np.column_stack([summary, normaliser.apply(said, base, scale)])
        self.summaries[rows], self.bases[rows], self.scales[rows] = summary, base, scale
        if embed:
            future = normaliser.apply(self.windows.futures(rows), base, scale)
            vectors = torch.from_numpy(self.embedding.hold(past, future))
            self._vectors[rows] = normalize(vectors).float().numpy()

    def normal_pasts(self, rows: Steps) -> Values:
        """Windows less their base, in their unit: what the embedding is shown, [B, L]."""
        past = self.windows.pasts(rows)
        return self.recipe.normaliser.apply(past, self.bases[rows], self.scales[rows])

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

    def ask(self, panel: Panel, origins: Origins) -> Asked:
        """Turn the windows up to each origin into what the index is asked with."""
        past = pasts(panel, origins, self.recipe.lookback)
        unit = self.recipe.units(panel)[origins.series]
        base, scale = self.recipe.normaliser.measure(past, unit)
        vectors = self.embedding.ask(self.recipe.normaliser.apply(past, base, scale))
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
        return Asked(normalize(torch.from_numpy(vectors)).float().numpy(), lengths, scale)

    def recall(self, panel: Panel, origins: Origins, kernel: Kernel | None = None) -> Recalled:
        """Weigh everything that was complete at each origin.

        Args:
            panel: Holds the windows that ask.
            origins: Where they end.
            kernel: How near becomes how heavy; None for the index's own.
        """
        kernel = kernel or self.kernel
        parts = [
            self._recall(panel, origins[start : start + _QUERIES], kernel)
            for start in range(0, len(origins), _QUERIES)
        ]
        return Recalled(
            np.concatenate([part.future for part in parts]),
            np.concatenate([part.summary for part in parts]),
            np.concatenate([part.effective for part in parts]),
        )

    def weights(self, panel: Panel, origins: Origins) -> NDArray[np.float64]:
        """Weight of every window for one origin, [N]; those it may not see weigh nothing."""
        weights = np.zeros(len(self))
        if isinstance(self.kernel, Softmax) and self.neighbours is None:
            count = int(self.upto(origins)[0])
            asked = self.ask(panel, origins)
            logits = self.index.vectors[:count].astype(np.float64) @ asked.vectors[0]
            logits *= self.kernel.sharpness(self.embedding)
            weights[:count] = _softmax(logits, np.zeros(1, dtype=np.int64), np.array([count]))
        else:
            near = self.nearest(panel, origins, self.kernel)
            weights[near.rows] = near.weights
        return weights

    def nearest(self, panel: Panel, origins: Origins, kernel: Kernel) -> Weighed:
        """The nearest windows of each origin and what they weigh."""
        asked = self.ask(panel, origins)
        count = self.neighbours or kernel.neighbours or len(self)
        found = self.index.search(asked.vectors, count, upto=self.upto(origins))
        starts, cosine = found.offsets[:-1], found.similarity.astype(np.float64)
        logits = kernel.logits(self.embedding, cosine, asked.lengths, starts)
        weights = _softmax(logits, starts, found.counts)
        return Weighed(found.rows, weights, found.offsets, asked.scales)

    def futures(self, rows: Steps | slice) -> Values:
        """Continuations less the base of the window before them, in its unit, [B, H]."""
        futures = self.windows.futures(rows)
        return self.recipe.normaliser.apply(futures, self.bases[rows], self.scales[rows])

    def _recall(self, panel: Panel, origins: Origins, kernel: Kernel) -> Recalled:
        if isinstance(kernel, Softmax) and self.neighbours is None:
            return self._weigh_all(panel, origins, kernel)
        return self._weigh_nearest(panel, origins, kernel)

    def _weigh_all(self, panel: Panel, origins: Origins, kernel: Softmax) -> Recalled:
        counts = torch.from_numpy(self.upto(origins))
        asked = self.ask(panel, origins)
        kind = torch.float64 if len(origins) <= _PRECISE_QUERIES else torch.float32
        queries = torch.from_numpy(asked.vectors).to(kind) * kernel.sharpness(self.embedding)
        held = torch.from_numpy(self.index.stored.vectors)
        total = _Running(len(origins), self.recipe.horizon + self.summaries.shape[1], kind)
        for start in range(0, int(counts.max()), _BLOCK):
            rows = slice(start, min(start + _BLOCK, len(self)))
            logits = queries @ held[rows].to(kind).T
            if int(counts.min()) < rows.stop:
                places = torch.arange(rows.start, rows.stop)
                logits.masked_fill_(places[None, :] >= counts[:, None], -torch.inf)
            said = np.column_stack([self.futures(rows), self.summaries[rows]])
            total.add(logits, torch.from_numpy(said).to(kind))
        mean, effective = total.finish()
        return self._recalled(mean * asked.scales[:, None], effective)

    def _weigh_nearest(self, panel: Panel, origins: Origins, kernel: Kernel) -> Recalled:
        near = self.nearest(panel, origins, kernel)
        # Neighbouring origins share neighbours: each is read once, however many it answers.
        rows, place = np.unique(near.rows, return_inverse=True)
        said = np.column_stack([self.futures(rows), self.summaries[rows]])
        shape = (len(origins), len(rows))
        mean = csr_array((near.weights, place, near.offsets), shape=shape) @ said
        effective = 1 / np.add.reduceat(near.weights**2, near.offsets[:-1])
        return self._recalled(mean * near.scales[:, None], effective)

    def _recalled(self, mean: Values, effective: Values) -> Recalled:
        horizon = self.recipe.horizon
        return Recalled(mean[:, :horizon], mean[:, horizon:], effective)


def _softmax(logits: Values, starts: Steps, counts: Steps) -> Values:
    """Softmax of each piece of a flat array."""
    highest = np.maximum.reduceat(logits, starts)
    raised = np.exp(logits - np.repeat(highest, counts))
    share: Values = raised / np.repeat(np.add.reduceat(raised, starts), counts)
    return share


class _Running:
    """A softmax-weighted mean over blocks that are seen one at a time."""

    def __init__(self, queries: int, width: int, kind: torch.dtype) -> None:
        self.highest = torch.full((queries, 1), -torch.inf, dtype=kind)
        self.mass = torch.zeros(queries, 1, dtype=kind)
        self.square = torch.zeros(queries, 1, dtype=kind)
        self.sums = torch.zeros(queries, width, dtype=kind)

    def add(self, logits: Tensor, values: Tensor) -> None:
        highest = torch.maximum(self.highest, logits.amax(dim=1, keepdim=True))
        fade = torch.nan_to_num(torch.exp(self.highest - highest))
        mass = logits.sub_(highest).exp_()
        mass = torch.nan_to_num_(mass)
        self.mass = self.mass * fade + mass.sum(dim=1, keepdim=True)
        self.square = self.square * fade**2 + mass.square().sum(dim=1, keepdim=True)
        self.sums = self.sums * fade + mass @ values
        self.highest = highest

    def finish(self) -> tuple[Values, Values]:
        mean = (self.sums / self.mass).double().numpy()
        return mean, (self.mass.square() / self.square).double().numpy()[:, 0]
