"""The weighing of history: what followed the windows that looked like those that ask.

In: a memory of windows and a kernel. Out: for windows that ask, the weighted continuations and
summaries of everything that was complete at their origin, or of the nearest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..core import ExactIndex, normalize
from .embeddings import Embedding
from .kernels import Kernel, Softmax
from .matching import ANYTHING
from .memory import Memory
from .origins import Origins, pasts
from .panel import Panel, Values
from .recalled import Asked, Found, Recalled, Weighed, join_recalled, search_alike
from .recipe import Recipe
from .softmax import RunningMean, softmax

# Windows weighed at a time: their weights for all queries stay in the cache.
_TILE = 2048
_QUERIES = 1024
# So few forecasts cost nothing in double precision, and then an explanation adds up exactly.
_PRECISE_QUERIES = 256
FULL = Softmax()


class ContinuationIndex(Memory):
    """A memory that answers: how near its windows are becomes how much they weigh.

    Args:
        panel, recipe, embedding, stride, stored, earlier: As in :class:`Memory`.
        kernel: How near becomes how heavy.
        neighbours: Weigh only the K nearest windows; None leaves it to the kernel.

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
        super().__init__(panel, recipe, embedding, stride=stride, stored=stored, earlier=earlier)
        self.kernel = kernel
        self.neighbours = neighbours

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

    def _recall(self, panel: Panel, origins: Origins, kernels: Sequence[Kernel]) -> list[Recalled]:
        whole = [one for one in kernels if isinstance(one, Softmax) and self.neighbours is None]
        near = [one for one in kernels if one not in whole]
        found: dict[Kernel, Recalled] = {}
        if whole:
            found |= zip(whole, self._weigh_all(panel, origins, whole), strict=True)
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
        for start in range(0, int(counts.max()), _TILE):
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
