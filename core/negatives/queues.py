"""The queue: candidates of earlier batches, encoded by a slowly moving copy of the encoder.

In come the positives of each batch, out come the newest ``size`` of them as further negatives.
Slots that were never written are not there: nothing random stands in for them. What is read is a
copy, so writing between the forward and the backward pass is harmless.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..encoders.dual import DualEncoder, momentum_copy, update_momentum_
from ..errors import SettingError, ShapeError
from ..geometry import normalize
from .samplers import (
    Draw,
    NegativeSampler,
    Request,
    digest_of,
    log_presence,
    require_shares,
    shares_of,
)


@dataclass(frozen=True, eq=False)
class QueueContent:
    """The filled slots, oldest first.

    Attributes:
        vectors: float32 [K, D].
        ids: int64 [K].
        written: int64 [K], the step at which each was written.
    """

    vectors: Tensor
    ids: Tensor
    written: Tensor

    def __len__(self) -> int:
        return len(self.ids)


class VectorQueue:
    """First in, first out: the newest ``size`` vectors with their ids.

    Args:
        size: Slots, >= 1.
        width: D.

    >>> queue = VectorQueue(2, 1)
    >>> queue.push(torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([10, 20, 30]), step=0)
    >>> queue.read().ids.tolist()
    [20, 30]
    """

    def __init__(self, size: int, width: int) -> None:
        if size < 1:
            raise SettingError(f"a queue of {size} slots holds nothing; give it 1 or more")
        self.size = size
        self.width = width
        self._vectors = torch.zeros(size, width)
        self._ids = torch.zeros(size, dtype=torch.int64)
        self._written = torch.zeros(size, dtype=torch.int64)
        self._total = 0

    def __len__(self) -> int:
        return min(self._total, self.size)

    @torch.no_grad()
    def push(self, vectors: Tensor, ids: Tensor, *, step: int) -> None:
        """Write vectors [B, D] over the oldest slots; of more than ``size``, the last ones stay.

        Raises:
            ShapeError: The vectors are not [B, D] or the ids not [B].
        """
        if vectors.shape != (len(ids), self.width):
            raise ShapeError(
                f"the queue takes [B, {self.width}] with B ids, found {list(vectors.shape)} and "
                f"{list(ids.shape)}; encode with the encoder the queue was made for"
            )
        kept = min(len(ids), self.size)
        self._total += len(ids)
        slots = torch.arange(self._total - kept, self._total) % self.size
        self._vectors[slots] = vectors.detach()[len(ids) - kept :].to("cpu", torch.float32)
        self._ids[slots] = ids[len(ids) - kept :].cpu()
        self._written[slots] = step

    def read(self) -> QueueContent:
        """Copy the filled slots, oldest first."""
        slots = torch.arange(self._total - len(self), self._total) % self.size
        return QueueContent(self._vectors[slots], self._ids[slots], self._written[slots])

    def state_dict(self) -> dict[str, Any]:
        """Give slots and position."""
        return {
            "vectors": self._vectors.clone(),
            "ids": self._ids.clone(),
            "written": self._written.clone(),
            "total": self._total,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take slots and position back.

        Raises:
            ShapeError: The saved queue has another size or width.
        """
        if state["vectors"].shape != self._vectors.shape:
            raise ShapeError(
                f"the saved queue is {list(state['vectors'].shape)}, this one is "
                f"{list(self._vectors.shape)}; build it with the saved size and width"
            )
        self._vectors = state["vectors"].clone()
        self._ids = state["ids"].clone()
        self._written = state["written"].clone()
        self._total = int(state["total"])


class Queue(NegativeSampler):
    """Negatives from a queue, written by a momentum copy of the candidate encoder.

    The batch's own positives are written before they are read, so the first step has B - 1
    negatives a row already; each row's own is taken out by id.

    Args:
        size: K, slots of the queue.
        momentum: Share of the copy kept at each step, 0 to 1.
        frequencies: float [N], share of each candidate among the pairs; None for uniform.

    Raises:
        SettingError: A size below 1, or a momentum outside 0..1.

    Source: MoCo (arXiv 1911.05722), section 3.2; for two towers the positive keeps its gradient.
    """

    name = "queue"

    def __init__(
        self, size: int, *, momentum: float = 0.99, frequencies: Tensor | None = None
    ) -> None:
        if not 0.0 <= momentum <= 1.0 or size < 1:
            raise SettingError(
                f"a queue needs a size of 1 or more and a momentum of 0 to 1, found {size} and "
                f"{momentum}"
            )
        self.size = size
        self.momentum = momentum
        self.frequencies = None if frequencies is None else require_shares(frequencies)
        self._slow: nn.Sequential | None = None
        self._queue: VectorQueue | None = None
        self._step = 0
        self._newest: tuple[Tensor, Tensor] | None = None

    @property
    def config(self) -> Mapping[str, Any]:  # noqa: D102
        return {
            "size": self.size,
            "momentum": self.momentum,
            "frequencies": digest_of(self.frequencies),
        }

    def log_q(self, ids: Tensor, batch_size: int) -> Tensor | None:  # noqa: D102
        del batch_size  # a candidate of the queue had as many chances as the queue has slots
        if self.frequencies is None:
            return None
        return log_presence(shares_of(self.frequencies, ids), self.size)

    def begin(self, encoder: DualEncoder) -> None:  # noqa: D102
        self._slow = momentum_copy(_candidate_side(encoder))
        self._queue = VectorQueue(self.size, encoder.config.head_width)
        self._step = 0
        self._newest = None

    @torch.no_grad()
    def draw(self, request: Request) -> Draw:  # noqa: D102
        slow, queue = self._ready()
        device = next(slow.parameters()).device
        keys = normalize(slow(request.positives.to(device))).cpu()
        self._newest = keys, request.ids
        content = queue.read()
        now = torch.full_like(request.ids, self._step)
        vectors = torch.cat([content.vectors, keys])[-self.size :]
        ids = torch.cat([content.ids, request.ids])[-self.size :]
        written = torch.cat([content.written, now])[-self.size :]
        age = self._step - int(written[0])
        return Draw(ids, vectors=vectors, log_q=self.log_q(ids, self.size), age=age)

    def commit(self, encoder: DualEncoder) -> None:  # noqa: D102
        slow, queue = self._ready()
        if self._newest is not None:
            queue.push(*self._newest, step=self._step)
        self._newest = None
        self._step += 1
        update_momentum_(slow, _candidate_side(encoder), self.momentum)

    def state_dict(self) -> dict[str, Any]:  # noqa: D102
        slow, queue = self._ready()
        return {"slow": slow.state_dict(), "queue": queue.state_dict(), "step": self._step}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # noqa: D102
        slow, queue = self._ready()
        slow.load_state_dict(state["slow"])
        queue.load_state_dict(state["queue"])
        self._step = int(state["step"])
        self._newest = None

    def _ready(self) -> tuple[nn.Sequential, VectorQueue]:
        if self._slow is None or self._queue is None:
            raise SettingError("the queue has met no encoder yet; call begin(encoder) first")
        return self._slow, self._queue


def _candidate_side(encoder: DualEncoder) -> nn.Sequential:
    return nn.Sequential(encoder.candidate_encoder, encoder.candidate_head)
