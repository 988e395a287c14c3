"""Memory: what a training step will need, and the largest batch that fits.

In come an encoder and a small sample of pairs; out come predicted bytes. The graph of a row is
measured, not guessed: autograd tells what it keeps. The batch is the capacity of a contrastive
run, so a plan also says how many negatives a row will have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ..encoders.dual import DualEncoder
from ..errors import SettingError, TooFewRows
from ..objective.tiling import TILE_ELEMENTS
from .pairs import Pairs

_FLOAT = 4
_COPIES_OF_WEIGHTS = 4  # weights, gradients, and AdamW's two moments
_COPIES_OF_EMBEDDINGS = 8  # raw, normalised, gradients of both, and the passes of both directions
_TILES = 3  # logits, scratch and mask of one tile


@dataclass(frozen=True)
class MemoryModel:
    """Bytes of a training step as a function of batch and chunk.

    Attributes:
        fixed: Weights, gradients, optimiser and the objective's tile.
        graph_per_row: What autograd keeps for one pair between forward and backward, and once more
            the largest piece of it: its gradient, on the way back.
        held_per_row: One pair's inputs, embeddings and their gradients.
    """

    fixed: int
    graph_per_row: int
    held_per_row: int

    def predict(self, batch_size: int, chunk_size: int | None = None) -> int:
        """Predict the bytes of one step.

        Args:
            batch_size: B, pairs.
            chunk_size: Pairs encoded at a time; None for all.
        """
        in_graph = batch_size if chunk_size is None else min(batch_size, chunk_size)
        return self.fixed + in_graph * self.graph_per_row + batch_size * self.held_per_row


@dataclass(frozen=True)
class BatchPlan:
    """The largest batch that fits.

    Attributes:
        batch_size: B, a power of two.
        negatives: Negatives a row has in it: B - 1 under the cross layout.
        bytes: Predicted for one step.
    """

    batch_size: int
    negatives: int
    bytes: int


def measure_memory(encoder: DualEncoder, sample: Pairs) -> MemoryModel:
    """Measure what autograd keeps for a row, and add what is known to be needed.

    Args:
        encoder: The encoder to train; its weights and gradients stay as they are.
        sample: Some pairs; 16 or more give a steady answer.

    Raises:
        TooFewRows: Fewer than two pairs.
    """
    if len(sample) < 2:
        raise TooFewRows(f"memory is measured on 2 pairs or more, found {len(sample)}; add pairs")
    device = next(encoder.parameters()).device
    sample = sample.to(device)
    half = len(sample) // 2
    weights = [*encoder.parameters(), *encoder.buffers()]
    whole, part = (
        _graph_bytes(encoder, Pairs(sample.anchors[:rows], sample.positives[:rows]), weights)
        for rows in (len(sample), half)
    )
    inputs = sum(_bytes_of(side) for side in (sample.anchors, sample.positives))
    embeddings = _COPIES_OF_EMBEDDINGS * 2 * encoder.config.head_width * _FLOAT
    trained = sum(p.numel() * p.element_size() for p in encoder.parameters())
    return MemoryModel(
        fixed=_COPIES_OF_WEIGHTS * trained + _TILES * TILE_ELEMENTS * _FLOAT,
        graph_per_row=(whole - part) // (len(sample) - half),
        held_per_row=inputs // len(sample) + embeddings,
    )


def largest_batch(
    model: MemoryModel, budget: int, *, chunk_size: int | None = None, most: int = 1 << 20
) -> BatchPlan:
    """Find the largest power of two that fits into ``budget`` bytes.

    Args:
        model: From :func:`measure_memory`.
        budget: Bytes free for training.
        chunk_size: Pairs encoded at a time; None for all at once.
        most: Upper end of the search, such as the number of pairs there are.

    Raises:
        SettingError: Not even a batch of two fits.

    >>> largest_batch(MemoryModel(0, 1000, 100), 1_000_000)
    BatchPlan(batch_size=512, negatives=511, bytes=563200)
    >>> largest_batch(MemoryModel(0, 1000, 100), 1_000_000, chunk_size=64).batch_size
    8192
    """
    batch = 2
    if model.predict(batch, chunk_size) > budget:
        raise SettingError(
            f"a batch of 2 needs {model.predict(batch, chunk_size):,} bytes and {budget:,} are "
            "free; use a narrower encoder or a smaller chunk_size"
        )
    while 2 * batch <= most and model.predict(2 * batch, chunk_size) <= budget:
        batch *= 2
    return BatchPlan(batch, batch - 1, model.predict(batch, chunk_size))


def _graph_bytes(encoder: DualEncoder, pairs: Pairs, weights: list[Tensor]) -> int:
    known = {weight.untyped_storage().data_ptr() for weight in weights}
    known |= {
        x.untyped_storage().data_ptr()
        for side in (pairs.anchors, pairs.positives)
        for x in _tensors_of(side)
    }
    kept: dict[int, Tensor] = {}

    def pack(saved: Tensor) -> Tensor:
        # Holding the tensor keeps its address from being given to another one.
        kept.setdefault(saved.untyped_storage().data_ptr(), saved)
        return saved

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved):
        out = encoder(pairs.anchors, pairs.positives)
    sizes = [x.untyped_storage().nbytes() for place, x in kept.items() if place not in known]
    del out
    return sum(sizes) + max(sizes, default=0)


def _bytes_of(rows: object) -> int:
    return sum(x.numel() * x.element_size() for x in _tensors_of(rows))


def _tensors_of(rows: object) -> Iterator[Tensor]:
    if isinstance(rows, Tensor):
        yield rows
        return
    yield from (value for value in vars(rows).values() if isinstance(value, Tensor))
