"""The contrastive objective: one class, a declared candidate layout, and options.

In: a batch of anchor and positive embeddings [B, D] (any length: they are put on the sphere
here). Out: a :class:`StepResult` with the loss on the autograd graph and everything a run should
log. The work itself is in ``tiling`` (the pass) and ``rows`` (the losses); here the candidates are
chosen and the sides are joined.

``score(anchor, candidate) = log p(candidate | anchor) - log q(candidate) + constant``: what the
negatives were drawn from (q) is part of what is learned, hence ``log_q``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn

from ..errors import SettingError, ShapeError
from ..geometry import (
    check_finite,
    check_pair,
    finish_geometry,
    measure_geometry,
    normalize,
)
from .config import LARGEST_LOG_SCALE, Layout, ObjectiveConfig, require_temperature
from .contrast import contrast
from .layout import Lane, Pool
from .masks import CandidateMask
from .regularisers import covariance_penalty, variance_penalty, whiten
from .rows import RowLoss, SigmoidRows, SoftmaxRows
from .step import StepResult
from .tiling import PassPlan, PassResult


class ContrastiveObjective(nn.Module):
    """InfoNCE and its relatives over a declared candidate layout.

    Memory is O(B x tile), never O(B^2); loss, gradients and geometry come from one pass. Logits
    are float32 under autocast. Gradient accumulation does *not* enlarge the candidate set; for
    more negatives than fit in memory, chunk the encoder instead (``chunked_step``).

    Args:
        layout: Who the candidates are; this and all further settings are explained in
            :class:`ObjectiveConfig`, which the objective keeps as ``config``.

    Raises:
        SettingError, DegenerateTemperature: Settings that cannot work.

    >>> objective = ContrastiveObjective("cross", min_negatives=1)
    >>> step = objective(torch.eye(4), torch.eye(4))
    >>> step.candidates_min, step.masked
    (4, 0)
    """

    def __init__(
        self,
        layout: Layout = "cross",
        *,
        symmetric: bool = True,
        temperature: float = 0.07,
        learnable: bool = True,
        loss: Literal["softmax", "sigmoid"] = "softmax",
        decoupled: bool = False,
        debias: float = 0.0,
        hardness: float = 0.0,
        log_q_weight: float = 1.0,
        margin: float | None = None,
        min_negatives: int = 16,
        variance_weight: float = 0.0,
        covariance_weight: float = 0.0,
        whitening: bool = False,
    ) -> None:
        super().__init__()
        self.config = ObjectiveConfig(
            layout=layout,
            symmetric=symmetric,
            temperature=temperature,
            learnable=learnable,
            loss=loss,
            decoupled=decoupled,
            debias=debias,
            hardness=hardness,
            log_q_weight=log_q_weight,
            margin=margin,
            min_negatives=min_negatives,
            variance_weight=variance_weight,
            covariance_weight=covariance_weight,
            whitening=whitening,
        )
        log_scale = torch.tensor(-math.log(self.config.temperature))
        self.log_scale: Tensor
        if self.config.learnable:
            self.log_scale = nn.Parameter(log_scale)
        else:
            self.register_buffer("log_scale", log_scale)
        # SigLIP starts at -10 so that the many negatives do not swamp the first steps.
        logit_bias = torch.tensor(-10.0 if self.config.loss == "sigmoid" else 0.0)
        self.logit_bias: Tensor
        if self.config.loss == "sigmoid":
            self.logit_bias = nn.Parameter(logit_bias)
        else:
            self.register_buffer("logit_bias", logit_bias, persistent=False)

    @property
    def temperature(self) -> float:
        """The temperature in force."""
        return math.exp(-float(self.log_scale.detach()))

    @torch.no_grad()
    def clamp_(self) -> None:
        """Keep a learnable temperature in [0.01, 1]; call after the optimiser step.

        Clamping the parameter after the step, not the value inside the loss, keeps the gradient
        alive at the bound (CLIP's own cure).
        """
        if self.config.learnable:
            self.log_scale.clamp_(0.0, LARGEST_LOG_SCALE)

    def forward(
        self,
        anchors: Tensor,
        positives: Tensor,
        *,
        masks: Sequence[CandidateMask] = (),
        log_q: Tensor | None = None,
        negatives: Tensor | None = None,
        negative_log_q: Tensor | None = None,
        pool: Pool | None = None,
    ) -> StepResult:
        """Score a batch.

        Args:
            anchors: Embeddings that ask, [B, D].
            positives: The partner of each anchor, [B, D].
            masks: Known false negatives.
            log_q: log of the probability that each positive was drawn as a candidate, [B]
                ([G] with a pool).
            negatives: Given or queued negatives, [M, D] (``explicit`` and ``queue`` only).
            negative_log_q: The same for them, [M].
            pool: Candidates of all ranks.

        Returns:
            The step: loss on the graph, counts, temperature, geometry.

        Raises:
            ShapeError, NonFiniteError: Embeddings that are not two aligned finite matrices.
            TooFewNegatives: A row keeps fewer than ``min_negatives``.
            DegenerateTemperature: The temperature fell to 0.001 or is not a number.
        """
        check_pair(anchors, positives)
        self._check_negatives(anchors, negatives, negative_log_q)
        self._check_pool(anchors, log_q, pool)
        require_temperature(self.temperature)
        with torch.autocast(anchors.device.type, enabled=False):
            raw = (self._ready(anchors), self._ready(positives))
            a, p = normalize(raw[0]), normalize(raw[1])
            plan = PassPlan(
                row_loss=self._row_loss(),
                masks=masks,
                margin=self.config.margin,
                min_negatives=self.config.min_negatives,
                measure=self.config.layout != "queue" and pool is None,
                with_gradient=torch.is_grad_enabled(),
            )
            loss, results = self._contrast(a, p, plan, log_q, negatives, negative_log_q, pool)
            loss = loss + self._penalty(*raw)
        return self._report(loss, results, a, p)

    def _ready(self, x: Tensor) -> Tensor:
        x = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        return whiten(x) if self.config.whitening else x

    def _row_loss(self) -> RowLoss:
        if self.config.loss == "sigmoid":
            return SigmoidRows(self.logit_bias.detach())
        return SoftmaxRows(self.config.decoupled, self.config.debias, self.config.hardness)

    def _check_negatives(
        self, anchors: Tensor, negatives: Tensor | None, log_q: Tensor | None
    ) -> None:
        wanted = self.config.layout in ("queue", "explicit")
        if wanted != (negatives is not None):
            raise SettingError(
                f"layout {self.config.layout!r} {'needs' if wanted else 'takes no'} given "
                "negatives; choose 'explicit' or 'queue' to pass them"
            )
        if negatives is not None and negatives.shape[1:] != anchors.shape[1:]:
            raise ShapeError(
                f"negatives {tuple(negatives.shape)} must be [M, {anchors.shape[1]}], the width "
                "of the anchors"
            )
        if negatives is None and log_q is not None:
            raise SettingError("negative_log_q was given without negatives; pass both or neither")
        check_finite(negatives=negatives, negative_log_q=log_q)
        _require_length("negative_log_q", log_q, 0 if negatives is None else len(negatives))

    def _check_pool(self, anchors: Tensor, log_q: Tensor | None, pool: Pool | None) -> None:
        check_finite(log_q=log_q)
        _require_length("log_q", log_q, len(anchors if pool is None else pool.anchors))
        if pool is None:
            return
        if self.config.whitening:
            raise SettingError("whitening knows one rank's batch alone; leave it off with a pool")
        check_pair(pool.anchors, pool.positives)
        _require_length("padding", pool.padding, len(pool.anchors))
        if not 0 <= pool.offset <= len(pool.anchors) - len(anchors):
            raise ShapeError(
                f"{len(anchors)} rows at offset {pool.offset} do not lie in a pool of "
                f"{len(pool.anchors)}; the pool holds the rows of all ranks, this one's included"
            )

    def _contrast(
        self,
        a: Tensor,
        p: Tensor,
        plan: PassPlan,
        log_q: Tensor | None,
        negatives: Tensor | None,
        negative_log_q: Tensor | None,
        pool: Pool | None,
    ) -> tuple[Tensor, list[PassResult]]:
        everyone = pool or Pool(a, p, 0)
        all_a = a if pool is None else normalize(pool.anchors)
        all_p = p if pool is None else normalize(pool.positives)
        given = None if negatives is None else normalize(self._ready(negatives))
        weight = -self.config.log_q_weight
        bias = None if log_q is None else weight * log_q.to(a.dtype)
        given_bias = None if negative_log_q is None else weight * negative_log_q.to(a.dtype)

        layout = self.config.layout
        blocks = {"both-blocks": 2, "ntxent": 2, "queue": 0}.get(layout, 1)
        forward = Lane(blocks, everyone.offset, len(all_p), bias, given_bias, everyone.padding)
        parts = {0: [], 1: [all_p], 2: [all_p, all_a]}[blocks] + ([] if given is None else [given])
        loss, result = contrast(a, p, parts, self.log_scale, self.logit_bias, forward, plan)
        if not self.config.symmetric:
            return loss, [result]
        # From the other side the candidates are anchors, which nobody sampled: no log q.
        backward = Lane(blocks, everyone.offset, len(all_a), None, None, everyone.padding)
        parts = [all_a, all_p][:blocks]
        plan = replace(plan, measure=False)
        other, second = contrast(p, a, parts, self.log_scale, self.logit_bias, backward, plan)
        return (loss + other) / 2, [result, second]

    def _penalty(self, a: Tensor, p: Tensor) -> Tensor | float:
        penalty: Tensor | float = 0.0
        if self.config.variance_weight:
            penalty = self.config.variance_weight * (variance_penalty(a) + variance_penalty(p))
        if self.config.covariance_weight:
            both = covariance_penalty(a) + covariance_penalty(p)
            penalty = penalty + self.config.covariance_weight * both
        return penalty

    def _report(self, loss: Tensor, results: list[PassResult], a: Tensor, p: Tensor) -> StepResult:
        first, kept = results[0], torch.cat([r.negatives for r in results])
        masked = sum(r.masked for r in results)
        with torch.no_grad():
            geometry = (
                finish_geometry(a, p, first.tally) if first.tally.pairs else measure_geometry(a, p)
            )
        log_scale = float(self.log_scale.detach())
        at_bound = log_scale <= 1e-6 or log_scale >= LARGEST_LOG_SCALE - 1e-6
        return StepResult(
            loss=loss,
            candidates_min=int(kept.min()) + 1,
            candidates_mean=float(kept.mean()) + 1,
            chance_loss=self._chance_loss(kept),
            masked=masked,
            beaten_share=sum(r.beaten for r in results) / len(kept),
            temperature=self.temperature,
            saturated=self.config.learnable and at_bound,
            geometry=geometry,
        )

    def _chance_loss(self, negatives: Tensor) -> float:
        if self.config.loss == "sigmoid":
            return math.nan
        return float(torch.log(negatives if self.config.decoupled else negatives + 1).mean())


def _require_length(name: str, values: Tensor | None, length: int) -> None:
    if values is not None and values.shape != (length,):
        raise ShapeError(
            f"{name} has shape {tuple(values.shape)} and must be [{length}], one entry a candidate"
        )
