"""Sampled candidates: a part of the catalogue that stands for all of it.

In: what a batch is to find, and how items are drawn. Out: the distinct items of one step, and log
q: how likely each of them was to be there. Subtracting it makes the sampled sum an unbiased
estimate of the sum over the catalogue, whatever the draw. The step's own targets join the draw; for
the histories they belong to they are certain, for all others they came with their popularity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..core import log_presence
from .popularity import mixed_shares
from .softmax import Targets


@dataclass(frozen=True, eq=False)
class Sampling:
    """How candidates are drawn.

    Attributes:
        draws: Items drawn a step, with replacement.
        shares: float64 [I], probability of each item in one draw.
        popular: float64 [I], share of each item among all targets.
    """

    draws: int
    shares: NDArray[np.float64]
    popular: NDArray[np.float64]

    @classmethod
    def of(
        cls, draws: int | None, counts: NDArray[np.int64], exponent: float, uniform: float
    ) -> Sampling | None:
        """Describe the draw from item counts; None where all items compete."""
        if draws is None or draws >= len(counts):
            return None
        shares = mixed_shares(counts, exponent=exponent, uniform=uniform)
        return cls(draws, shares, counts / max(int(counts.sum()), 1))


@dataclass(frozen=True, eq=False)
class Drawn:
    """The candidates of one step.

    Attributes:
        items: int64 [N], distinct item rows in order.
        log_q: float32 [N], log probability of each to be among them.
        targets: The step's targets, their columns within ``items``.
    """

    items: Tensor
    log_q: Tensor
    targets: Targets


def draw_candidates(targets: Targets, sampling: Sampling, generator: np.random.Generator) -> Drawn:
    """Draw the candidates of one step.

    Args:
        targets: What the step is to find, columns are item rows.
        sampling: How to draw.
        generator: The only randomness.
    """
    wanted = targets.columns.numpy()
    drawn = generator.choice(len(sampling.shares), size=sampling.draws, p=sampling.shares)
    items = np.unique(np.concatenate([drawn, wanted]))
    # Absent only when missed by every draw and by every target of the step.
    missed = log_presence(torch.from_numpy(sampling.shares[items]), sampling.draws)
    by_target = log_presence(
        torch.from_numpy(sampling.popular[items]).clamp_min(1e-12), max(len(wanted), 1)
    )
    presence = 1.0 - (1.0 - missed.double().exp()) * (1.0 - by_target.double().exp())
    place = np.searchsorted(items, targets.hidden_columns.numpy())
    place = np.minimum(place, len(items) - 1)
    there = torch.from_numpy(items[place] == targets.hidden_columns.numpy())
    return Drawn(
        items=torch.from_numpy(items),
        log_q=presence.log().float(),
        targets=Targets(
            owners=targets.owners,
            columns=torch.from_numpy(np.searchsorted(items, wanted)),
            weights=targets.weights,
            hidden_owners=targets.hidden_owners[there],
            hidden_columns=torch.from_numpy(place)[there],
        ),
    )
