"""Slow twins: the same answers by the longest road.

Every fast function of the library has a twin here, written from its definition: float64, one row
at a time, derivatives by autograd alone, nothing reused between rows. A section per room; a test
compares the two. The twins import nothing from the library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

# --- core: the sphere ---------------------------------------------------------------------------


def naive_unit(x: Tensor) -> Tensor:
    """Each row over its length; a row without length stays as it is."""
    rows = [row / row.norm() if float(row.detach().norm()) > 0 else row for row in x]
    return torch.stack(rows) if rows else x


def naive_geometry(anchors: Tensor, positives: Tensor) -> dict[str, float]:
    """The numbers of ``Geometry``, pair by pair and with an SVD."""
    a, p = naive_unit(anchors.detach().double()), naive_unit(positives.detach().double())
    rows, width = a.shape
    within: dict[str, list[float]] = {"a": [], "p": []}
    cross: list[float] = []
    closeness: list[float] = []
    for i in range(rows):
        for j in range(rows):
            if i == j:
                continue
            within["a"].append(float(a[i] @ a[j]))
            within["p"].append(float(p[i] @ p[j]))
            cosine = float(a[i] @ p[j])
            cross.append(cosine)
            closeness.append(math.exp(-2 * (2 - 2 * cosine)))
    pairs = rows * (rows - 1)
    uniformity = math.log(sum(closeness) / pairs)
    deviations = [
        math.sqrt(sum((float(v) - float(view[:, d].mean())) ** 2 for v in view[:, d]) / rows)
        for view in (a, p)
        for d in range(width)
    ]
    return {
        "alignment": sum(float((a[i] - p[i]).square().sum()) for i in range(rows)) / rows,
        "uniformity": uniformity,
        "uniformity_gap": uniformity - (-2 * 2 + 2 * 2**2 / width),
        "mean_cosine": max(sum(within["a"]) / pairs, sum(within["p"]) / pairs),
        "max_cosine": max(cross),
        "cross_cosine": sum(cross) / pairs,
        "deviation": min(deviations) * math.sqrt(width),
        "effective_rank": min(naive_effective_rank(view) for view in (a, p)),
        "effective_rank_centred": min(naive_effective_rank(v - v.mean(dim=0)) for v in (a, p)),
        "zero_norm_rows": sum(float(row.norm()) == 0 for view in (a, p) for row in view),
    }


def naive_effective_rank(x: Tensor) -> float:
    """exp of the entropy of the singular values (Roy & Vetterli 2007)."""
    singular = torch.linalg.svdvals(x.double())
    if float(singular[0]) == 0:
        return 1.0
    shares = [float(s / singular.sum()) for s in singular]
    return math.exp(-sum(share * math.log(share) for share in shares if share > 1e-9))


# --- core: masks --------------------------------------------------------------------------------


def naive_same(left: Tensor, right: Tensor) -> Tensor:
    """True where two labels are one, label by label."""
    return torch.tensor([[int(i) == int(j) for j in right] for i in left], dtype=torch.bool)


def naive_pairs(pairs: Tensor, size: int) -> Tensor:
    """True where two rows were named together, either way round."""
    told = {(int(i), int(j)) for i, j in pairs} | {(int(j), int(i)) for i, j in pairs}
    return torch.tensor([[(i, j) in told for j in range(size)] for i in range(size)])


# --- core: the objective ------------------------------------------------------------------------


@dataclass(frozen=True)
class NaiveSettings:
    """What the twin needs to know; the names are those of ``ObjectiveConfig``."""

    layout: str = "cross"
    symmetric: bool = True
    loss: str = "softmax"
    decoupled: bool = False
    debias: float = 0.0
    hardness: float = 0.0
    log_q_weight: float = 1.0
    margin: float | None = None
    variance_weight: float = 0.0
    covariance_weight: float = 0.0
    whitening: bool = False


@dataclass(frozen=True)
class NaivePool:
    """Candidates of all ranks; row i of the batch stands at ``offset + i``."""

    anchors: Tensor
    positives: Tensor
    offset: int
    padding: Tensor | None = None


@dataclass
class NaiveStep:
    """The loss and what was counted on the way, all sides together."""

    loss: Tensor
    kept: list[int] = field(default_factory=list)
    masked: int = 0
    beaten: int = 0


@dataclass(frozen=True)
class _Column:
    """One candidate of one row."""

    vector: Tensor
    log_q: Tensor | None
    is_positive: bool
    is_self: bool
    is_padding: bool
    is_masked: bool


def naive_objective(
    settings: NaiveSettings,
    anchors: Tensor,
    positives: Tensor,
    log_scale: Tensor,
    logit_bias: Tensor,
    *,
    mask: Tensor | None = None,
    negative_mask: Tensor | None = None,
    log_q: Tensor | None = None,
    negatives: Tensor | None = None,
    negative_log_q: Tensor | None = None,
    pool: NaivePool | None = None,
) -> NaiveStep:
    """The loss of a batch.

    ``mask`` is bool [B, B] ([B, G] with a pool), ``negative_mask`` bool [B, M]; True is no
    negative. Corrections reach a side only where its candidates are the positives, which is what
    was drawn.
    """
    raw = (anchors, positives)
    if settings.whitening:
        anchors, positives = naive_whiten(anchors), naive_whiten(positives)
        raw = (anchors, positives)
    a, p = naive_unit(anchors), naive_unit(positives)
    if pool is None:
        everyone = NaivePool(a, p, 0)
    else:
        everyone = NaivePool(
            naive_unit(pool.anchors), naive_unit(pool.positives), pool.offset, pool.padding
        )
    given = None if negatives is None else naive_unit(negatives)

    def side(queries: Tensor, own: Tensor, candidates: Tensor, same_view: Tensor, back: bool):
        losses = []
        for i in range(len(queries)):
            here = everyone.offset + i
            columns: list[_Column] = []
            if settings.layout == "queue":
                correction = None if log_q is None else log_q[here]
                columns.append(_Column(own[i], correction, True, False, False, False))
            else:
                for j in range(len(candidates)):
                    correction = None if log_q is None or back else log_q[j]
                    padding = everyone.padding is not None and bool(everyone.padding[j])
                    masked = mask is not None and bool(mask[i, j])
                    columns.append(
                        _Column(candidates[j], correction, j == here, False, padding, masked)
                    )
            if settings.layout in ("both-blocks", "ntxent"):
                for j in range(len(same_view)):
                    padding = everyone.padding is not None and bool(everyone.padding[j])
                    masked = mask is not None and bool(mask[i, j])
                    columns.append(_Column(same_view[j], None, False, j == here, padding, masked))
            if given is not None and not back:
                for m in range(len(given)):
                    correction = None if negative_log_q is None else negative_log_q[m]
                    masked = negative_mask is not None and bool(negative_mask[i, m])
                    columns.append(_Column(given[m], correction, False, False, False, masked))
            losses.append(_naive_row(settings, queries[i], columns, log_scale, logit_bias, step))
        return sum(losses) / len(losses)

    step = NaiveStep(loss=torch.zeros(()))
    loss = side(a, p, everyone.positives, everyone.anchors, False)
    if settings.symmetric or settings.layout == "ntxent":
        loss = (loss + side(p, a, everyone.anchors, everyone.positives, True)) / 2
    for view in raw:
        loss = loss + settings.variance_weight * naive_variance(view)
        loss = loss + settings.covariance_weight * naive_covariance(view)
    step.loss = loss
    return step


def _naive_row(
    settings: NaiveSettings,
    query: Tensor,
    columns: list[_Column],
    log_scale: Tensor,
    logit_bias: Tensor,
    step: NaiveStep,
) -> Tensor:
    scale = log_scale.exp()
    (positive,) = (c for c in columns if c.is_positive)
    own_cosine = query @ positive.vector

    def logit(column: _Column) -> Tensor:
        value = scale * (query @ column.vector)
        if column.log_q is not None:
            value = value - settings.log_q_weight * column.log_q
        return value + logit_bias if settings.loss == "sigmoid" else value

    kept: list[_Column] = []
    for column in columns:
        if column.is_positive or column.is_self or column.is_padding:
            continue
        cosine = float((query @ column.vector).detach())
        too_near = settings.margin is not None and cosine > float(own_cosine) + settings.margin
        if column.is_masked or too_near:
            step.masked += 1
        else:
            kept.append(column)
    step.kept.append(len(kept))
    step.beaten += any(float(query @ c.vector) > float(own_cosine) for c in kept)

    own = logit(positive)
    others = torch.stack([logit(c) for c in kept])
    if settings.loss == "sigmoid":
        # SigLIP 2303.15343, algorithm 1: -log sigmoid(z) of the positive, -log sigmoid(-z) of
        # each negative; the division by B is the mean over rows.
        return torch.log1p(torch.exp(-own)) + torch.log1p(torch.exp(others)).sum()
    terms = others.exp()
    count = len(kept)
    if settings.hardness:
        # 2010.04592 eq. 4: q(x-) proportional to exp(beta f.f) p(x-), by importance weights whose
        # mean is one.
        weight = (settings.hardness * others).exp()
        terms = terms * weight / weight.mean()
    total = terms.sum()
    if settings.debias:
        # 2007.00224 eq. 8 with M = 1, floor exp(-1/t).
        estimate = (total / count - settings.debias * own.exp()) / (1 - settings.debias)
        total = count * torch.maximum(estimate, torch.exp(-scale))
    if settings.decoupled:
        return total.log() - own  # DCL 2110.06848, eq. 6
    return (own.exp() + total).log() - own


def naive_variance(x: Tensor) -> Tensor:
    """VICReg 2105.04906 eq. 1: hinge on the deviation, epsilon 1e-4."""
    rows, width = x.shape
    shortfall = x.new_zeros(())
    for d in range(width):
        variance = (x[:, d] - x[:, d].mean()).square().sum() / (rows - 1)
        shortfall = shortfall + torch.relu(1 - (variance + 1e-4).sqrt())
    return shortfall / width


def naive_covariance(x: Tensor) -> Tensor:
    """VICReg eq. 3-4: squared off-diagonal covariances over D."""
    rows, width = x.shape
    centred = x - x.mean(dim=0)
    total = x.new_zeros(())
    for d in range(width):
        for e in range(width):
            if d != e:
                total = total + ((centred[:, d] * centred[:, e]).sum() / (rows - 1)).square()
    return total / width


def naive_whiten(x: Tensor) -> Tensor:
    """W-MSE 2007.06346: the inverse Cholesky factor of the covariance, applied to each row."""
    centred = x - x.mean(dim=0)
    factor = torch.linalg.cholesky(centred.T @ centred / (len(x) - 1))
    return torch.stack([torch.linalg.inv(factor) @ row for row in centred])
