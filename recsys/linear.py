"""The linear source: every item predicted from all others at once, in closed form.

In: histories over a catalogue small enough for a dense item-item matrix. Out: scores of all items
for any history. Where co-occurrence counts each shared user, this solves for what an item adds
*beyond* the others, which is the better judge on small, dense catalogues.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core import SettingError
from .histories import Histories


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearSettings:
    """How the linear source is fitted.

    Attributes:
        regularisation: Added to the diagonal of the item-item matrix, in users.
        most_items: Larger catalogues are refused; memory is 8 bytes times their square.
    """

    regularisation: float = 200.0
    most_items: int = 8000

    def __post_init__(self) -> None:
        if not self.regularisation > 0:
            raise SettingError(f"regularisation is {self.regularisation}; it is more than 0")


class LinearItems:
    """Score items by a linear model of each item on all others.

    Args:
        histories: What each training user took.
        settings: None for the usual ones.

    Raises:
        SettingError: The catalogue is too large.

    Source: EASE (Steck, WWW 2019, eq. 8).

    >>> source = LinearItems(Histories.of([[0, 1], [0, 1], [2]], width=3))
    >>> scores = source.score(Histories.of([[0]], width=3))[0]
    >>> bool(scores[1] > scores[2])
    True
    """

    name = "linear"

    def __init__(self, histories: Histories, settings: LinearSettings | None = None) -> None:
        self.settings = settings = LinearSettings() if settings is None else settings
        if histories.width > settings.most_items:
            raise SettingError(
                f"the linear source holds a dense matrix of items by items, and {histories.width} "
                f"items are more than {settings.most_items}; leave it out or raise most_items"
            )
        taken = histories.matrix
        taken.data[:] = 1.0
        gram = np.asarray((taken.T @ taken).todense(), dtype=np.float64)
        gram[np.diag_indices_from(gram)] += settings.regularisation
        inverse = np.linalg.inv(gram)
        weights = inverse / -np.diag(inverse)
        np.fill_diagonal(weights, 0.0)
        self.weights: NDArray[np.float32] = weights.astype(np.float32)

    @classmethod
    def of_weights(cls, weights: NDArray[np.float32], settings: LinearSettings) -> LinearItems:
        """Make the source again from its weights, float32 [I, I]."""
        source = cls.__new__(cls)
        source.settings, source.weights = settings, weights
        return source

    def score(self, histories: Histories) -> NDArray[np.float32]:
        """Score all items for B histories, float32 [B, I]."""
        return np.asarray(histories.matrix @ self.weights, dtype=np.float32)

    def widen_(self, count: int) -> None:
        """Make room for ``count`` further items that nobody took."""
        self.weights = np.pad(self.weights, ((0, count), (0, count)))
