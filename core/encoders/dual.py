"""Two towers: an anchor encoder and a candidate encoder that meet on one sphere.

In come anchors and candidates as their encoders take them; out come projections for the objective
(:meth:`DualEncoder.forward`) or unit vectors for the index (``encode_anchors``,
``encode_candidates``). Projection heads belong to training alone: what is served lies below them.
Momentum copies for queues are made here as well.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from ..errors import SettingError
from ..geometry import normalize
from ..seeds import derive_seed, seeded
from .bags import Rows
from .encoders import build_encoder, describe_encoder
from .encoding import Encoder, EncoderConfig, build_mlp

_Module = TypeVar("_Module", bound=nn.Module)


@dataclass(frozen=True, kw_only=True)
class HeadConfig:
    """Settings of :class:`ProjectionHead`."""

    width: int
    layers: int
    out: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class DualEncoderConfig:
    """Settings of :class:`DualEncoder`; ``candidate`` is None when the towers are shared."""

    anchor: EncoderConfig
    candidate: EncoderConfig | None
    head_layers: int
    head_width: int
    seed: int


class ProjectionHead(nn.Module):
    """Map embeddings to the space the objective sees, for training only.

    Args:
        width: D, length of an embedding.
        layers: 0 (the embedding itself), 1 (a linear map) or 2 (one hidden layer of width D).
        out: Length of a projection; must be D when there are no layers.
        seed: Seed of the first weights.

    Raises:
        SettingError: ``layers`` is not 0, 1 or 2, or no layer could change the width.

    Source: SimCLR (arXiv 2002.05709), section 4.2.
    """

    def __init__(self, width: int, *, layers: int, out: int, seed: int = 0) -> None:
        super().__init__()
        if layers not in (0, 1, 2):
            raise SettingError(f"a projection head has 0, 1 or 2 layers, found {layers}")
        if layers == 0 and out != width:
            raise SettingError(
                f"a head of 0 layers keeps the width {width}, found {out}; give it a layer"
            )
        self.config = HeadConfig(width=width, layers=layers, out=out, seed=seed)
        with seeded(seed):
            hidden = (width,) * (layers - 1)
            self.body = build_mlp(width, hidden, out, 0.0) if layers else nn.Sequential()

    def forward(self, embeddings: Tensor) -> Tensor:
        """Project embeddings [..., D] to [..., out]."""
        out: Tensor = self.body(embeddings)
        return out


class DualEncoder(nn.Module):
    """Encode anchors and candidates into one space.

    Args:
        anchor_encoder: Encoder of the anchors.
        candidate_encoder: Encoder of the candidates, of the same width; None lets both use
            ``anchor_encoder`` (shared towers).
        head_layers: Layers of the projection heads, 0 to 2.
        head_width: Length of a projection; None for the width of the embedding.
        seed: Seed of the heads' first weights.

    Attributes:
        width: D, length of an embedding.

    Raises:
        SettingError: The towers differ in width.

    Source: CLIP (arXiv 2103.00020) for separate towers.
    """

    def __init__(
        self,
        anchor_encoder: Encoder,
        candidate_encoder: Encoder | None = None,
        *,
        head_layers: int = 0,
        head_width: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        width = anchor_encoder.width
        if candidate_encoder is not None and candidate_encoder.width != width:
            raise SettingError(
                f"the anchor encoder answers {width} numbers and the candidate encoder "
                f"{candidate_encoder.width}; build both with one width"
            )
        out = width if head_width is None else head_width
        shared = candidate_encoder is None or candidate_encoder is anchor_encoder
        self.width = width
        self.config = DualEncoderConfig(
            anchor=anchor_encoder.config,
            candidate=None if candidate_encoder is None or shared else candidate_encoder.config,
            head_layers=head_layers,
            head_width=out,
            seed=seed,
        )
        self.anchor_encoder = anchor_encoder
        self.candidate_encoder = anchor_encoder if candidate_encoder is None else candidate_encoder
        self.anchor_head = ProjectionHead(
            width, layers=head_layers, out=out, seed=derive_seed(seed, 0)
        )
        self.candidate_head = (
            self.anchor_head
            if shared
            else ProjectionHead(width, layers=head_layers, out=out, seed=derive_seed(seed, 1))
        )

    def forward(self, anchors: Rows, candidates: Rows) -> tuple[Tensor, Tensor]:
        """Project a batch of pairs for the objective, which normalises it.

        Args:
            anchors: B anchors as their encoder takes them.
            candidates: The positive of each, as the candidate encoder takes it.

        Returns:
            Two tensors [B, head_width], not normalised.
        """
        return self.project_anchors(anchors), self.project_candidates(candidates)

    def project_anchors(self, anchors: Rows) -> Tensor:
        """Encode and project anchors, with gradient: [B, head_width], not normalised."""
        out: Tensor = self.anchor_head(self.anchor_encoder(anchors))
        return out

    def project_candidates(self, candidates: Rows) -> Tensor:
        """Encode and project candidates, with gradient: [B, head_width], not normalised."""
        out: Tensor = self.candidate_head(self.candidate_encoder(candidates))
        return out

    def encode_anchors(self, anchors: Rows, *, batch_size: int = 4096) -> Tensor:
        """Encode anchors as unit vectors below the head.

        Args:
            anchors: N anchors as their encoder takes them.
            batch_size: Anchors a forward pass; bounds the memory, not the answer.

        Returns:
            float32 [N, D] on the CPU, without gradient, evaluated without dropout.
        """
        return _encode(self.anchor_encoder, anchors, batch_size)

    def encode_candidates(self, candidates: Rows, *, batch_size: int = 4096) -> Tensor:
        """Encode candidates as unit vectors below the head; see :meth:`encode_anchors`."""
        return _encode(self.candidate_encoder, candidates, batch_size)

    def serving_part(self) -> nn.ModuleDict:
        """Give the towers that answer queries, heads left out: what a fingerprint covers."""
        return nn.ModuleDict({"anchor": self.anchor_encoder, "candidate": self.candidate_encoder})


def describe_dual(encoder: DualEncoder) -> dict[str, Any]:
    """Write a dual encoder's config as a plain mapping for JSON; :func:`build_dual` reads it."""
    candidate = None
    if encoder.config.candidate is not None:
        candidate = describe_encoder(encoder.candidate_encoder)
    return {
        **asdict(encoder.config),
        "anchor": describe_encoder(encoder.anchor_encoder),
        "candidate": candidate,
    }


def build_dual(config: DualEncoderConfig | Mapping[str, Any]) -> DualEncoder:
    """Build the dual encoder that a config (or its mapping) describes, with its first weights."""
    settings = asdict(config) if isinstance(config, DualEncoderConfig) else config
    candidate = settings["candidate"]
    return DualEncoder(
        build_encoder(settings["anchor"]),
        None if candidate is None else build_encoder(candidate),
        head_layers=settings["head_layers"],
        head_width=settings["head_width"],
        seed=settings["seed"],
    )


def momentum_copy(module: _Module) -> _Module:
    """Copy a module into one that never learns by gradient (MoCo's key encoder).

    Source: MoCo (arXiv 1911.05722), section 3.2.
    """
    return copy.deepcopy(module).requires_grad_(False).eval()


@torch.no_grad()
def update_momentum_(slow: nn.Module, fast: nn.Module, momentum: float) -> None:
    """Move the copy towards the module: ``slow = momentum * slow + (1 - momentum) * fast``.

    Args:
        slow: What :func:`momentum_copy` made of ``fast``.
        fast: The module that learns.
        momentum: Share kept, 0 <= momentum <= 1; 1 freezes the copy, 0 equals the module.

    Raises:
        SettingError: The momentum is outside 0..1.

    Source: MoCo (arXiv 1911.05722), eq. 2.
    """
    if not 0.0 <= momentum <= 1.0:
        raise SettingError(f"momentum is a share of 0 to 1, found {momentum}; 0.99 is usual")
    for old, new in zip(slow.parameters(), fast.parameters(), strict=True):
        old.lerp_(new.detach(), 1.0 - momentum)
    for kept, present in zip(slow.buffers(), fast.buffers(), strict=True):
        kept.copy_(present)


@torch.no_grad()
def _encode(encoder: nn.Module, rows: Rows, batch_size: int) -> Tensor:
    if batch_size < 1:
        raise SettingError(f"batch_size is {batch_size}; it must be 1 or more")
    device = next(encoder.parameters()).device
    learning = encoder.training
    encoder.eval()
    try:
        # One empty batch gives an empty answer its width.
        starts = range(0, max(len(rows), 1), batch_size)
        parts = [
            normalize(encoder(rows[start : start + batch_size].to(device))).cpu()
            for start in starts
        ]
    finally:
        encoder.train(learning)
    return torch.cat(parts)
