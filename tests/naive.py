"""Slow twins: the same answers by the longest road.

Every fast function of the library has a twin here, written from its definition: float64, one row
at a time, derivatives by autograd alone, nothing reused between rows. A section per room; a test
compares the two. The twins import nothing from the library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

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
    kink: float = math.inf
    """How near the debiased mean of any row came to its floor, where the gradient jumps."""


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
        if settings.variance_weight:
            loss = loss + settings.variance_weight * naive_variance(view)
        if settings.covariance_weight:
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
    cosines = torch.stack([column.vector for column in columns]) @ query
    (at,) = (k for k, column in enumerate(columns) if column.is_positive)

    def logit(k: int) -> Tensor:
        value, log_q = scale * cosines[k], columns[k].log_q
        if log_q is not None:
            value = value - settings.log_q_weight * log_q
        return value + logit_bias if settings.loss == "sigmoid" else value

    own_cosine, kept = float(cosines[at].detach()), []
    for k, column in enumerate(columns):
        if k == at or column.is_self or column.is_padding:
            continue
        cosine = float(cosines[k].detach())
        too_near = settings.margin is not None and cosine > own_cosine + settings.margin
        if column.is_masked or too_near:
            step.masked += 1
        else:
            kept.append(k)
    step.kept.append(len(kept))
    step.beaten += any(float(cosines[k].detach()) > own_cosine for k in kept)

    own = logit(at)
    others = torch.stack([logit(k) for k in kept])
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
        floor = torch.exp(-scale)
        step.kink = min(step.kink, abs(float((estimate / floor).detach()) - 1))
        total = count * torch.maximum(estimate, floor)
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


# --- core: bags, queues, samplers, readings ------------------------------------------------------


def naive_bag_mean(lists: list[list[int]], weights: list[list[float]], table: Tensor) -> Tensor:
    """Weighted mean of table rows, one bag at a time."""
    means = []
    for indices, heavy in zip(lists, weights, strict=True):
        total = torch.zeros(table.shape[1], dtype=torch.float64)
        for index, weight in zip(indices, heavy, strict=True):
            total = total + weight * table[index].double()
        means.append(total / sum(heavy))
    return torch.stack(means)


def naive_queue(size: int, batches: list[list[int]]) -> list[int]:
    """The newest ``size`` ids, oldest first, kept in a plain list."""
    kept: list[int] = []
    for batch in batches:
        for one in batch:
            kept.append(one)
            if len(kept) > size:
                kept.pop(0)
    return kept


def naive_crop(window: Tensor, start: float, length: float) -> Tensor:
    """Read [L, C] at L even places of [start, start + length], between neighbours."""
    steps = window.shape[0]
    out = []
    for i in range(steps):
        place = start + length * (i / (steps - 1) if steps > 1 else 0.0)
        left = min(int(place), steps - 1)
        right = min(left + 1, steps - 1)
        out.append(window[left] + (place - left) * (window[right] - window[left]))
    return torch.stack(out)


def naive_softmax_reading(a: Tensor, p: Tensor, temperature: float) -> tuple[float, float]:
    """Mean entropy and mean largest weight of each anchor's softmax over all positives."""
    a, p = naive_unit(a.double()), naive_unit(p.double())
    entropy, largest = 0.0, 0.0
    for row in a:
        powers = [math.exp(float(row @ other) / temperature) for other in p]
        weights = [power / sum(powers) for power in powers]
        entropy -= sum(w * math.log(w) for w in weights if w > 0)
        largest += max(weights)
    return entropy / len(a), largest / len(a)


# --- forecasting: windows -----------------------------------------------------------------------


def naive_windows(
    series: list[tuple[int, list[float]]], lookback: int, horizon: int
) -> list[tuple[int, int, list[float], list[float]]]:
    """Step complete, series, past and continuation of every whole window, by that order."""
    found = []
    for number, (start, values) in enumerate(series):
        for first in range(len(values) - lookback - horizon + 1):
            rows = values[first : first + lookback + horizon]
            if not any(math.isnan(value) for value in rows):
                complete = start + first + lookback + horizon - 1
                found.append((complete, number, rows[:lookback], rows[lookback:]))
    return sorted(found, key=lambda window: window[:2])


def naive_moments(window: list[float]) -> tuple[float, float]:
    """Mean and population deviation, in exact fractions."""
    exact = [Fraction(value) for value in window]
    mean = sum(exact, Fraction()) / len(exact)
    variance = sum(((value - mean) ** 2 for value in exact), Fraction()) / len(exact)
    return float(mean), math.sqrt(variance)


def naive_overlap(rows: list[tuple[int, int]], span: int) -> list[list[bool]]:
    """Whether two (series, end) windows share a row, row by row."""
    covered = [{(series, end - place) for place in range(span)} for series, end in rows]
    return [[bool(mine & other) for other in covered] for mine in covered]


def naive_normalised(window: list[float], kind: str, deviation: float) -> list[float]:
    """A past in its own units, from the definition of each kind (floor 0.2, cap 10)."""
    mean, spread = naive_moments(window)
    base = {"mean": mean, "last": window[-1], "z": mean, "none": 0.0}[kind]
    scale = {
        "mean": deviation,
        "last": deviation,
        "z": min(max(spread, 0.2 * deviation), 2.0 * deviation),
        "none": 1.0,
    }[kind]
    return [(value - base) / scale for value in window]


# --- core: index, mining, monitoring --------------------------------------------------------------


def naive_neighbours(
    queries: list[list[float]],
    vectors: list[list[float]],
    ids: list[object],
    k: int,
    *,
    eligible: list[list[bool]] | None = None,
    upto: list[int] | None = None,
    at_least: float = -2.0,
) -> list[list[tuple[object, float]]]:
    """(id, similarity) of each query's neighbours: every pair, one sort; vectors are unit."""
    answers = []
    for q, query in enumerate(queries):
        found = []
        for row, vector in enumerate(vectors):
            if eligible is not None and not eligible[q][row]:
                continue
            if upto is not None and row >= upto[q]:
                continue
            similarity = math.fsum(a * b for a, b in zip(query, vector, strict=True))
            similarity = float(torch.tensor(similarity, dtype=torch.float32))
            if similarity >= at_least:
                found.append((ids[row], min(1.0, max(-1.0, similarity))))
        answers.append(sorted(found, key=lambda one: (-one[1], one[0]))[:k])
    return answers


def naive_recall(
    queries: list[list[float]], vectors: list[list[float]], answered: list[list[int]], k: int
) -> float:
    """Share of the k nearest that were answered; a row as near as the k-th is as good."""
    shares = []
    for query, rows in zip(queries, answered, strict=True):
        near = [math.fsum(a * b for a, b in zip(query, v, strict=True)) for v in vectors]
        wanted = min(k, len(vectors))
        kth = sorted(near, reverse=True)[wanted - 1]
        good = sum(near[row] >= kth - 1e-6 for row in set(rows))
        shares.append(min(good, wanted) / wanted)
    return sum(shares) / len(shares)


def naive_negatives(
    ranked: list[list[tuple[int, float]]],
    positive: list[int],
    nearness: list[float],
    content: list[object],
    *,
    count: int,
    skip: int,
    lowest: float,
    highest: float,
    share: float,
) -> list[list[int]]:
    """Rows mined for each anchor, candidate by candidate, from (row, similarity) lists."""
    mined = []
    for candidates, own, near in zip(ranked, positive, nearness, strict=True):
        ceiling = min(highest, near - (1 - share) * abs(near))
        said: list[object] = []
        chosen: list[int] = []
        for place, (row, similarity) in enumerate(candidates):
            repeat = content[row] in said
            said.append(content[row])
            if place < skip or row == own or content[row] == content[own] or repeat:
                continue
            if lowest <= similarity <= ceiling and len(chosen) < count:
                chosen.append(row)
        mined.append(chosen)
    return mined


def naive_ks(a: list[float], b: list[float]) -> float:
    """Largest gap between two empirical distributions."""
    return max(
        abs(sum(v <= x for v in a) / len(a) - sum(v <= x for v in b) / len(b)) for x in a + b
    )
