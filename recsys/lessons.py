"""Lessons: what one training of a tower goes through, epoch by epoch.

In: an encoder, its settings, histories and perhaps a teacher. Out: the encoder, changed in place,
and the mean loss of each epoch. A lesson is a batch of histories, each cut in what is shown and
what is to be found; candidates are the catalogue or a corrected sample of it.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..core import NonFiniteError, derive_seed
from .encoder import HistoryEncoder
from .histories import Histories, Rows
from .popularity import log_shares
from .sampling import Sampling, draw_candidates
from .softmax import softmax_loss
from .teaching import soften
from .tower_settings import TowerSettings

_HALF = 0.5


class Lessons:
    """The training of one encoder.

    Args:
        encoder: Changed in place.
        settings: How it is trained.
        histories: Of the training users; those with one item only are left out.
        answers: A teacher's, one list a history, or None; see ``teaching.py``.
        seed: Seed of order, halves and candidates.
    """

    def __init__(
        self,
        encoder: HistoryEncoder,
        settings: TowerSettings,
        histories: Histories,
        answers: Histories | None,
        seed: int,
    ) -> None:
        counts = np.bincount(histories.items, minlength=histories.width).astype(np.int64)
        self.encoder, self.settings, self.histories = encoder, settings, histories
        self.answers = answers if settings.taught else None
        self.seed = seed
        self.usable = np.flatnonzero(histories.lengths >= 2)
        self.sampling = Sampling.of(
            settings.sampled, counts, settings.sampled_exponent, settings.uniform
        )
        self.prior = settings.popularity_exponent * torch.from_numpy(log_shares(counts))
        self.optimiser = torch.optim.Adam(
            encoder.parameters(), lr=settings.learning_rate, fused=True
        )

    def take_epoch(self, epoch: int) -> float:
        """Go once over all users; give the mean loss, in nats.

        Raises:
            NonFiniteError: The loss is not a number.
        """
        settings = self.settings
        generator = np.random.default_rng(derive_seed(self.seed, epoch))
        order = generator.permutation(self.usable)
        size = min(settings.batch_size, max(len(order), 1))
        steps = max(1, len(order) // size)
        losses = []
        self.encoder.train()
        for step in range(steps):
            rate = _rate_at(epoch * steps + step, settings.epochs * steps, settings.learning_rate)
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            loss = self._loss(order[step * size : (step + 1) * size], generator)
            losses.append(float(loss.detach()))
            if not math.isfinite(losses[-1]):
                raise NonFiniteError(
                    f"epoch {epoch}, step {step}: the loss of the tower is {losses[-1]}; lower "
                    "the learning rate or raise the temperature"
                )
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
        return float(np.mean(losses))

    def _loss(self, rows: Rows, generator: np.random.Generator) -> Tensor:
        settings, prior = self.settings, self.prior
        answers = None if self.answers is None else self.answers.take(rows)
        shares = np.full(len(rows), _HALF)
        if answers is not None:
            shares = _draw_shares(answers.lengths > 0, settings.whole, generator)
        with torch.random.fork_rng():
            torch.manual_seed(int(generator.integers(2**62)))
            asked = self.encoder.ask(self.histories.take(rows), generator, shares)
        targets, log_q = asked.targets, None
        if answers is not None:
            targets = soften(targets, answers, share=settings.teacher_share)
        if self.sampling is None:
            vectors = self.encoder.item_vectors()
        else:
            drawn = draw_candidates(targets, self.sampling, generator)
            targets, prior = drawn.targets, prior[drawn.items]
            vectors = self.encoder.item_vectors(drawn.items)
            log_q = settings.correct * drawn.log_q
        return softmax_loss(
            asked.vectors,
            vectors,
            targets,
            temperature=settings.temperature,
            log_q=log_q,
            prior=prior if settings.popularity_exponent else None,
        )


def _draw_shares(
    taught: NDArray[np.bool_], whole: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Draw how much of each history is shown: all or anything from half on, half if not taught."""
    shares = np.where(
        generator.random(len(taught)) < whole, 1.0, generator.uniform(_HALF, 1.0, len(taught))
    )
    return np.where(taught, shares, _HALF)


def _rate_at(step: int, total: int, peak: float) -> float:
    warm = max(1, total // 20)
    falling = 0.5 * (1.0 + math.cos(math.pi * step / max(total, 1)))
    return peak * min(1.0, (step + 1) / warm) * falling
