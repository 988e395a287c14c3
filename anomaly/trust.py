"""Trust: how much of the learned distance to believe, decided on normal rows alone.

In: raw and learned strangeness of held-out normal rows and of injected faults. Out: a weight and
the measurements behind it. Labels never enter. A learned distance that has not generalised makes
held-out normal rows look strange, which costs recall at a fixed alarm rate and so costs it weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WEIGHTS = (0.0, 0.125, 0.25, 0.5)
PRIOR = 0.25
"""What the weight is unless the injections speak clearly: the choice on the development sets."""

BUDGET = 0.05
"""Share of held-out normal rows that may alert while recall is measured."""


@dataclass(frozen=True, slots=True)
class Trust:
    """How much the learned distance counts.

    Attributes:
        weight: Of the learned distance beside a raw distance of weight 1.
        recall: Weight -> mean recall of injected faults at the budget; empty where nothing was
            measured.
        reason: The decision in a sentence.
    """

    weight: float
    recall: Mapping[float, float]
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Strangeness:
    """What two spaces say about the same rows, each in its own normal spread.

    Attributes:
        raw: [N].
        learned: [N].
    """

    raw: Floats
    learned: Floats

    def mixed(self, weight: float) -> Floats:
        """Both together, [N]."""
        return self.raw + weight * self.learned


def decide_trust(held: Strangeness, injected: Sequence[Strangeness]) -> Trust:
    """Choose the weight by recall of injected faults at an alarm budget on held-out normals.

    The prior stays unless another weight finds significantly more: recall is measured on faults
    that were made up, so a small lead of one weight over another says nothing about real ones.

    Args:
        held: Of normal rows that the encoder has not seen.
        injected: Of rows with one kind of fault each, one entry a kind.

    Returns:
        The decision.
    """
    recall = {weight: _mean_recall(held, injected, weight) for weight in WEIGHTS}
    count = sum(len(kind.raw) for kind in injected)
    margin = 2.0 * (0.5 / np.sqrt(max(count, 1)))
    best = max(WEIGHTS, key=lambda weight: (recall[weight], -abs(weight - PRIOR)))
    if recall[best] - recall[PRIOR] <= margin:
        return Trust(PRIOR, recall, f"no weight finds clearly more than {PRIOR:g} does")
    lead = recall[best] - recall[PRIOR]
    return Trust(best, recall, f"finds {lead:.0%} more of the injected faults than {PRIOR:g} does")


def _mean_recall(held: Strangeness, injected: Sequence[Strangeness], weight: float) -> float:
    level = np.quantile(held.mixed(weight), 1 - BUDGET)
    return float(np.mean([(kind.mixed(weight) > level).mean() for kind in injected]))
