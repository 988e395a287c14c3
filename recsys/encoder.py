"""What the two history encoders have in common.

In: a batch of histories. Out: :class:`Asked`, vectors with the items each is to find. A new way of
reading histories is a module with these five methods and one line in ``tower.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .histories import Histories
from .softmax import Targets


@dataclass(frozen=True, eq=False)
class Asked:
    """Vectors [R, D] on the graph, and what each of them is to find; columns are item rows."""

    vectors: Tensor
    targets: Targets


class HistoryEncoder(nn.Module, ABC):
    """Read histories, and hold one vector an item for them to find."""

    by_item: ClassVar[tuple[str, ...]]
    """Names of the parameters that have one row an item."""

    @abstractmethod
    def begin_(self, histories: Histories, counts: NDArray[np.int64]) -> None:
        """Set the first weights from the data."""

    def finish_(self, histories: Histories, smoothing: float) -> None:
        """Do what is left to do once after the training."""

    @abstractmethod
    def ask(
        self, histories: Histories, generator: np.random.Generator, shares: NDArray[np.float64]
    ) -> Asked:
        """Cut training questions from histories: what is shown, and what is to be found.

        Args:
            histories: B of them.
            generator: The only randomness.
            shares: float64 [B], how much of each history is shown, in (0, 1]; one that is shown
                whole has nothing of its own to find. Only a bag is shown a part.
        """

    @abstractmethod
    def encode(self, histories: Histories) -> Tensor:
        """Encode whole histories, none of them empty, as [B, D], not normalised."""

    @abstractmethod
    def item_vectors(self, rows: Tensor | None = None) -> Tensor:
        """Give the vectors of all items, or of some rows, [N, D], not normalised."""

    def widen_(self, count: int) -> None:
        """Make room for ``count`` further items, with vectors of zeros until they are placed."""
        for name, kept in list(self.named_parameters(recurse=False)):
            if name in self.by_item:
                more = torch.zeros(count, *kept.shape[1:])
                setattr(self, name, nn.Parameter(torch.cat([kept.detach(), more])))

    @torch.no_grad()
    def place_(self, rows: NDArray[np.int64], vectors: Tensor) -> None:
        """Set the vectors of items that were never trained on."""
        self.item_vectors()[as_tensor(rows)] = vectors


def as_tensor(rows: NDArray[np.int64]) -> Tensor:
    """Give rows as an int64 tensor."""
    return torch.from_numpy(np.ascontiguousarray(rows, dtype=np.int64))
