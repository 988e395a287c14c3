"""The learned tower: histories and items as vectors on one sphere.

In: histories of the training users. Out: :class:`Tower`, which scores every item for any history,
stored or not, by the cosine of two vectors. What reads a history is one of the ``HistoryEncoder``
modules (``bag.py``: order does not matter; ``sequence.py``: it does); how candidates are drawn and
corrected is in ``sampling.py``, an epoch of training in ``lessons.py``; here the two are asked.
"""

from __future__ import annotations

import time
from dataclasses import asdict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..core import Progress, fingerprint, normalize, silent
from .bag import BagEncoder
from .encoder import HistoryEncoder
from .histories import Histories
from .lessons import Lessons
from .sequence import SequenceEncoder
from .tower_settings import TowerSettings

_ENCODE_AT_ONCE = 4096


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
        answers: Histories | None = None,
        progress: Progress = silent,
    ) -> Tower:
        """Train on what users took; give the tower back.

        Args:
            histories: Of the training users; those with one item only are left out.
            answers: What a teacher answers to them, one list a history; see ``teaching.py``.
            progress: Display of the epochs.

        Raises:
            NonFiniteError: The loss is not a number.
        """
        started = time.perf_counter()
        counts = np.bincount(histories.items, minlength=histories.width).astype(np.int64)
        self.encoder_ = _new_encoder(self.settings, histories.width, self.seed)
        self.encoder_.begin_(histories, counts)
        self._unit = None
        self.losses_: list[float] = []
        lessons = Lessons(self.encoder_, self.settings, histories, answers, self.seed)
        for epoch in progress(range(self.settings.epochs), "training the tower"):
            self.losses_.append(lessons.take_epoch(epoch))
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
