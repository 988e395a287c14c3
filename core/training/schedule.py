"""The trainer's settings, and the optimiser and learning rate they mean.

In come plain numbers; out come checked settings, an AdamW over an encoder and its objective, and
the rate of any step. The rate is a function of the step alone, so a resumed run needs no state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn

from ..errors import SettingError


@dataclass(frozen=True, kw_only=True)
class TrainerSettings:
    """Settings of the trainer, saved with every checkpoint and compared on resume."""

    epochs: int
    batch_size: int | None
    memory_budget: int | None
    learning_rate: float
    weight_decay: float
    warmup_share: float
    clip_norm: float
    patience: int
    chunk_size: int
    seed: int

    def __post_init__(self) -> None:
        right = {
            "epochs": self.epochs >= 1,
            "batch_size": self.batch_size is None or self.batch_size >= 2,
            "memory_budget": (self.memory_budget is None) == (self.batch_size is not None),
            "learning_rate": self.learning_rate > 0,
            "weight_decay": self.weight_decay >= 0,
            "warmup_share": 0 <= self.warmup_share < 1,
            "clip_norm": self.clip_norm > 0,
            "patience": self.patience >= 1,
            "chunk_size": self.chunk_size >= 1,
            "seed": self.seed >= 0,
        }
        faults = [f"{name}={getattr(self, name)}" for name, fine in right.items() if not fine]
        if faults:
            raise SettingError(
                f"the trainer cannot work with {', '.join(faults)}; counts and rates are positive, "
                "a batch has 2 rows or more, warmup_share lies in [0, 1), and memory_budget goes "
                "with batch_size=None"
            )


def learning_rate_at(step: int, total: int, settings: TrainerSettings) -> float:
    """Give the rate of one step: linear warm-up, then half a cosine towards zero.

    Args:
        step: From 0.
        total: Steps in the whole run.
        settings: Peak rate and share of warm-up.

    Source: SGDR (arXiv 1608.03983), eq. 5, without restarts.
    """
    warm = math.ceil(settings.warmup_share * total)
    if step < warm:
        return settings.learning_rate * (step + 1) / warm
    done = (step - warm) / max(1, total - warm)
    return settings.learning_rate * 0.5 * (1.0 + math.cos(math.pi * done))


def make_optimiser(
    encoder: nn.Module, objective: nn.Module, settings: TrainerSettings
) -> torch.optim.AdamW:
    """Make an AdamW that decays matrices only: a decayed temperature or bias drifts to nothing."""
    matrices = [p for p in encoder.parameters() if p.requires_grad and p.dim() >= 2]
    others = [p for p in encoder.parameters() if p.requires_grad and p.dim() < 2]
    others += [p for p in objective.parameters() if p.requires_grad]
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": settings.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ],
        lr=settings.learning_rate,
    )
