"""What one row of similarities costs: the losses, and nothing about where they come from.

In: a tile of cosines [T, N] whose logits are ``scale * cosine`` (excluded columns are -inf), the
positive of each row [T], and how many negatives each row kept [T]. Out: the loss of each row and
its slopes; the slopes in the negatives overwrite the tile, because that is the memory they came
from.

InfoNCE, its decoupled, debiased and hardness-weighted forms differ only in a function of a few
sums per row, so that function is written once and torch differentiates it; a new member of the
family is a new line in ``SoftmaxRows._cost``. The pairwise sigmoid loss sums over columns and
stands apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

STRAIGHT = 40.0
"""Where softplus is its argument to the last digit of float64; torch's 20 is so for float32."""


class RowCost(NamedTuple):
    """What the rows of a tile cost.

    Attributes:
        loss: Of each row, [T].
        positive_slope: d loss / d positive logit, [T].
        row_slope: d loss / d negative logit is this times what was left in the tile, [T].
        bias_slope: d loss / d logit bias summed over the tile, or None for losses without one.
        scale_slope: d loss / d scale beyond what goes through the logits, or None.
    """

    loss: Tensor
    positive_slope: Tensor
    row_slope: Tensor
    bias_slope: Tensor | None = None
    scale_slope: Tensor | None = None


class RowLoss(Protocol):
    """A loss that can be read row by row."""

    def __call__(
        self, tile: Tensor, highest: Tensor, positive: Tensor, negatives: Tensor, scale: Tensor
    ) -> RowCost:
        """Cost each row; ``tile`` is overwritten.

        Args:
            tile: Cosines [T, N]; a correction of a logit stands in it divided by the scale.
            highest: Largest value of each row of the tile, [T].
            positive: The positive in the same unit, [T].
            negatives: Columns each row kept, [T].
            scale: 1 / temperature.
        """
        ...


@dataclass(frozen=True, slots=True)
class SoftmaxRows:
    """The InfoNCE family (arXiv 1807.03748 and its corrections).

    Attributes:
        decoupled: Leave the positive out of the denominator (DCL, 2110.06848, eq. 6).
        debias: Share of negatives that secretly are positives, in [0, 1) (2007.00224, eq. 8).
        hardness: Weight negatives by exp(hardness * logit), >= 0 (2010.04592, eq. 4).
    """

    decoupled: bool = False
    debias: float = 0.0
    hardness: float = 0.0

    def __call__(  # noqa: D102
        self, tile: Tensor, highest: Tensor, positive: Tensor, negatives: Tensor, scale: Tensor
    ) -> RowCost:
        # One common shift per row keeps every exponential in range; it cancels in the loss.
        shift = scale * highest
        mass = torch.add(-shift[:, None], tile, alpha=float(scale), out=tile).exp_()
        tilt = mass.pow(self.hardness) if self.hardness else None
        weighted = mass.sum(dim=1) if tilt is None else (mass * tilt).sum(dim=1)
        norm = torch.ones_like(weighted) if tilt is None else tilt.sum(dim=1)

        with torch.enable_grad():
            floor = torch.log(negatives) - scale - shift
            sums = [t.requires_grad_() for t in (positive * scale - shift, weighted, norm, floor)]
            loss = self._cost(negatives, *sums)
            slopes = torch.autograd.grad(loss.sum(), sums, allow_unused=True)
        by_positive, by_weighted, by_norm, by_floor = (
            torch.zeros_like(positive) if slope is None else slope for slope in slopes
        )
        if tilt is not None:
            h = self.hardness
            mass.mul_((1 + h) * by_weighted[:, None]).add_(h * by_norm[:, None]).mul_(tilt)
            by_weighted = torch.ones_like(by_weighted)
        return RowCost(loss.detach(), by_positive, by_weighted, scale_slope=-by_floor.sum())

    def _cost(
        self, negatives: Tensor, positive: Tensor, weighted: Tensor, norm: Tensor, floor: Tensor
    ) -> Tensor:
        """The loss from logarithms of sums, all relative to the shift of the row."""
        mass = torch.log(weighted)
        if self.hardness:
            mass = mass + torch.log(negatives) - torch.log(norm)
        if self.debias:
            # log(e^mass - debias n e^positive) where that is a number, else the floor n e^(-1/t).
            secret = math.log(self.debias) + torch.log(negatives) + positive
            left = (secret < mass).detach()
            ratio = torch.where(left, secret - mass, -1.0)
            corrected = mass + torch.log1p(-ratio.exp()) - math.log1p(-self.debias)
            mass = torch.where(left, torch.maximum(corrected, floor), floor)
        if self.decoupled:
            return mass - positive
        return F.softplus(mass - positive, threshold=STRAIGHT)


@dataclass(frozen=True, slots=True)
class SigmoidRows:
    """Each pair judged alone (SigLIP, arXiv 2303.15343, alg. 1).

    Attributes:
        bias: Added to every logit, a scalar tensor.
    """

    bias: Tensor

    def __call__(  # noqa: D102
        self, tile: Tensor, highest: Tensor, positive: Tensor, negatives: Tensor, scale: Tensor
    ) -> RowCost:
        del highest, negatives
        logits = tile.mul_(scale).add_(self.bias)
        match = positive * scale + self.bias
        loss = F.softplus(logits, threshold=STRAIGHT).sum(dim=1)
        loss = loss + F.softplus(-match, threshold=STRAIGHT)
        slope = logits.sigmoid_()
        positive_slope = match.sigmoid() - 1
        total = slope.sum() + positive_slope.sum()
        return RowCost(loss, positive_slope, torch.ones_like(match), total)
