"""Pairs: what a batch is, and what an application must offer to be trained on.

An application answers :class:`PairSource`; core asks it for the rows of one batch and never learns
what they mean. Augmented views are made inside ``batch`` with the generator that is passed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ..encoders.bags import Rows
from ..objective.masks import CandidateMask


@dataclass(frozen=True, eq=False)
class Pairs:
    """One batch of positive pairs, and the negatives given with it.

    Attributes:
        anchors: B anchors as the anchor encoder takes them.
        positives: The positive of each, as the candidate encoder takes it.
        masks: Rules that take columns out of the negatives of a row.
        log_q: float32 [B], log probability of each positive to be in a batch; None for uniform.
        ids: int64 [B], the candidate behind each positive; None where each pair is its own.
        negatives: M further candidates to encode; None for none.
        queued: float32 [M, D], M further candidates that are encoded already; None for none.
        negative_log_q: float32 [M], their log probabilities; None for uniform.
    """

    anchors: Rows
    positives: Rows
    masks: tuple[CandidateMask, ...] = ()
    log_q: Tensor | None = None
    ids: Tensor | None = None
    negatives: Rows | None = None
    queued: Tensor | None = None
    negative_log_q: Tensor | None = None

    def __len__(self) -> int:
        return len(self.anchors)

    def to(self, device: torch.device) -> Pairs:
        """Move everything but the masks, which are asked for tiles on a device."""
        return Pairs(
            anchors=self.anchors.to(device),
            positives=self.positives.to(device),
            masks=self.masks,
            log_q=None if self.log_q is None else self.log_q.to(device),
            ids=None if self.ids is None else self.ids.to(device),
            negatives=None if self.negatives is None else self.negatives.to(device),
            queued=None if self.queued is None else self.queued.to(device),
            negative_log_q=None if self.negative_log_q is None else self.negative_log_q.to(device),
        )


class PairSource(Protocol):
    """Where the trainer gets its pairs."""

    def __len__(self) -> int:
        """Count the pairs."""
        ...

    def batch(self, rows: Tensor, generator: torch.Generator) -> Pairs:
        """Make the pairs ``rows`` (int64 [B]); all randomness comes from ``generator``."""
        ...


class CandidateSource(PairSource, Protocol):
    """A pair source that can also hand out single candidates, for samplers that choose them."""

    def candidates(self, rows: Tensor) -> Rows:
        """Give the candidates ``rows`` (int64 [M]) as the candidate encoder takes them."""
        ...
