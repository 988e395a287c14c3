"""Where similarity comes from: learned towers, or the raw windows themselves.

In: windows and continuations in their own units. Out: vectors for one cosine index, and the scale
at which a cosine becomes a weight, ``softmax(scale * cosine)``. Both embeddings answer the same
questions, so the forecaster, the index and the tables treat the learned one and the raw baseline
alike; whichever wins on validation serves.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..core import DualEncoder, fingerprint
from .panel import Values

FEWEST_ROWS = 64


class Embedding(Protocol):
    """Vectors for windows that ask and for what the index holds."""

    name: str
    scale: float

    @property
    def fingerprint(self) -> str:
        """What made the vectors."""
        ...

    def ask(self, pasts: Values) -> NDArray[Any]:
        """Vectors of windows that ask, [Q, L] -> [Q, D]."""
        ...

    def hold(self, pasts: Values, futures: Values) -> NDArray[Any]:
        """Vectors of what history showed, [N, L] and [N, H] -> [N, D]."""
        ...

    def squares(self, cosine: NDArray[Any], lengths: Values) -> Values:
        """Squared distances that cosines stand for.

        Args:
            cosine: Of a vector that asks and one that is held.
            lengths: Of the vectors that ask, before they were put on the sphere.
        """
        ...


class LearnedEmbedding:
    """Two towers: one for the window that asks, one for the continuation that answers.

    Args:
        towers: Trained on (window, continuation) pairs.
        scale: 1 / temperature at serving.
        holds: What the index holds, "continuation" or "window"; the latter for pair policies in
            which both sides of a pair are windows.
    """

    name = "learned"

    def __init__(self, towers: DualEncoder, scale: float, *, holds: str) -> None:
        self.towers = towers
        self.scale = scale
        self.holds = holds
        self._fingerprint = fingerprint(towers.serving_part(), preprocessing={"holds": holds})

    @property
    def fingerprint(self) -> str:
        """Of the towers."""
        return self._fingerprint

    def ask(self, pasts: Values) -> NDArray[Any]:  # noqa: D102
        return self.towers.encode_anchors(_padded(pasts)).numpy()[: len(pasts)]

    def hold(self, pasts: Values, futures: Values) -> NDArray[Any]:  # noqa: D102
        held = futures if self.holds == "continuation" else pasts
        return self.towers.encode_candidates(_padded(held)).numpy()[: len(held)]

    def squares(self, cosine: NDArray[Any], lengths: Values) -> Values:  # noqa: D102
        del lengths
        return 2.0 - 2.0 * cosine.astype(np.float64)


class RawEmbedding:
    """The windows as they are, lifted on a sphere where nearest by cosine is nearest by distance.

    Lifting x to ``(x, -|x|^2 / 2, rest)``, with a rest that makes all references equally long, and
    a query to ``(q, 1, 0)``, turns their inner product into ``(|q|^2 - |q - x|^2) / 2`` (Bachrach
    et al. 2014), so one index and one metric serve raw windows too.

    Args:
        unit: References are multiplied by this first, so that the longest has length 2: then the
            three parts are of one size and float32 keeps the ranking.
        scale: Weight falls by a factor e when the cosine falls by 1 / scale.
    """

    name = "raw"
    reach = math.sqrt(8.0)

    def __init__(self, unit: float, scale: float = 100.0) -> None:
        self.unit = unit
        self.scale = scale

    @classmethod
    def around(cls, references: Values) -> RawEmbedding:
        """The embedding whose sphere holds these windows, [N, L]."""
        longest = math.sqrt(float((references**2).sum(axis=1).max(initial=0.0)))
        return cls(unit=2.0 / longest if longest > 0 else 1.0)

    @property
    def fingerprint(self) -> str:
        """Of the lift: there are no weights."""
        return fingerprint(nn.Identity(), preprocessing={"raw windows": self.unit})

    def ask(self, pasts: Values) -> NDArray[Any]:  # noqa: D102
        ones, zeros = np.ones(len(pasts)), np.zeros(len(pasts))
        return np.column_stack([pasts * self.unit, ones, zeros])

    def hold(self, pasts: Values, futures: Values) -> NDArray[Any]:  # noqa: D102
        del futures
        x = pasts * self.unit
        square = (x**2).sum(axis=1)
        # A window longer than any that was seen has no rest left and is longer than the others.
        rest = np.sqrt(np.maximum(self.reach**2 - square - square**2 / 4, 0.0))
        return np.column_stack([x, -square / 2, rest])

    def squares(self, cosine: NDArray[Any], lengths: Values) -> Values:  # noqa: D102
        # The inner product is (|q|^2 - distance^2) / 2, and the lifted q is 1 longer than q.
        inner = self.reach * lengths * cosine.astype(np.float64)
        return lengths**2 - 1 - 2 * inner


def _padded(values: Values) -> torch.Tensor:
    """As many rows as it takes for every row to be rounded alike, whoever stands beside it.

    Products of a few rows run through another kernel than those of many; without this, a row that
    is appended later would differ in its last bit from the same row indexed with all others.
    """
    rows = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
    short = FEWEST_ROWS - len(rows)
    return nn.functional.pad(rows, (0, 0, 0, short)) if short > 0 else rows
