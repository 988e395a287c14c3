"""What the two history encoders have in common.

In: a batch of histories. Out: :class:`Asked`, vectors with the items each is to find. A new way of
reading histories is a module with these five methods and one line in ``tower.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

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

    @abstractmethod
    def begin_(self, histories: Histories, counts: NDArray[np.int64]) -> None:
        """Set the first weights from the data."""

    @abstractmethod
    def ask(self, histories: Histories, generator: np.random.Generator) -> Asked:
        """Cut training questions from histories: what is shown, and what is to be found."""

    @abstractmethod
    def encode(self, histories: Histories) -> Tensor:
        """Encode whole histories, none of them empty, as [B, D], not normalised."""

    @abstractmethod
    def item_vectors(self, rows: Tensor | None = None) -> Tensor:
        """Give the vectors of all items, or of some rows, [N, D], not normalised."""

    @torch.no_grad()
    def place_(self, rows: NDArray[np.int64], vectors: Tensor) -> None:
        """Set the vectors of items that were never trained on."""
        self.item_vectors()[as_tensor(rows)] = vectors


def as_tensor(rows: NDArray[np.int64]) -> Tensor:
    """Give rows as an int64 tensor."""
    return torch.from_numpy(np.ascontiguousarray(rows, dtype=np.int64))
