"""A pass as one node of the autograd graph.

In: rows, positives, candidate parts and the scale, all on the graph. Out: the mean loss on the
graph, and the pass's own report. The gradients were computed on the way forward, while each tile
was in the cache; going backward only multiplies them by the incoming slope.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from ..errors import GradientError
from .layout import Lane
from .tiling import PassPlan, PassResult, run_pass


def contrast(
    rows: Tensor,
    positives: Tensor,
    parts: Sequence[Tensor],
    log_scale: Tensor,
    logit_bias: Tensor,
    lane: Lane,
    plan: PassPlan,
) -> tuple[Tensor, PassResult]:
    """Contrast rows with their candidates.

    Args:
        rows: Unit vectors that ask, [B, D].
        positives: The unit vector each row should find, [B, D].
        parts: Candidate blocks in the order of the lane, each [., D].
        log_scale: log(1 / temperature), scalar.
        logit_bias: The bias the plan's loss adds to its logits, scalar; here for its gradient.
        lane: How the parts are laid side by side.
        plan: Loss, masks and what to report.

    Returns:
        The mean loss on the graph, and the report of the pass.
    """
    reports: list[PassResult] = []
    apply = cast(Callable[..., Tensor], _Contrast.apply)
    loss = apply(rows, positives, log_scale, logit_bias, lane, plan, reports, *parts)
    return loss, reports[0]


class _Contrast(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        positives: Tensor,
        log_scale: Tensor,
        logit_bias: Tensor,  # noqa: ARG004 - the row loss holds its value, the graph its gradient
        lane: Lane,
        plan: PassPlan,
        reports: list[PassResult],
        *parts: Tensor,
    ) -> Tensor:
        scale = log_scale.to(rows.dtype).exp()
        columns, bias = lane.columns(parts), lane.positive_bias(len(rows))
        result = run_pass(rows, positives, columns, scale, bias, plan)
        reports.append(result)
        split = torch.split(result.grad_columns, [len(part) for part in parts])
        by_log_scale = (result.grad_scale * scale).to(log_scale.dtype)
        by_bias = result.grad_logit_bias.to(log_scale.dtype)
        ctx.save_for_backward(
            result.grad_rows, result.grad_positives, by_log_scale, by_bias, *split
        )
        return result.loss

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise GradientError(
                "the contrastive loss has first derivatives only, since they are computed on the "
                "way forward; leave create_graph out"
            )
        (slope,) = grad_outputs
        rows, positives, scale, bias, *parts = (slope * g for g in ctx.saved_tensors)
        return (rows, positives, scale, bias, None, None, None, *parts)
