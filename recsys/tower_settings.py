"""Settings of the learned tower, checked when they are made.

In: plain values. Out: a frozen record that is saved with the tower and is part of its fingerprint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..core import SettingError


@dataclass(frozen=True, slots=True, kw_only=True)
class TowerSettings:
    """How a tower is built and trained.

    Attributes:
        kind: ``"bag"`` for histories as sets, ``"sequence"`` where order tells.
        width: D, length of a vector.
        temperature: Of the softmax over cosines.
        epochs: Passes over the users.
        batch_size: Histories a step.
        learning_rate: Peak rate of Adam; it falls along a cosine.
        longest: Most recent items a history is read by; ``"sequence"`` only.
        blocks: Layers of attention; ``"sequence"`` only.
        dropout: ``"sequence"`` only.
        sampled: Items drawn a step as candidates, or None for the whole catalogue.
        sampled_exponent: Items are drawn in proportion to ``users ** sampled_exponent`` …
        uniform: … mixed with this share of uniform draws.
        correct: Share of log q taken off the logits of drawn candidates in training, 0 to 1.
        teacher_share: Share of each answer that a teacher gives where there is one; ``"bag"`` only.
        whole: Share of the histories that are shown whole where there is a teacher, who then gives
            all of the answer; of the others, half or more is shown. ``"bag"`` only.
        smoothing: How much of its neighbours' vectors each item takes on after the training;
            ``"bag"`` only.
        popularity_exponent: Popularity the vectors need not say: 0 keeps it in the score
            (``log p(item | history)``), 1 takes it out (``log p(item | history) - log p(item)``).
    """

    kind: Literal["bag", "sequence"] = "bag"
    width: int = 128
    temperature: float = 0.07
    epochs: int = 8
    batch_size: int = 256
    learning_rate: float = 3e-3
    longest: int = 50
    blocks: int = 2
    dropout: float = 0.2
    sampled: int | None = 4096
    sampled_exponent: float = 0.5
    uniform: float = 0.1
    correct: float = 1.0
    teacher_share: float = 0.9
    whole: float = 0.8
    smoothing: float = 0.0
    popularity_exponent: float = 0.0

    @property
    def taught(self) -> bool:
        """Whether a teacher is listened to: only where each history makes one question."""
        return self.kind == "bag" and self.teacher_share > 0

    def __post_init__(self) -> None:
        right = {
            "kind": self.kind in ("bag", "sequence"),
            "width": self.width >= 2,
            "temperature": self.temperature > 1e-3,
            "epochs": self.epochs >= 1,
            "batch_size": self.batch_size >= 2,
            "learning_rate": self.learning_rate > 0,
            "longest": self.longest >= 2,
            "blocks": self.blocks >= 1,
            "dropout": 0 <= self.dropout < 1,
            "sampled": self.sampled is None or self.sampled >= 16,
            "uniform": 0 <= self.uniform <= 1,
            "correct": 0 <= self.correct <= 1,
            "teacher_share": 0 <= self.teacher_share <= 1,
            "whole": 0 <= self.whole <= 1,
            "smoothing": self.smoothing >= 0,
        }
        wrong = [f"{name}={getattr(self, name)!r}" for name, fine in right.items() if not fine]
        if wrong:
            raise SettingError(
                f"a tower cannot work with {', '.join(wrong)}; counts are positive, shares lie in "
                "[0, 1], sampled is None or 16 and more"
            )
