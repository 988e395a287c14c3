"""The sphere: the one normalisation, and what a healthy embedding looks like on it.

In: two aligned batches of vectors (anchors and their positives). Out: a :class:`Geometry`, the
numbers that tell a space that learned something from one that collapsed. The objective feeds the
same :class:`CosineTally` with the tiles it computes anyway, so a training step pays almost
nothing for its geometry, and gets the numbers :func:`measure_geometry` would give.

To add a diagnostic, add a field to ``Geometry`` and fill it in ``finish_geometry``.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import torch
from torch import Tensor

from .errors import DimensionalCollapse, NonFiniteError, RepresentationCollapse, ShapeError

UNIFORMITY_T = 2.0
"""The t of the uniformity loss (Wang & Isola, arXiv 2005.10242, eq. 2)."""

COLLAPSE_COSINE = 0.9
DIMENSIONAL_SHARE = 0.2
_TILE_ELEMENTS = 1 << 18  # one tile of float32 cosines is 1 MiB: it stays in the L2 cache


def normalize(x: Tensor) -> Tensor:
    """Put vectors on the unit sphere: the only normalisation in the library.

    Loss, geometry and index all call this function, so they can never disagree about what a
    similarity is. Half-precision input comes back as float32. A vector of length zero has no
    direction; it stays zero, and whoever cares counts it (see ``Geometry.zero_norm_rows``).

    Args:
        x: Vectors, shape [..., D].

    Returns:
        Vectors of length one (or zero), shape [..., D].

    >>> normalize(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    if x.dtype in (torch.float16, torch.bfloat16):
        x = x.float()
    # Dividing by the largest entry first keeps 1e-30 and 1e30 from under- or overflowing.
    largest = x.detach().abs().amax(dim=-1, keepdim=True)
    x = x / torch.where(largest > 0, largest, 1.0)
    square = x.square().sum(dim=-1, keepdim=True)
    return x / torch.where(square > 0, square, 1.0).sqrt()


@dataclass(frozen=True, slots=True)
class Geometry:
    """How a batch of embeddings lies on the sphere.

    Attributes:
        alignment: Mean squared distance of an anchor to its positive, in [0, 4]; 0 is perfect.
        uniformity: log of the mean of exp(-2 d^2) over all pairs that are not positives, in
            [-8, 0]; lower is more evenly spread.
        uniformity_gap: How far above the bound of a uniform sphere, -2t + 2t^2/D; 0 is ideal.
        mean_cosine: Mean cosine of two different rows of the same view, the larger of the two
            views, so that one collapsed tower cannot hide behind a healthy one.
        max_cosine: Largest cosine of an anchor with another row's positive.
        cross_cosine: Mean cosine of an anchor with another row's positive.
        deviation: Smallest per-dimension standard deviation, times sqrt(D); about 1 when every
            dimension is used equally, 0 when one is dead.
        effective_rank: exp of the entropy of the singular values (Roy & Vetterli 2007), the
            smaller of the two views, in [1, D].
        effective_rank_centred: The same after removing the mean: the rank of the *differences*.
        zero_norm_rows: Rows without a direction.
        rows: B. width: D.
    """

    alignment: float
    uniformity: float
    uniformity_gap: float
    mean_cosine: float
    max_cosine: float
    cross_cosine: float
    deviation: float
    effective_rank: float
    effective_rank_centred: float
    zero_norm_rows: int
    rows: int
    width: int


class CosineTally:
    """Running sums over tiles of raw cosines, taken before any scale, shift or mask."""

    def __init__(self) -> None:
        self.total = 0.0
        self.spread = 0.0
        self.largest = -1.0
        self.pairs = 0

    def add(self, cosines: Tensor, row_max: Tensor, scratch: Tensor) -> None:
        """Count one tile.

        Args:
            cosines: Tile [T, B] in which the positive of each row is already -inf.
            row_max: Largest cosine of each row, [T].
            scratch: A buffer of the tile's shape, overwritten.
        """
        # 2t (cosine - 1) = -t distance^2 in one sweep, since the sweeps are what a tile costs.
        at_one = cosines.new_full((), -2 * UNIFORMITY_T)
        torch.add(at_one, cosines, alpha=2 * UNIFORMITY_T, out=scratch).exp_()
        self.spread += float(scratch.sum())
        self.largest = max(self.largest, float(row_max.max()))
        self.pairs += cosines.shape[0] * (cosines.shape[1] - 1)


def measure_geometry(anchors: Tensor, positives: Tensor) -> Geometry:
    """Measure how a batch lies on the sphere.

    Args:
        anchors: Vectors, shape [B, D], of any length (they are normalised here).
        positives: The partner of each anchor, shape [B, D].

    Returns:
        The geometry; the objective reports the same numbers for the same batch.

    Raises:
        ShapeError: The two do not have one shape [B, D] with B >= 2.
        NonFiniteError: A row holds NaN or infinity.

    >>> x = torch.eye(4)
    >>> g = measure_geometry(x, x)
    >>> round(g.alignment, 6), round(g.mean_cosine, 6), round(g.effective_rank, 4)
    (0.0, 0.0, 4.0)
    """
    check_pair(anchors, positives)
    if len(anchors) < 2:
        raise ShapeError(
            f"geometry compares rows with each other and found {len(anchors)}; pass two or more"
        )
    with torch.no_grad():
        a, p = normalize(anchors), normalize(positives)
        tally = CosineTally()
        tile_rows = max(1, _TILE_ELEMENTS // a.shape[0])
        for start in range(0, a.shape[0], tile_rows):
            rows = slice(start, min(start + tile_rows, a.shape[0]))
            cosines = a[rows] @ p.T
            cosines.diagonal(offset=start).fill_(-math.inf)
            tally.add(cosines, cosines.amax(dim=1), torch.empty_like(cosines))
        return finish_geometry(a, p, tally)


def finish_geometry(a: Tensor, p: Tensor, tally: CosineTally) -> Geometry:
    """Join the tally of all pairs with what only needs the rows themselves, O(B D^2)."""
    rows, width = a.shape
    sum_a, sum_p = a.sum(dim=0, dtype=torch.float64), p.sum(dim=0, dtype=torch.float64)
    spectra = _spectra([a, p], [sum_a / rows, sum_p / rows])
    own = float((a * p).sum(dtype=torch.float64))
    zero = int((a.square().sum(1) == 0).sum()) + int((p.square().sum(1) == 0).sum())
    uniformity = math.log(max(tally.spread / max(tally.pairs, 1), 1e-300))
    bound = -2 * UNIFORMITY_T + 2 * UNIFORMITY_T**2 / width
    return Geometry(
        alignment=float((a - p).square().sum(dim=1).mean()),
        uniformity=uniformity,
        uniformity_gap=uniformity - bound,
        mean_cosine=max(_mean_cosine(a, sum_a), _mean_cosine(p, sum_p)),
        max_cosine=tally.largest,
        cross_cosine=(float(sum_a @ sum_p) - own) / max(rows * (rows - 1), 1),
        deviation=spectra.deviation,
        effective_rank=spectra.rank,
        effective_rank_centred=spectra.rank_centred,
        zero_norm_rows=zero,
        rows=rows,
        width=width,
    )


def check_geometry(geometry: Geometry, *, candidates: float | None = None) -> None:
    """Refuse a collapsed space, and warn about one that wastes its dimensions.

    Args:
        geometry: What :func:`measure_geometry` or a training step reported.
        candidates: Candidates per anchor, to name the loss a collapsed encoder sits at.

    Raises:
        RepresentationCollapse: The mean cosine is above 0.9.

    Warns:
        DimensionalCollapse: The effective rank is under a fifth of what it could be. A low rank
            can hide behind a mean cosine of zero, so the two are looked at apart.
    """
    if geometry.mean_cosine > COLLAPSE_COSINE:
        plateau = (
            f" (a constant encoder sits at a loss of log({candidates:.0f}) = "
            f"{math.log(candidates):.3f})"
            if candidates is not None and candidates > 0
            else ""
        )
        raise RepresentationCollapse(
            f"mean cosine {geometry.mean_cosine:.3f} between different rows is above "
            f"{COLLAPSE_COSINE}: the encoder answers the same for everything{plateau}; lower the "
            "learning rate, raise the temperature, or check that pairs and negatives differ"
        )
    reachable = min(geometry.width, geometry.rows - 1)
    if geometry.effective_rank_centred < DIMENSIONAL_SHARE * reachable:
        warnings.warn(
            f"effective rank {geometry.effective_rank_centred:.1f} of {reachable} reachable "
            "dimensions: the embedding lies in a thin slice of its space; use a narrower one, "
            "or add the variance regulariser of the objective",
            DimensionalCollapse,
            stacklevel=2,
        )


def check_pair(anchors: Tensor, positives: Tensor) -> None:
    """Refuse two batches that are empty, not aligned, or not finite."""
    if anchors.ndim != 2 or anchors.shape != positives.shape or 0 in anchors.shape:
        raise ShapeError(
            f"anchors {tuple(anchors.shape)} and positives {tuple(positives.shape)} must be two "
            "aligned matrices [B, D]; pass one positive row for each anchor row"
        )
    check_finite(anchors=anchors, positives=positives)


def check_finite(**matrices: Tensor | None) -> None:
    """Refuse matrices (or vectors) with NaN or infinity, by name and row."""
    for name, x in matrices.items():
        # A finite sum has no other but finite terms, and costs a tenth of asking each.
        if x is None or bool(torch.isfinite(x.detach().sum())):
            continue
        wrong = ~torch.isfinite(x)
        bad = (wrong.any(dim=1) if x.ndim > 1 else wrong).nonzero().flatten()
        if len(bad):
            raise NonFiniteError(
                f"{name}: {len(bad)} of {len(x)} rows hold NaN or infinity, first at row "
                f"{int(bad[0])}; remove them or look for a division by zero in the encoder"
            )


@dataclass(frozen=True, slots=True)
class _Spectra:
    deviation: float
    rank: float
    rank_centred: float


def _spectra(views: list[Tensor], means: list[Tensor]) -> _Spectra:
    """The smallest of each number over the views, from one decomposition of all."""
    moments = torch.stack([(x.T @ x).double() / len(x) for x in views])
    centre = torch.stack(means)
    covariances = moments - centre[:, :, None] * centre[:, None, :]
    variance = covariances.diagonal(dim1=1, dim2=2).min().clamp_min(0)
    ranks = _effective_ranks(torch.cat([moments, covariances]))
    return _Spectra(
        deviation=math.sqrt(float(variance) * moments.shape[1]),
        rank=min(ranks[: len(views)]),
        rank_centred=min(ranks[len(views) :]),
    )


def _effective_ranks(second_moments: Tensor) -> list[float]:
    eigenvalues = torch.linalg.eigvalsh(second_moments)
    largest = eigenvalues[:, -1:].clamp_min(0)
    # Below the rounding error of the sum, an eigenvalue is noise and would fake a rank.
    singular = torch.where(eigenvalues > 1e-7 * largest, eigenvalues, 0.0).sqrt()
    total = singular.sum(dim=1, keepdim=True)
    share = singular / torch.where(total > 0, total, 1.0)  # all zero: entropy 0, rank 1
    ranks: list[float] = torch.special.entr(share).sum(dim=1).exp().tolist()
    return ranks


def _mean_cosine(x: Tensor, total: Tensor) -> float:
    # Sum over all pairs of x_i . x_j is |sum x|^2; the pairs of a row with itself are removed.
    rows = x.shape[0]
    own = float(x.square().sum(dtype=torch.float64))
    return (float(total @ total) - own) / max(rows * (rows - 1), 1)
