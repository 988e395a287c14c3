"""The training that rows and windows share: one objective, one loop, one way to serve.

In: an encoder, pairs with corrupted samples as negatives, and how long to train. Out: the trained
encoder, and a copy that answers the same in whatever batch a sample comes. What a pair is lies
with ``learned.py`` for rows and ``window_learning.py`` for windows.
"""

from __future__ import annotations

import copy
import warnings
from typing import Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from ..core import (
    ContrastiveObjective,
    DimensionalCollapse,
    DualEncoder,
    PairSource,
    Progress,
    Trainer,
    VectorEncoder,
    WindowEncoder,
    normalize,
)

Units = NDArray[np.float32]
_Encoder = TypeVar("_Encoder", VectorEncoder, WindowEncoder)


class Training(Protocol):
    """What the settings of rows and windows have in common."""

    @property
    def steps(self) -> int:
        """Optimiser steps, about."""
        ...

    @property
    def batch_size(self) -> int:
        """Pairs a step."""
        ...

    @property
    def temperature(self) -> float:
        """Of the objective, fixed."""
        ...

    @property
    def learning_rate(self) -> float:
        """Peak rate."""
        ...


def train(
    encoder: _Encoder,
    pairs: PairSource,
    settings: Training,
    *,
    seed: int,
    progress: Progress | None = None,
) -> _Encoder:
    """Train an encoder on pairs that carry their negatives, and give it back.

    Args:
        encoder: Of both sides.
        pairs: What belongs together, with corrupted samples as negatives.
        settings: How long and how fast.
        seed: Of the order of pairs.
        progress: Display of the epochs.

    Raises:
        RepresentationCollapse: The encoder answers the same for everything.
    """
    both = DualEncoder(encoder)
    batch = min(settings.batch_size, len(pairs))
    trainer = Trainer(
        both,
        ContrastiveObjective(
            "explicit",
            symmetric=False,
            temperature=settings.temperature,
            learnable=False,
            min_negatives=1,
        ),
        epochs=max(1, round(settings.steps / (len(pairs) // batch))),
        batch_size=batch,
        learning_rate=settings.learning_rate,
        seed=seed,
        progress=progress,
    )
    with warnings.catch_warnings():
        # Few columns have few directions to fill; trust in the space is measured, not assumed.
        warnings.simplefilter("ignore", DimensionalCollapse)
        trainer.fit(pairs)
    both.to("cpu")
    return encoder.eval()


class Serving:
    """A trained encoder as it answers: unit vectors, in float64 inside.

    In float64 a sample's vector is the same to float32 in whatever batch it comes.

    Args:
        encoder: Trained.
    """

    def __init__(self, encoder: torch.nn.Module) -> None:
        self._encoder = copy.deepcopy(encoder).double().eval()

    def embed(self, samples: NDArray[np.floating]) -> Units:
        """Encode samples [N, ...] as unit vectors, float32 [N, width]."""
        inputs = torch.from_numpy(np.ascontiguousarray(samples)).double()
        with torch.no_grad():
            vectors: Units = normalize(self._encoder(inputs)).float().numpy()
        return vectors
