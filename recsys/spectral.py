"""The spectral source: tastes that whole crowds share, sharpened, in closed form.

In: histories. Out: scores of all items for any history, also items that none of the users a history
meets took. Two views of the spectrum are taken. The crowd keeps the few hundred directions in which
users differ most and forgets the rest. The drift is where a history ends after two walks over
users, which is where everybody's ends; taking it off leaves what is this history's own. There is
nothing to train.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..core import SettingError
from .histories import Histories
from .scale import standardise_
from .spectrum import leading_directions, normalised_matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectralSettings:
    """Which directions are kept, and how much what counts.

    Attributes:
        rank: Directions of the crowd.
        user_exponent: A user with n items counts ``n ** -user_exponent`` in finding them.
        item_exponent: An item with n users counts ``n ** -item_exponent``, there and in a history.
        candidate_exponent: A candidate with n users counts ``n ** candidate_exponent``; at
            ``item_exponent`` popular ones get back all that normalising took from them.
        drift_rank: Directions of the drift; they fade with the fourth power of their value.
        sharpening: How much of the drift is taken off, each of the two at deviation 1.
        most_share: At most this share of the catalogue is kept as directions; with all of them a
            history would say nothing but itself.
    """

    rank: int = 512
    user_exponent: float = 0.35
    item_exponent: float = 0.4
    candidate_exponent: float = 0.3
    drift_rank: int = 256
    sharpening: float = 1.0
    most_share: float = 0.1

    def __post_init__(self) -> None:
        right = {
            "rank": self.rank >= 1,
            "drift_rank": self.drift_rank >= 1,
            "sharpening": self.sharpening >= 0,
            "most_share": 0 < self.most_share <= 1,
        }
        wrong = [f"{name}={getattr(self, name)!r}" for name, fine in right.items() if not fine]
        if wrong:
            raise SettingError(
                f"the spectral source cannot work with {', '.join(wrong)}; ranks are 1 or more, "
                "sharpening 0 or more, most_share in (0, 1]"
            )


@dataclass(eq=False)
class Directions:
    """A low-rank walk from what was taken to what may come.

    Attributes:
        vectors: float32 [I, R], one place an item.
        response: float32 [R], how much each direction counts.
        said: float32 [I], how much an item of a history counts.
        found: float32 [I], how much a candidate counts.
    """

    vectors: NDArray[np.float32]
    response: NDArray[np.float32]
    said: NDArray[np.float32]
    found: NDArray[np.float32]

    def score(self, taken: sparse.csr_matrix) -> NDArray[np.float32]:
        """Score all items for the rows of a csr matrix [B, I], float32 [B, I]."""
        said = taken.copy()
        said.data = said.data * self.said[said.indices]
        scores: NDArray[np.float32] = (said @ self.vectors * self.response) @ self.vectors.T
        scores *= self.found
        return scores

    def widen_(self, count: int) -> None:
        """Make room for ``count`` further items."""
        self.vectors = np.pad(self.vectors, ((0, count), (0, 0)))
        self.said, self.found = np.pad(self.said, (0, count)), np.pad(self.found, (0, count))


class SpectralItems:
    """Score items by the leading directions of who took what.

    Args:
        histories: What each training user took.
        settings: None for the usual ones.
        seed: Seed of the search for the directions.

    Source: the crowd is the ideal low-pass filter of GF-CF (arXiv 2108.07567, eq. 8) with free
    exponents; taking a second walk off is the sharpening of BSPM (arXiv 2211.09324), here in closed
    form and with both parts on one scale, which is ours.

    >>> lists = [[0, 1], [0, 1, 2], [0, 2], [3, 4], [3, 5], [4, 5]]
    >>> settings = SpectralSettings(most_share=0.4, sharpening=0.5)
    >>> source = SpectralItems(Histories.of(lists, width=6), settings)
    >>> sorted(source.score(Histories.of([[1]], width=6)).argsort()[0, -3:].tolist())
    [0, 1, 2]
    """

    name = "spectral"

    def __init__(
        self, histories: Histories, settings: SpectralSettings | None = None, *, seed: int = 0
    ) -> None:
        self.settings = settings = SpectralSettings() if settings is None else settings
        users = np.maximum(np.bincount(histories.items, minlength=histories.width), 1)
        most = max(1, int(settings.most_share * histories.width))
        matrix = normalised_matrix(
            histories,
            user_exponent=settings.user_exponent,
            item_exponent=settings.item_exponent,
        )
        vectors, values = leading_directions(matrix, min(settings.rank, most), seed=seed)
        self.crowd = Directions(
            vectors,
            np.ones_like(values),
            (users**-settings.item_exponent).astype(np.float32),
            (users**settings.candidate_exponent).astype(np.float32),
        )
        even, matrix = np.ones(histories.width, dtype=np.float32), normalised_matrix(histories)
        vectors, values = leading_directions(matrix, min(settings.drift_rank, most), seed=seed)
        self.drift = Directions(vectors, values**4, even, even.copy())

    @classmethod
    def of_directions(
        cls, crowd: Directions, drift: Directions, settings: SpectralSettings
    ) -> SpectralItems:
        """Make the source again from its two views."""
        source = cls.__new__(cls)
        source.settings, source.crowd, source.drift = settings, crowd, drift
        return source

    def score(self, histories: Histories) -> NDArray[np.float32]:
        """Score all items for B histories, float32 [B, I]."""
        taken = histories.matrix
        scores = standardise_(self.crowd.score(taken))
        if self.settings.sharpening:
            drift = standardise_(self.drift.score(taken))
            drift *= np.float32(self.settings.sharpening)
            scores -= drift
        return scores

    def widen_(self, count: int) -> None:
        """Make room for ``count`` further items that nobody took."""
        self.crowd.widen_(count)
        self.drift.widen_(count)
