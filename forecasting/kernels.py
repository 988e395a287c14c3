"""How near becomes how heavy: the weights of the windows that answer one question.

In: cosines between a window that asks and windows of the index. Out: logits, whose softmax are the
weights. :class:`Softmax` weighs by similarity itself; with a learned embedding its weights are a
forecast distribution. :class:`Relative` measures every distance against that of the nearest
window, so a question that history answers closely trusts its few near windows, and one that is
new to it averages over many. A new rule is one more class with ``neighbours`` and ``logits``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..core import SettingError
from .embeddings import Embedding
from .panel import Values
from .units import Steps

# Squared distances below this are what single precision makes of zero, on vectors of length 2.
NOTHING = 1e-5


class Kernel(Protocol):
    """A rule of weights."""

    @property
    def neighbours(self) -> int | None:
        """How many of the nearest windows are weighed; None for all."""
        ...

    def logits(
        self, embedding: Embedding, cosine: Values, lengths: Values, starts: Steps
    ) -> Values:
        """Logits of cosines that stand flat, question after question.

        Args:
            embedding: What made the vectors.
            cosine: All cosines, those of one question together.
            lengths: Length of the vector of each question before it was put on the sphere, [Q].
            starts: Where each question begins, [Q].
        """
        ...


@dataclass(frozen=True, slots=True)
class Softmax:
    """Weight grows with the cosine, ``exp(softness * scale * cosine)``.

    Attributes:
        softness: Multiplies the scale of the embedding; 1 serves at the learned temperature.
    """

    softness: float = 1.0

    @property
    def neighbours(self) -> int | None:  # noqa: D102
        return None

    def sharpness(self, embedding: Embedding) -> float:
        """What a cosine is multiplied by to become a logit."""
        return self.softness * embedding.scale

    def logits(  # noqa: D102
        self, embedding: Embedding, cosine: Values, lengths: Values, starts: Steps
    ) -> Values:
        del lengths, starts
        return self.sharpness(embedding) * cosine

    def __str__(self) -> str:
        return f"softmax x {self.softness:g}"


@dataclass(frozen=True, slots=True)
class Relative:
    """Weight falls with the square of the distance, measured by that of the nearest window.

    Attributes:
        reach: Weight falls by a factor e when the squared distance grows by this many times that
            of the nearest window.
        neighbours: How many of the nearest windows are weighed.

    Source: local scaling (Zelnik-Manor and Perona 2004), with the first neighbour for a scale.
    """

    reach: float
    neighbours: int = 100

    def __post_init__(self) -> None:
        if self.reach <= 0:
            raise SettingError(f"reach must be positive, found {self.reach}")

    def logits(  # noqa: D102
        self, embedding: Embedding, cosine: Values, lengths: Values, starts: Steps
    ) -> Values:
        counts = np.diff(np.append(starts, len(cosine)))
        far = np.maximum(embedding.squares(cosine, np.repeat(lengths, counts)), NOTHING)
        nearest = np.repeat(np.minimum.reduceat(far, starts), counts)
        weights: Values = -far / (self.reach * nearest)
        return weights

    def __str__(self) -> str:
        return f"relative {self.reach:g}"


def describe_kernel(kernel: Kernel) -> dict[str, Any]:
    """A kernel as plain settings."""
    if isinstance(kernel, Relative):
        return {"kind": "relative", "reach": kernel.reach, "neighbours": kernel.neighbours}
    assert isinstance(kernel, Softmax)
    return {"kind": "softmax", "softness": kernel.softness}


def build_kernel(settings: dict[str, Any]) -> Kernel:
    """The kernel that :func:`describe_kernel` described."""
    if settings["kind"] == "relative":
        return Relative(settings["reach"], settings["neighbours"])
    return Softmax(settings["softness"])
