"""Softmax over pieces of a flat array, and means weighted by it, a block at a time.

In: logits, and what is to be averaged. Out: weights that sum to one, or means that never held all
weights at once.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from .panel import Values
from .units import Steps


def softmax(logits: Values, starts: Steps, counts: Steps) -> Values:
    """Softmax of each piece of a flat array."""
    highest = np.maximum.reduceat(logits, starts)
    raised = np.exp(logits - np.repeat(highest, counts))
    share: Values = raised / np.repeat(np.add.reduceat(raised, starts), counts)
    return share


NEGLIGIBLE = {torch.float32: 40.0, torch.float64: 80.0}
"""Logits this far below the highest weigh nothing: their squares would be numbers so small that
processors take twelve times as long over them."""


def raise_logits(logits: Tensor, highest: Tensor | None = None) -> Tensor:
    """Weights of logits [Q, n], not yet divided by their sum; the logits are used up.

    Args:
        logits: -inf where nothing may be seen.
        highest: The highest of each row so far, [Q, 1]; None takes that of the row.
    """
    highest = logits.amax(dim=1, keepdim=True) if highest is None else highest
    least = -NEGLIGIBLE[logits.dtype]
    logits = nn.functional.threshold(logits.sub_(highest), least, -torch.inf, inplace=True)
    # Where nothing was visible yet, highest is -inf, and so is every logit: their difference is
    # no number, and weighs nothing either.
    return torch.nan_to_num_(logits.exp_())


class RunningMean:
    """A softmax-weighted mean over blocks that are seen one at a time."""

    def __init__(self, queries: int, width: int, kind: torch.dtype) -> None:
        self.highest = torch.full((queries, 1), -torch.inf, dtype=kind)
        self.mass = torch.zeros(queries, 1, dtype=kind)
        self.square = torch.zeros(queries, 1, dtype=kind)
        self.sums = torch.zeros(queries, width, dtype=kind)

    def add(self, logits: Tensor, values: Tensor) -> None:
        """Take in a block: logits [Q, n], which are used up, and values [n, V]."""
        highest = torch.maximum(self.highest, logits.amax(dim=1, keepdim=True))
        fade = torch.nan_to_num(torch.exp(self.highest - highest))
        mass = raise_logits(logits, highest)
        self.mass = self.mass * fade + mass.sum(dim=1, keepdim=True)
        self.square = self.square * fade**2 + torch.linalg.vecdot(mass, mass)[:, None]
        self.sums = self.sums * fade + mass @ values
        self.highest = highest

    def finish(self) -> tuple[Values, Values]:
        """Means [Q, V], and effective numbers of what was averaged, [Q]."""
        mean = (self.sums / self.mass).double().numpy()
        return mean, (self.mass.square() / self.square).double().numpy()[:, 0]
