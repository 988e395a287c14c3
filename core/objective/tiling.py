"""One pass over the similarity matrix, a few rows at a time, forward and backward together.

In: unit rows [B, D], the positive of each row [B, D], candidate columns [N, D], and which columns
a row must not meet. Out: the mean loss, its gradients, and the tally of the geometry. A tile of
a few megabytes is computed, measured, scored, turned into its own gradient and multiplied back
while it is still in the cache; the B x N matrix never exists.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..errors import ShapeError, TooFewNegatives
from ..geometry import CosineTally
from .masks import CandidateMask
from .rows import RowCost, RowLoss

TILE_ELEMENTS = 1 << 19  # two MiB of float32: the L2 cache of a current core


@dataclass(frozen=True, slots=True)
class Columns:
    """The candidates of a pass.

    Attributes:
        vectors: Unit vectors, [N, D]: blocks of the batch first, then given negatives.
        batch: G, the rows in one block of the batch.
        blocks: How many such blocks lead ``vectors``.
        offset: Row i of the pass is row ``offset + i`` of each block (its own column, excluded).
        bias: Added to the logits of each column, [N] or None.
        padding: Columns that are not there, bool [N] or None.
    """

    vectors: Tensor
    batch: int
    blocks: int
    offset: int = 0
    bias: Tensor | None = None
    padding: Tensor | None = None

    @property
    def owned(self) -> list[int]:
        """Where the excluded diagonal of each block starts."""
        return [block * self.batch + self.offset for block in range(self.blocks)]

    @property
    def present(self) -> int:
        """Negatives of a row before any mask."""
        padded = 0 if self.padding is None else int(self.padding.sum())
        return len(self.vectors) - self.blocks - padded


@dataclass(slots=True)
class PassResult:
    """Sums of one pass; gradients are of the *mean* loss."""

    loss: Tensor
    grad_rows: Tensor
    grad_positives: Tensor
    grad_columns: Tensor
    grad_scale: Tensor
    extra_scale: Tensor
    grad_logit_bias: Tensor
    negatives: Tensor
    masked: int = 0
    beaten: int = 0
    tally: CosineTally = field(default_factory=CosineTally)


@dataclass(frozen=True, slots=True)
class PassPlan:
    """What a pass does with each tile, apart from the vectors themselves.

    Attributes:
        row_loss: Turns logits into costs and slopes.
        masks: Columns that are no negatives.
        margin: Mask columns nearer than the positive plus this cosine (None: do not).
        min_negatives: Refuse rows that keep fewer.
        measure: Feed the geometry tally with the first block.
        with_gradient: Compute the gradients too.
    """

    row_loss: RowLoss
    masks: Sequence[CandidateMask]
    margin: float | None
    min_negatives: int
    measure: bool
    with_gradient: bool


def run_pass(
    rows: Tensor,
    positives: Tensor,
    columns: Columns,
    scale: Tensor,
    positive_bias: Tensor | None,
    plan: PassPlan,
) -> PassResult:
    """Score every row against its candidates.

    Args:
        rows: Unit vectors that ask, [B, D].
        positives: The unit vector each row should find, [B, D].
        columns: Who competes with the positive.
        scale: 1 / temperature, scalar.
        positive_bias: Added to the positive logits, [B] or None.
        plan: Loss, masks and what to report.

    Raises:
        TooFewNegatives: A row keeps fewer negatives than the plan allows; the first is named.
    """
    size, total = len(rows), len(columns.vectors)
    if columns.present < plan.min_negatives:
        raise TooFewNegatives(
            f"each row meets {columns.present} negatives and min_negatives is "
            f"{plan.min_negatives}: the loss would be near zero whatever the encoder does; use a "
            "larger batch or queue, or lower min_negatives knowingly"
        )
    result = _empty_result(rows, columns.vectors)
    tile_rows = max(8, min(size, TILE_ELEMENTS // max(total, 1)))
    buffer = rows.new_empty(tile_rows, total)
    scratch = rows.new_empty(tile_rows, columns.batch) if plan.measure else buffer
    bias = None if columns.bias is None else columns.bias / scale

    for start in range(0, size, tile_rows):
        part = slice(start, min(start + tile_rows, size))
        tile = torch.mm(rows[part], columns.vectors.T, out=buffer[: part.stop - start])
        positive = (rows[part] * positives[part]).sum(dim=1)
        for first in columns.owned:
            tile.diagonal(offset=first + start).fill_(-math.inf)
        highest = tile.amax(dim=1)
        result.beaten += int((highest > positive).sum())
        if plan.measure:
            block = tile[:, : columns.batch]
            block_max = highest if columns.batch == total else block.amax(dim=1)
            result.tally.add(block, block_max, scratch[: len(tile)])

        hidden = _hidden_columns(tile, positive, columns, part, plan)
        kept = tile.new_full((len(tile),), columns.present)
        if hidden is not None:
            kept -= hidden.sum(dim=1)
            tile.masked_fill_(hidden, -math.inf)
        if columns.padding is not None:
            tile.masked_fill_(columns.padding, -math.inf)
        if bias is not None:
            tile.add_(bias)
        if hidden is not None or bias is not None or columns.padding is not None:
            highest = tile.amax(dim=1)
        _require_negatives(kept, part, plan.min_negatives)
        result.negatives[part] = kept
        if positive_bias is not None:
            positive = positive + positive_bias[part] / scale

        cost = plan.row_loss(tile, highest, positive, kept, scale)
        result.loss += cost.loss.sum()
        if plan.with_gradient:
            _add_gradients(result, tile, cost, rows[part], positives[part], columns.vectors, part)
    result.masked = round(columns.present * size - float(result.negatives.sum(dtype=torch.float64)))
    return _average(result, scale)


def _add_gradients(
    result: PassResult,
    tile: Tensor,
    cost: RowCost,
    rows: Tensor,
    positives: Tensor,
    columns: Tensor,
    part: slice,
) -> None:
    """Multiply the slopes left in the tile back, while it is still in the cache."""
    by_row, by_positive = cost.row_slope[:, None], cost.positive_slope[:, None]
    gradient = torch.mm(tile, columns).mul_(by_row).addcmul_(by_positive, positives)
    result.grad_rows[part] = gradient
    result.grad_positives[part] = by_positive * rows
    result.grad_columns.addmm_(tile.T, by_row * rows)
    result.grad_scale += (gradient * rows).sum()
    if cost.scale_slope is not None:
        result.extra_scale += cost.scale_slope
    if cost.bias_slope is not None:
        result.grad_logit_bias += cost.bias_slope


def _empty_result(rows: Tensor, columns: Tensor) -> PassResult:
    zero = rows.new_zeros(())
    return PassResult(
        loss=zero.clone(),
        grad_rows=torch.empty_like(rows),
        grad_positives=torch.empty_like(rows),
        grad_columns=torch.zeros_like(columns),
        grad_scale=zero.clone(),
        extra_scale=zero.clone(),
        grad_logit_bias=zero.clone(),
        negatives=rows.new_empty(len(rows)),
    )


def _hidden_columns(
    tile: Tensor, positive: Tensor, columns: Columns, part: slice, plan: PassPlan
) -> Tensor | None:
    """Columns of the tile that are no negatives, besides each row's own."""
    if not plan.masks and plan.margin is None:
        return None
    hidden = torch.zeros_like(tile, dtype=torch.bool)
    given = columns.blocks * columns.batch
    standing = slice(part.start + columns.offset, part.stop + columns.offset)
    for mask in plan.masks:
        in_batch = _fitting(mask, mask.tile(standing, tile.device), (len(tile), columns.batch))
        for block in range(columns.blocks):
            hidden[:, block * columns.batch : (block + 1) * columns.batch] |= in_batch
        extra = mask.extra_tile(standing, tile.device) if tile.shape[1] > given else None
        if extra is not None:
            hidden[:, given:] |= _fitting(mask, extra, (len(tile), tile.shape[1] - given))
    if plan.margin is not None:
        hidden |= tile > (positive + plan.margin)[:, None]
    if columns.padding is not None:
        hidden &= ~columns.padding
    for first in columns.owned:
        hidden.diagonal(offset=first + part.start).fill_(False)
    return hidden


def _fitting(mask: CandidateMask, tile: Tensor, shape: tuple[int, int]) -> Tensor:
    """A mask's tile, refused unless it is about exactly these candidates."""
    if tile.shape != shape:
        raise ShapeError(
            f"{type(mask).__name__} speaks of {tuple(tile.shape)} pairs where the step has "
            f"{shape}; build it from all rows of the batch (of the pool, where there is one)"
        )
    return tile


def _require_negatives(kept: Tensor, part: slice, least: int) -> None:
    short = (kept < least).nonzero().flatten()
    if len(short):
        row = int(short[0])
        raise TooFewNegatives(
            f"{len(short)} rows keep fewer than {least} negatives, first row {part.start + row} "
            f"with {int(kept[row])}: the loss would be near zero whatever the encoder does; use a "
            "larger batch, looser masks, or lower min_negatives knowingly"
        )


def _average(result: PassResult, scale: Tensor) -> PassResult:
    size = len(result.grad_rows)
    result.loss /= size
    for gradient in (result.grad_rows, result.grad_positives, result.grad_columns):
        gradient.mul_(scale / size)
    result.grad_scale = (result.grad_scale + result.extra_scale) / size
    result.grad_logit_bias /= size
    return result
