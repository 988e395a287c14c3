"""Popularity: counted from a stream, sold as a list, and taken out of a score.

Three uses of one number. :class:`StreamingFrequency` estimates how often an item comes by when the
stream is too long to count; :class:`Popularity` is the source that proposes what most people took;
:func:`log_shares` gives the log q that a sampled softmax subtracts. How much popularity a score
keeps is the exponent there, a setting that evaluations report.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core import SettingError
from .histories import Histories


class Popularity:
    """The bestseller list: one score for everybody.

    Args:
        counts: How many users took each item, [I].
    """

    name = "popularity"

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self.counts = counts

    def score(self, histories: Histories) -> NDArray[np.float32]:
        """Give log(1 + users) of every item to every history, float32 [B, I]."""
        line = np.log1p(self.counts).astype(np.float32)
        return np.tile(line, (len(histories), 1))


def log_shares(counts: NDArray[np.int64], exponent: float = 1.0) -> NDArray[np.float32]:
    """Give log q of items drawn in proportion to ``counts ** exponent``.

    Args:
        counts: How many users took each item, [I]; items without any count as 1.
        exponent: 1 draws as the data does, 0 uniformly.

    Returns:
        float32 [I]; exp of it adds up to 1.
    """
    logs = exponent * np.log(np.maximum(counts, 1).astype(np.float64))
    top = logs.max()
    shares: NDArray[np.float32] = (logs - top - np.log(np.exp(logs - top).sum())).astype(np.float32)
    return shares


def mixed_shares(
    counts: NDArray[np.int64], *, exponent: float = 1.0, uniform: float = 0.0
) -> NDArray[np.float64]:
    """Give the shares of a mixture of popularity and uniform draws.

    Args:
        counts: How many users took each item, [I].
        exponent: Of the popularity part.
        uniform: Share of uniform draws, 0 to 1.

    Returns:
        float64 [I], adding up to 1.

    Source: mixed negative sampling (Yang et al., WWW 2020).
    """
    if not 0.0 <= uniform <= 1.0:
        raise SettingError(f"uniform is {uniform}, but a share lies between 0 and 1")
    popular = np.exp(log_shares(counts, exponent).astype(np.float64))
    shares: NDArray[np.float64] = (1.0 - uniform) * popular / popular.sum() + uniform / len(counts)
    return shares


class StreamingFrequency:
    """Estimate how often items come by, from the steps between their visits.

    Args:
        slots: Size of the two hash tables; collisions make items look more frequent.
        rate: Weight of the newest gap, between 0 and 1.
        tables: Independent hash tables; the largest gap among them is believed.
        seed: Seed of the hashes.

    Source: Yi et al., RecSys 2019, algorithm 2 (with several hashes, section 3.2).

    >>> stream = StreamingFrequency(slots=64)
    >>> for step in range(400):
    ...     stream.update(np.array([0] if step % 4 == 0 else [1 + step % 3]))
    >>> bool(abs(stream.share(np.array([0]))[0] - 0.25) < 0.02)
    True
    """

    def __init__(
        self, slots: int = 1 << 20, *, rate: float = 0.05, tables: int = 2, seed: int = 0
    ) -> None:
        if slots < 1 or tables < 1 or not 0.0 < rate < 1.0:
            raise SettingError(
                f"slots and tables are 1 or more and rate lies between 0 and 1, found "
                f"{slots}, {tables} and {rate}"
            )
        self.slots, self.rate = slots, rate
        generator = np.random.default_rng(seed)
        self._factors = generator.integers(1, 2**62, size=(tables, 1), dtype=np.uint64) * 2 + 1
        self._last = np.zeros((tables, slots), dtype=np.int64)
        self._gap = np.zeros((tables, slots), dtype=np.float64)
        self.step = 0

    def update(self, items: NDArray[np.int64]) -> None:
        """Count one batch of item rows as one step; an item counts once a step."""
        self.step += 1
        places = self._places(np.unique(items))
        for table, slots in enumerate(places):
            seen = np.unique(slots)
            gap = (self.step - self._last[table, seen]).astype(np.float64)
            fresh = self._last[table, seen] == 0
            old = self._gap[table, seen]
            self._gap[table, seen] = np.where(fresh, gap, old + self.rate * (gap - old))
            self._last[table, seen] = self.step

    def share(self, items: NDArray[np.int64]) -> NDArray[np.float64]:
        """Estimate the probability that a step holds each item; 0 for one that never came."""
        places = self._places(items)
        gaps = np.stack([self._gap[table, slots] for table, slots in enumerate(places)]).max(axis=0)
        shares: NDArray[np.float64] = np.zeros(len(items))
        np.divide(1.0, gaps, out=shares, where=gaps > 0)
        return shares

    def _places(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """The slot of each item in each table, by multiplicative hashing."""
        mixed = items.astype(np.uint64)[None, :] * self._factors
        return ((mixed >> np.uint64(32)) % np.uint64(self.slots)).astype(np.int64)
