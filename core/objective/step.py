"""What one step says: the loss on the graph, and every number a run should log beside it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..geometry import Geometry


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one step says.

    Losses at different candidate counts are not comparable, so the count stands beside the loss.

    Attributes:
        loss: Scalar on the autograd graph.
        candidates_min, candidates_mean: Candidates per anchor, the positive among them.
        chance_loss: The loss of an encoder that answers the same for everything: the mean log of
            the candidate count (of the negatives, decoupled); NaN for the sigmoid loss.
        masked: Columns that masks or the margin took out, over all rows.
        beaten_share: Share of anchors whose nearest other candidate is nearer than their
            positive: 1 minus the accuracy within the batch.
        temperature: In force during this step.
        saturated: The temperature sits at a bound: a hint of collapse.
        geometry: From the raw cosines, before scale, shift and mask.
        sampler: Who drew the negatives.
        queue_age: Steps since the oldest queued row was written, or None.
    """

    loss: Tensor
    candidates_min: int
    candidates_mean: float
    chance_loss: float
    masked: int
    beaten_share: float
    temperature: float
    saturated: bool
    geometry: Geometry
    sampler: str = "in-batch"
    queue_age: int | None = None
