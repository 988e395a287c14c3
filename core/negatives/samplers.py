"""Negative samplers: who an anchor is told apart from, and with what probability.

The sampler is part of the model: InfoNCE learns ``log p(candidate | anchor) - log q(candidate)``,
so a sampler states its q, is saved by name and config, and resumes bit for bit. In come the
candidates of a batch, out comes a :class:`Draw` of further ones (or nothing). Here are the protocol
and the sampler that draws nothing; ``drawing.py`` and ``hard_negatives.py`` hold those that choose
candidates, ``queues.py`` the one that remembers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from ..encoders.bags import Rows
from ..encoders.dual import DualEncoder
from ..errors import SettingError, ShapeError


@dataclass(frozen=True, eq=False)
class Request:
    """What a sampler may know when it draws.

    Attributes:
        rows: int64 [B], the pairs of the batch.
        ids: int64 [B], the candidate behind each positive of the batch.
        positives: The positives themselves, as the candidate encoder takes them.
        share_done: How much of the training is over, 0 to 1.
        generator: The only randomness a sampler may use.
    """

    rows: Tensor
    ids: Tensor
    positives: Rows
    share_done: float
    generator: torch.Generator


@dataclass(frozen=True, eq=False)
class Draw:
    """Negatives beyond the batch: rows to encode, or vectors that are encoded already.

    Attributes:
        ids: int64 [M], the candidates drawn; one may stand several times.
        vectors: float32 [M, D] where they are encoded already, else None.
        log_q: float32 [M], log probability of each; None for uniform.
        age: Steps since the oldest of them was encoded; None where they are encoded now.
    """

    ids: Tensor
    vectors: Tensor | None = None
    log_q: Tensor | None = None
    age: int | None = None


class NegativeSampler(Protocol):
    """What the trainer asks of a sampler. The defaults are those of one without state."""

    name: str

    @property
    def config(self) -> Mapping[str, Any]:
        """Plain settings, saved with the run and compared when it is resumed."""
        ...

    def log_q(self, ids: Tensor, batch_size: int) -> Tensor | None:
        """Log probability of candidates ``ids`` to be in a batch of that size; None for uniform."""
        del ids, batch_size
        return None

    def begin(self, encoder: DualEncoder) -> None:
        """Meet the encoder before the first step."""
        del encoder

    def draw(self, request: Request) -> Draw | None:
        """Draw negatives beyond the batch, without changing any state."""
        del request
        return None

    def commit(self, encoder: DualEncoder) -> None:
        """Take over what the last draw prepared, after the optimiser step."""
        del encoder

    def state_dict(self) -> dict[str, Any]:
        """Give everything that is carried from step to step."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what :meth:`state_dict` gave."""
        del state


class InBatch(NegativeSampler):
    """The other positives of the batch are the negatives; nothing is drawn beyond them.

    Args:
        frequencies: float [N], share of each candidate among the pairs, adding up to 1; None
            where every candidate stands in one pair.

    Raises:
        SettingError: The frequencies are not shares.

    Source: q of a batch is ``1 - (1 - f)^B`` (ours; ``B f`` is no probability once it exceeds 1).

    >>> sampler = InBatch(torch.tensor([0.5, 0.5]))
    >>> sampler.log_q(torch.tensor([0, 1]), batch_size=2).exp()
    tensor([0.7500, 0.7500])
    """

    name = "in-batch"

    def __init__(self, frequencies: Tensor | None = None) -> None:
        self.frequencies = None if frequencies is None else require_shares(frequencies)

    @property
    def config(self) -> Mapping[str, Any]:  # noqa: D102
        return {"frequencies": digest_of(self.frequencies)}

    def log_q(self, ids: Tensor, batch_size: int) -> Tensor | None:  # noqa: D102
        if self.frequencies is None:
            return None
        return log_presence(shares_of(self.frequencies, ids), batch_size)


def log_presence(frequencies: Tensor, draws: int) -> Tensor:
    """Give log(1 - (1 - f)^draws), the log probability to be drawn at least once.

    Args:
        frequencies: Shares, 0 < f <= 1, any shape.
        draws: Independent draws, >= 1.

    Returns:
        float32 of the same shape, exact for shares near 0 and near 1.

    >>> log_presence(torch.tensor([0.5]), 2).exp()
    tensor([0.7500])
    """
    absent = draws * torch.log1p(-frequencies.double().clamp_max(1.0))
    return torch.log(-torch.expm1(absent)).float()


def require_shares(weights: Tensor) -> Tensor:
    """Check a vector of probabilities [N] and give it in float64.

    Raises:
        ShapeError: Not a vector.
        SettingError: Negative, not finite, or not adding up to 1.
    """
    if weights.dim() != 1 or len(weights) == 0:
        raise ShapeError(f"frequencies must be a vector [N], found {list(weights.shape)}")
    shares = weights.double()
    total = float(shares.sum())
    if bool((shares < 0).any()) or not abs(total - 1.0) < 1e-4:
        raise SettingError(
            f"frequencies must be shares that add up to 1, found a sum of {total:.6g} and a least "
            f"of {float(shares.min()):.6g}; divide the counts by their total"
        )
    return shares / total


def shares_of(frequencies: Tensor, ids: Tensor) -> Tensor:
    """Look up the shares of candidates that stand in a batch.

    Raises:
        SettingError: The frequencies do not know a candidate, or call one impossible that is here.
    """
    if len(ids) and int(ids.max()) >= len(frequencies):
        raise SettingError(
            f"the frequencies cover {len(frequencies)} candidates and the batch holds candidate "
            f"{int(ids.max())}; count them over the pairs that are trained on"
        )
    shares = frequencies[ids]
    missing = ids[shares == 0].unique().tolist()  # type: ignore[no-untyped-call]
    if missing:
        raise SettingError(
            f"candidates {missing[:8]} stand in the batch with a frequency of 0, so their log q is "
            "infinite; count frequencies over the pairs that are trained on"
        )
    return shares


def digest_of(values: Tensor | None) -> str:
    """Name a tensor by its content, so that a config can say which one it was made with."""
    if values is None:
        return "none"
    plain = values.detach().cpu().contiguous()
    return hashlib.sha256(plain.numpy().tobytes()).hexdigest()[:16]
