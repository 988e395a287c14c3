"""The loss of the towers: a softmax over items with several targets a history.

In: B history vectors, N candidate vectors, and which candidates each history took. Out: the mean
cross-entropy on the graph. N is the whole catalogue, or a sample of it whose log q is subtracted,
so that either way the same thing is learned: ``cosine / temperature = log p(item | history)`` plus
a constant. The gradient is formed on the way forward, in the memory of the logits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from ..core import normalize


@dataclass(frozen=True, eq=False)
class Targets:
    """Which candidates B histories are to find, and which they must not be told apart from.

    Attributes:
        owners: int64 [T], the history of each target.
        columns: int64 [T], the candidate it is.
        weights: float32 [T]; those of one history add up to 1.
        hidden_owners, hidden_columns: int64 [H], pairs taken out of the comparison (what the
            history holds already).
    """

    owners: Tensor
    columns: Tensor
    weights: Tensor
    hidden_owners: Tensor
    hidden_columns: Tensor


def softmax_loss(
    histories: Tensor,
    candidates: Tensor,
    targets: Targets,
    *,
    temperature: float,
    log_q: Tensor | None = None,
    prior: Tensor | None = None,
) -> Tensor:
    """Ask each history for its targets among all candidates.

    Args:
        histories: float [B, D], put on the sphere here.
        candidates: float [N, D], likewise.
        targets: What each history is to find.
        temperature: Above 0.
        log_q: float [N], log probability that a candidate is among the N; it is *subtracted* from
            the logits of all candidates but a history's own targets, which are there for certain.
            None when all items compete.
        prior: float [N], added to all logits in training only: what the vectors then need not say.

    Returns:
        Mean over the histories of the weighted negative log likelihood, in nats.

    Source: sampled softmax (Bengio and Senecal 2008) as a Horvitz-Thompson estimate; the prior
    after logit adjustment (arXiv 2007.07314).
    """
    shift = torch.zeros(len(candidates)) if log_q is None else -log_q
    own = shift[targets.columns].clone()
    if prior is not None:
        shift = shift + prior
    loss = _Softmax.apply(  # type: ignore[no-untyped-call]
        normalize(histories), normalize(candidates), targets, temperature, shift, own
    )
    return cast(Tensor, loss)


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        histories: Tensor,
        candidates: Tensor,
        targets: Targets,
        temperature: float,
        shift: Tensor,
        own: Tensor,
    ) -> Tensor:
        rows = len(histories)
        logits = torch.addmm(shift.expand(rows, -1), histories, candidates.T, alpha=1 / temperature)
        logits[targets.hidden_owners, targets.hidden_columns] = -torch.inf
        logits[targets.owners, targets.columns] -= own
        logits -= logits.amax(dim=1, keepdim=True)
        reached = logits[targets.owners, targets.columns]
        total = logits.exp_().sum(dim=1, keepdim=True)
        loss = (targets.weights * (total.log().squeeze(1)[targets.owners] - reached)).sum() / rows
        # From here on the logits' memory holds the gradient: probabilities minus targets.
        logits /= total
        flat = targets.owners * logits.shape[1] + targets.columns
        logits.view(-1).index_add_(0, flat, -targets.weights)
        slope = 1.0 / (temperature * rows)
        ctx.save_for_backward(slope * (logits @ candidates), slope * (logits.T @ histories))
        return loss

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:
        (incoming,) = grad_outputs
        by_histories, by_candidates = ctx.saved_tensors
        return incoming * by_histories, incoming * by_candidates, None, None, None, None
