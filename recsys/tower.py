"""The learned tower: histories and items as vectors on one sphere.

In: histories of the training users. Out: :class:`Tower`, which scores every item for any history,
stored or not, by the cosine of two vectors. What reads a history is one of the ``HistoryEncoder``
modules (``bag.py``: order does not matter; ``sequence.py``: it does); how candidates are drawn and
corrected is in ``sampling.py``; here the two are trained and asked.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..core import (
    NonFiniteError,
    Progress,
    SettingError,
    derive_seed,
    fingerprint,
    normalize,
    silent,
)
from .bag import BagEncoder
from .cooccurrence import Cooccurrence
from .encoder import HistoryEncoder
from .histories import Histories
from .popularity import log_shares
from .sampling import Sampling, draw_candidates
from .sequence import SequenceEncoder
from .softmax import softmax_loss
from .teaching import soften

_ENCODE_AT_ONCE = 4096
_TEACHER_NEIGHBOURS = 300


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
    teacher_share: float = 0.8
    smoothing: float = 0.0
    popularity_exponent: float = 0.0

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
            "smoothing": self.smoothing >= 0,
        }
        wrong = [f"{name}={getattr(self, name)!r}" for name, fine in right.items() if not fine]
        if wrong:
            raise SettingError(
                f"a tower cannot work with {', '.join(wrong)}; counts are positive, shares lie in "
                "[0, 1], sampled is None or 16 and more"
            )


class Tower:
    """Vectors of histories and items that meet where one takes the other.

    Args:
        settings: How it is built and trained; None for the usual ones.
        seed: Seed of first weights, order, halves and candidates.

    Attributes:
        encoder_: What reads histories and holds the item vectors.
        fingerprint_: Name of the encoder as it was trained; items placed later do not change it.
        losses_: Mean loss of each epoch, in nats.
        seconds_: Wall time of the training.
    """

    name = "tower"

    def __init__(self, settings: TowerSettings | None = None, *, seed: int = 0) -> None:
        self.settings = TowerSettings() if settings is None else settings
        self.seed = seed
        self._unit: NDArray[np.float32] | None = None

    def fit(
        self,
        histories: Histories,
        *,
        teacher: Cooccurrence | None = None,
        progress: Progress = silent,
    ) -> Tower:
        """Train on what users took; give the tower back.

        Args:
            histories: Of the training users; those with one item only are left out.
            teacher: Co-occurrence of the same histories; see ``teaching.py``.
            progress: Display of the epochs.

        Raises:
            NonFiniteError: The loss is not a number.
        """
        started = time.perf_counter()
        counts = np.bincount(histories.items, minlength=histories.width).astype(np.int64)
        self.encoder_, self._unit = self._build(histories, counts), None
        self.losses_: list[float] = []
        if teacher is not None:
            teacher = teacher.trimmed(_TEACHER_NEIGHBOURS)
        usable = np.flatnonzero(histories.lengths >= 2)
        optimiser = torch.optim.Adam(
            self.encoder_.parameters(), lr=self.settings.learning_rate, fused=True
        )
        for epoch in progress(range(self.settings.epochs), "training the tower"):
            self._train_epoch(epoch, histories, usable, counts, teacher, optimiser)
        self.encoder_.finish_(histories, self.settings.smoothing)
        self.encoder_.eval()
        self.fingerprint_ = fingerprint(self.encoder_, preprocessing=asdict(self.settings))
        self.seconds_ = time.perf_counter() - started
        return self

    @property
    def item_vectors(self) -> NDArray[np.float32]:
        """Unit vectors of all items, float32 [I, D]."""
        # Every batch asks for them: they are put on the sphere once, until an item is placed.
        if self._unit is None:
            with torch.no_grad():
                self._unit = normalize(self.encoder_.item_vectors()).numpy()
        return self._unit

    def encode(self, histories: Histories) -> NDArray[np.float32]:
        """Encode histories as unit vectors, float32 [B, D]; an empty one has a vector of zeros."""
        vectors = np.zeros((len(histories), self.settings.width), dtype=np.float32)
        filled = np.flatnonzero(histories.lengths)
        self.encoder_.eval()
        with torch.no_grad():
            for start in range(0, len(filled), _ENCODE_AT_ONCE):
                rows = filled[start : start + _ENCODE_AT_ONCE]
                vectors[rows] = normalize(self.encoder_.encode(histories.take(rows))).numpy()
        return vectors

    def score(self, histories: Histories) -> NDArray[np.float32]:
        """Give the cosine of every history with every item, float32 [B, I]."""
        scores: NDArray[np.float32] = self.encode(histories) @ self.item_vectors.T
        return scores

    def widen_(self, count: int) -> None:
        """Make room for ``count`` further items."""
        self.encoder_.widen_(count)
        self._unit = None

    def place_(self, rows: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Put items that were never trained on where their content says, float32 [I, D]."""
        self.encoder_.place_(rows, torch.from_numpy(vectors[rows]))
        self._unit = None

    def state(self) -> dict[str, Tensor]:
        """Give the weights, for a bundle."""
        return self.encoder_.state_dict()

    @classmethod
    def of_state(
        cls,
        settings: TowerSettings,
        seed: int,
        items: int,
        state: dict[str, Tensor],
        fingerprint: str,
    ) -> Tower:
        """Make the tower again from what :meth:`state` gave."""
        tower = cls(settings, seed=seed)
        tower.encoder_ = _new_encoder(settings, items, seed)
        tower.encoder_.load_state_dict(state)
        tower.encoder_.eval()
        tower.fingerprint_ = fingerprint
        return tower

    def _build(self, histories: Histories, counts: NDArray[np.int64]) -> HistoryEncoder:
        encoder = _new_encoder(self.settings, histories.width, self.seed)
        encoder.begin_(histories, counts)
        return encoder

    def _train_epoch(
        self,
        epoch: int,
        histories: Histories,
        usable: NDArray[np.int64],
        counts: NDArray[np.int64],
        teacher: Cooccurrence | None,
        optimiser: torch.optim.Optimizer,
    ) -> None:
        settings = self.settings
        generator = np.random.default_rng(derive_seed(self.seed, epoch))
        order = generator.permutation(usable)
        size = min(settings.batch_size, max(len(order), 1))
        steps = max(1, len(order) // size)
        sampling = Sampling.of(
            settings.sampled, counts, settings.sampled_exponent, settings.uniform
        )
        prior = settings.popularity_exponent * torch.from_numpy(log_shares(counts))
        losses = []
        self.encoder_.train()
        for step in range(steps):
            rate = _rate_at(epoch * steps + step, settings.epochs * steps, settings.learning_rate)
            for group in optimiser.param_groups:
                group["lr"] = rate
            batch = histories.take(order[step * size : (step + 1) * size])
            loss = self._loss(batch, sampling, prior, teacher, generator)
            losses.append(float(loss.detach()))
            if not math.isfinite(losses[-1]):
                raise NonFiniteError(
                    f"epoch {epoch}, step {step}: the loss of the tower is {losses[-1]}; lower "
                    "the learning rate or raise the temperature"
                )
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        self.losses_.append(float(np.mean(losses)))

    def _loss(
        self,
        batch: Histories,
        sampling: Sampling | None,
        prior: Tensor,
        teacher: Cooccurrence | None,
        generator: np.random.Generator,
    ) -> Tensor:
        settings = self.settings
        with torch.random.fork_rng():
            torch.manual_seed(int(generator.integers(2**62)))
            asked = self.encoder_.ask(batch, generator)
        targets, log_q = asked.targets, None
        if teacher is not None and settings.teacher_share and len(targets.hidden_owners):
            targets = soften(targets, teacher, share=settings.teacher_share)
        if sampling is None:
            vectors = self.encoder_.item_vectors()
        else:
            drawn = draw_candidates(targets, sampling, generator)
            targets, prior = drawn.targets, prior[drawn.items]
            vectors = self.encoder_.item_vectors(drawn.items)
            log_q = settings.correct * drawn.log_q
        return softmax_loss(
            asked.vectors,
            vectors,
            targets,
            temperature=settings.temperature,
            log_q=log_q,
            prior=prior if settings.popularity_exponent else None,
        )


def with_epochs(settings: TowerSettings, epochs: int) -> TowerSettings:
    """Give the same settings with another number of epochs."""
    return replace(settings, epochs=epochs)


def read_tower_settings(plain: dict[str, Any]) -> TowerSettings:
    """Make settings from the mapping a bundle holds."""
    return TowerSettings(**plain)


def _new_encoder(settings: TowerSettings, items: int, seed: int) -> HistoryEncoder:
    if settings.kind == "bag":
        return BagEncoder(items, settings.width, seed=seed)
    return SequenceEncoder(
        items,
        settings.width,
        longest=settings.longest,
        blocks=settings.blocks,
        dropout=settings.dropout,
        seed=seed,
    )


def _rate_at(step: int, total: int, peak: float) -> float:
    warm = max(1, total // 20)
    falling = 0.5 * (1.0 + math.cos(math.pi * step / max(total, 1)))
    return peak * min(1.0, (step + 1) / warm) * falling
