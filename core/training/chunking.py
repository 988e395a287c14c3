"""Steps: loss and gradient of one batch, whole or in chunks that fit in memory.

In come an encoder, an objective and a batch; gradients are left in ``.grad`` and the step's numbers
come back. A chunked step gives the gradient of the whole batch exactly: every chunk is encoded
without a graph, the objective sees all of them at once, and each chunk is encoded again to carry
its share of the gradient. Gradient *accumulation* does not do this: eight batches of 256 still
compare a row with 255 others, one chunked batch of 2048 compares it with 2047.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..encoders.bags import Rows
from ..encoders.dual import DualEncoder
from ..errors import SettingError
from ..objective.objective import ContrastiveObjective
from ..objective.step import StepResult
from ..seeds import derive_seed, seeded
from .pairs import Pairs

_PAIR, _NEGATIVE = 0, 1


def whole_step(
    encoder: DualEncoder, objective: ContrastiveObjective, pairs: Pairs, *, seed: int = 0
) -> StepResult:
    """Run one batch forward and backward in one piece.

    Args:
        encoder: Its parameters receive gradients (added to what is there).
        objective: Its parameters receive gradients as well.
        pairs: The batch.
        seed: Seed of dropout in this step.

    Returns:
        The step, its loss detached.
    """
    return chunked_step(encoder, objective, pairs, max(1, len(pairs)), seed=seed)


def chunked_step(
    encoder: DualEncoder,
    objective: ContrastiveObjective,
    pairs: Pairs,
    chunk_size: int,
    *,
    seed: int = 0,
) -> StepResult:
    """Run one batch forward and backward, holding the graph of one chunk at a time.

    Each chunk draws its dropout from a seed of its own and draws the same again when it is
    encoded for the second time, so the gradient is that of the loss that is reported.

    Args:
        encoder: Its parameters receive gradients (added to what is there).
        objective: Its parameters receive gradients as well.
        pairs: The batch; all of its rows are candidates for each other.
        chunk_size: Rows encoded at a time, >= 1; a batch that fits in one chunk is encoded once.
        seed: Seed of dropout in this step.

    Returns:
        The step, its loss detached.

    Raises:
        SettingError: ``chunk_size`` is below 1.

    Source: GradCache (arXiv 2101.06983), section 3.
    """
    if chunk_size < 1:
        raise SettingError(f"chunk_size is {chunk_size}; it must be 1 or more")
    pairs = pairs.to(next(encoder.parameters()).device)
    chunks = cut_chunks(encoder, pairs, chunk_size, seed)
    further = 0 if pairs.negatives is None else len(pairs.negatives)
    if max(len(pairs), further) <= chunk_size:
        encoded = [chunk.encode() for chunk in chunks]
        step = _score(objective, pairs, chunks, encoded)
        step.loss.backward()  # type: ignore[no-untyped-call]
        return replace(step, loss=step.loss.detach())
    leaves = encode_leaves(chunks)
    step = _score(objective, pairs, chunks, leaves)
    step.loss.backward()  # type: ignore[no-untyped-call]
    carry_back(chunks, leaves)
    return replace(step, loss=step.loss.detach())


def cut_chunks(encoder: DualEncoder, pairs: Pairs, size: int, seed: int) -> list[Chunk]:
    """Cut a batch, and the negatives given with it, into chunks of ``size`` rows at most."""
    return list(_chunks(encoder, pairs, size, seed))


def encode_leaves(chunks: Sequence[Chunk]) -> list[tuple[Tensor, ...]]:
    """Encode every chunk without a graph; the embeddings are leaves that collect gradients."""
    with torch.no_grad():
        encoded = [chunk.encode() for chunk in chunks]
    return [tuple(part.requires_grad_() for part in parts) for parts in encoded]


def carry_back(chunks: Sequence[Chunk], leaves: Sequence[tuple[Tensor, ...]]) -> None:
    """Encode every chunk again, now with its graph, and carry its leaves' gradients through it."""
    for chunk, leaf in zip(chunks, leaves, strict=True):
        # A part without gradient met no candidate: nothing of it reaches the loss.
        again = [
            (part, seen.grad)
            for part, seen in zip(chunk.encode(), leaf, strict=True)
            if seen.grad is not None
        ]
        torch.autograd.backward([part for part, _ in again], [grad for _, grad in again])


@dataclass(frozen=True)
class Chunk:
    """One forward pass that can be repeated.

    Attributes:
        kind: Whether it holds pairs or further negatives.
        run: Encodes it.
        seed: Of its dropout.
        device: Where it runs.
    """

    kind: int
    run: Callable[[], tuple[Tensor, ...]]
    seed: int
    device: str

    def encode(self) -> tuple[Tensor, ...]:
        """Encode it, with the same dropout every time."""
        # bfloat16 pays on a GPU only; the objective goes back to float32 either way.
        with (
            seeded(self.seed),
            torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"),
        ):
            return self.run()


def _chunks(encoder: DualEncoder, pairs: Pairs, size: int, seed: int) -> Iterator[Chunk]:
    device = next(encoder.parameters()).device.type
    for start in range(0, len(pairs), size):
        anchors, positives = (
            pairs.anchors[start : start + size],
            pairs.positives[start : start + size],
        )

        def run_pair(anchors: Rows = anchors, positives: Rows = positives) -> tuple[Tensor, ...]:
            a, p = encoder(anchors, positives)
            return a, p

        yield Chunk(_PAIR, run_pair, derive_seed(seed, _PAIR, start), device)
    if pairs.negatives is None:
        return
    for start in range(0, len(pairs.negatives), size):
        part = pairs.negatives[start : start + size]

        def run_negatives(part: Rows = part) -> tuple[Tensor, ...]:
            return (encoder.project_candidates(part),)

        yield Chunk(_NEGATIVE, run_negatives, derive_seed(seed, _NEGATIVE, start), device)


def _score(
    objective: ContrastiveObjective,
    pairs: Pairs,
    chunks: list[Chunk],
    encoded: list[tuple[Tensor, ...]],
) -> StepResult:
    both = [parts for chunk, parts in zip(chunks, encoded, strict=True) if chunk.kind == _PAIR]
    given = [parts[0] for chunk, parts in zip(chunks, encoded, strict=True) if chunk.kind]
    if pairs.queued is not None:
        given.append(pairs.queued)
    step: StepResult = objective(
        torch.cat([parts[0] for parts in both]),
        torch.cat([parts[1] for parts in both]),
        masks=pairs.masks,
        log_q=pairs.log_q,
        negatives=torch.cat(given) if given else None,
        negative_log_q=pairs.negative_log_q,
    )
    return step
