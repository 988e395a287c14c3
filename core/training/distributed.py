"""Several processes: each encodes its rows, all are told apart from the rows of everyone.

In come a process's own pairs, out comes the gradient of the loss over the union of all, the same as
one process would give. Embeddings are gathered with a gradient; short batches travel padded and are
cut to their true length on arrival, so ranks may hold different numbers of rows. Start processes
with torchrun; nothing here runs where ``torch.distributed`` is not initialised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ..encoders.dual import DualEncoder
from ..errors import ProcessLost, SettingError, TooFewRows
from ..objective.layout import Pool
from ..objective.masks import CandidateMask, SameId
from ..objective.objective import ContrastiveObjective
from ..objective.step import StepResult
from ..seeds import derive_seed
from .chunking import carry_back, cut_chunks, encode_leaves
from .pairs import Pairs


@dataclass(frozen=True)
class Shares:
    """How many rows each rank holds.

    Attributes:
        counts: Rows by rank.
        rank: This process.
    """

    counts: tuple[int, ...]
    rank: int

    @property
    def total(self) -> int:
        """Rows of all ranks, G."""
        return sum(self.counts)

    @property
    def offset(self) -> int:
        """Where this rank's rows begin among those of all."""
        return sum(self.counts[: self.rank])


def exchange_counts(rows: int, device: torch.device) -> Shares:
    """Tell all ranks how many rows each holds.

    Raises:
        TooFewRows: A rank holds none; raised on every rank, so that none waits for another.
    """
    counts = [
        torch.zeros(1, dtype=torch.int64, device=device) for _ in range(dist.get_world_size())
    ]
    with _lost_processes_named():
        dist.all_gather(counts, torch.tensor([rows], device=device))
    shares = Shares(tuple(int(count) for count in counts), dist.get_rank())
    empty = [rank for rank, count in enumerate(shares.counts) if count == 0]
    if empty:
        raise TooFewRows(
            f"ranks {empty} hold no rows of this batch; drop the last batch or use fewer processes"
        )
    return shares


def gather_rows(x: Tensor, shares: Shares) -> Tensor:
    """Gather the rows of all ranks, with gradient.

    Args:
        x: This rank's rows, [b, ...].
        shares: From :func:`exchange_counts`.

    Returns:
        [G, ...], rank after rank. Backward gives each rank the sum of what all ranks ask of its
        rows, so the sum of all ranks' parameter gradients is that of the summed loss.
    """
    out: Tensor = _GatherRows.apply(x, shares)  # type: ignore[no-untyped-call]
    return out


def distributed_step(
    encoder: DualEncoder,
    objective: ContrastiveObjective,
    pairs: Pairs,
    chunk_size: int | None = None,
    *,
    seed: int = 0,
) -> StepResult:
    """Run one batch that is spread over all ranks forward and backward.

    Local rows meet the candidates of all ranks. Regularisers and whitening, where the objective has
    them, see the rows of one rank. After it every rank holds, in ``.grad``, the
    gradient of the mean loss over the union: nothing is left to average, so the encoder must not
    be wrapped in ``DistributedDataParallel``.

    Args:
        encoder: With the same weights on every rank.
        objective: Likewise; layouts ``cross``, ``both-blocks`` and ``ntxent``.
        pairs: This rank's rows, at least one. Ranks may hold different numbers.
        chunk_size: Rows a rank encodes at a time, as in :func:`~likewise.core.chunked_step`;
            None for all of its rows.
        seed: Seed of dropout, made different for each rank.

    Returns:
        The step over all ranks' loss; counts and geometry are those of this rank's rows.

    Raises:
        SettingError: Negatives or masks that cannot be shared between ranks.
        TooFewRows: A rank holds no rows; raised on every rank.
        ProcessLost: Another rank ended.
    """
    if pairs.negatives is not None or pairs.queued is not None:
        raise SettingError(
            "further negatives are not shared between processes; train on the batches of all "
            "ranks (layout 'cross'), or in one process"
        )
    device = next(encoder.parameters()).device
    pairs = pairs.to(device)
    shares = exchange_counts(len(pairs), device)
    size = len(pairs) if chunk_size is None else chunk_size
    chunks = cut_chunks(encoder, pairs, size, derive_seed(seed, shares.rank))
    # A rank with one chunk encodes it once; the others meet it at the same two collectives.
    whole = len(chunks) == 1
    encoded = [chunk.encode() for chunk in chunks] if whole else encode_leaves(chunks)
    anchors, positives = (torch.cat(parts) for parts in zip(*encoded, strict=True))
    step, part = _score_among_all(objective, pairs, anchors, positives, shares)
    part.backward()  # type: ignore[no-untyped-call]
    if not whole:
        carry_back(chunks, encoded)
    sum_gradients_([*encoder.parameters(), *objective.parameters()])
    loss = part.detach().clone()
    with _lost_processes_named():
        dist.all_reduce(loss)
    return replace(step, loss=loss)


def _score_among_all(
    objective: ContrastiveObjective,
    pairs: Pairs,
    anchors: Tensor,
    positives: Tensor,
    shares: Shares,
) -> tuple[StepResult, Tensor]:
    """Score this rank's rows among all candidates; give the step and its part of the loss."""
    masks = tuple(_gather_mask(mask, shares, anchors.device) for mask in pairs.masks)
    log_q = None if pairs.log_q is None else gather_rows(pairs.log_q, shares)
    # One collective for both sides: one to wait for, and one order on every rank going backward.
    everyone = gather_rows(torch.cat([anchors, positives], dim=1), shares)
    width = anchors.shape[1]
    pool = Pool(everyone[:, :width], everyone[:, width:], shares.offset)
    step: StepResult = objective(anchors, positives, masks=masks, log_q=log_q, pool=pool)
    return step, step.loss * (len(pairs) / shares.total)


@torch.no_grad()
def sum_gradients_(parameters: Sequence[nn.Parameter]) -> None:
    """Replace every gradient by its sum over all ranks, in one collective."""
    trained = [p for p in parameters if p.requires_grad]
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
    flat = torch.cat([grad.reshape(-1) for grad in grads])
    with _lost_processes_named():
        dist.all_reduce(flat)
    start = 0
    for p in trained:
        p.grad = flat[start : start + p.numel()].view_as(p).clone()
        start += p.numel()


def place_of_process() -> tuple[int, int]:
    """Give this process's rank and how many there are; (0, 1) outside torchrun."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


@contextmanager
def _lost_processes_named() -> Iterator[None]:
    """Say what a broken collective means: the transport names sockets, not causes."""
    try:
        yield
    except RuntimeError as error:
        raise ProcessLost(
            f"another process of the run ended or stopped answering ({error}); look at its own "
            "message first, then start all processes again and resume from the last checkpoint"
        ) from error


class _GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shares: Shares) -> Tensor:
        ctx.shares = shares
        longest = max(shares.counts)
        padded = x.new_zeros(longest, *x.shape[1:])
        padded[: len(x)] = x
        parts = [torch.empty_like(padded) for _ in shares.counts]
        with _lost_processes_named():
            dist.all_gather(parts, padded)
        return torch.cat([part[:n] for part, n in zip(parts, shares.counts, strict=True)])

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:
        shares: Shares = ctx.shares
        grad = grad_outputs[0].contiguous().clone()
        with _lost_processes_named():
            dist.all_reduce(grad)
        return grad[shares.offset : shares.offset + shares.counts[shares.rank]], None


def _gather_mask(mask: CandidateMask, shares: Shares, device: torch.device) -> CandidateMask:
    if not isinstance(mask, SameId) or mask.negative_ids is not None:
        raise SettingError(
            f"{type(mask).__name__} speaks about the rows of one process; across processes use "
            "SameId or SameGroup"
        )
    return SameId(gather_rows(mask.ids.to(device), shares))
