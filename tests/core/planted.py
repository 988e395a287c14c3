"""Pairs with a known answer: two noisy views of one hidden vector."""

from __future__ import annotations

import torch
from likewise.core.encoders.dual import DualEncoder
from likewise.core.encoders.encoders import VectorEncoder
from likewise.core.training.pairs import Pairs
from torch import Tensor


class Planted:
    """A pair source that also hands out candidates and remembers which rows it was asked for."""

    def __init__(self, rows: int = 96, *, noise: float = 0.1, augmented: bool = False) -> None:
        generator = torch.Generator().manual_seed(5)
        hidden = torch.randn(rows, 4, generator=generator)
        mixing = torch.randn(2, 4, 6, generator=generator)
        scatter = noise * torch.randn(2, rows, 6, generator=generator)
        self.anchors, self.positives = (hidden @ mixing + scatter).unbind(0)
        self.augmented = augmented
        self.asked: list[list[int]] = []

    def __len__(self) -> int:
        return len(self.anchors)

    def batch(self, rows: Tensor, generator: torch.Generator) -> Pairs:
        self.asked.append(rows.tolist())
        anchors = self.anchors[rows]
        if self.augmented:
            anchors = anchors + 0.05 * torch.randn(anchors.shape, generator=generator)
        return Pairs(anchors, self.positives[rows])

    def candidates(self, rows: Tensor) -> Tensor:
        return self.positives[rows]

    def recall(self, encoder: torch.nn.Module) -> float:
        assert isinstance(encoder, DualEncoder)
        scores = encoder.encode_anchors(self.anchors) @ encoder.encode_candidates(self.positives).T
        return float((scores.argmax(dim=1) == torch.arange(len(self))).float().mean())


def make_towers(*, dropout: float = 0.0, seed: int = 0, head_layers: int = 0) -> DualEncoder:
    return DualEncoder(
        VectorEncoder(6, 8, hidden=(16,), dropout=dropout, linear_path=False, seed=seed),
        VectorEncoder(6, 8, hidden=(16,), dropout=dropout, linear_path=False, seed=seed + 1),
        head_layers=head_layers,
        seed=seed,
    )


def gradients(*modules: torch.nn.Module) -> Tensor:
    grads = [p.grad for module in modules for p in module.parameters() if p.grad is not None]
    return torch.cat([grad.reshape(-1) for grad in grads])
