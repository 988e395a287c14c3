"""Prototypes: one vector a label, and the nearest one as a classifier that was never trained.

In come unit vectors with labels (or one encoded description a label); out comes, for any query,
the label of the nearest prototype with its similarity and the margin to the next label.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import DuplicateRows, ShapeError, TooFewRows
from ..geometry import normalize


@dataclass(frozen=True, eq=False)
class Classified:
    """Answers of :meth:`Prototypes.classify`, one a query.

    Attributes:
        labels: Label of the nearest prototype, Q of them.
        similarity: Its cosine, float32 [Q], -1 to 1.
        margin: How far the next label is behind, float32 [Q], 0 to 2; 0 is a tie.
    """

    labels: tuple[Hashable, ...]
    similarity: Tensor
    margin: Tensor


@dataclass(frozen=True, eq=False)
class Prototypes:
    """One unit vector a label.

    Args:
        labels: Distinct labels, at least two.
        vectors: float32 [labels, D], put on the sphere by :func:`~likewise.core.normalize`.

    Raises:
        DuplicateRows: A label stands twice.
        TooFewRows: Fewer than two labels leave nothing to choose from.
        ShapeError: The number of vectors is not the number of labels.

    Source: prototypical networks (arXiv 1703.05175); zero-shot use after CLIP (arXiv 2103.00020).

    >>> prototypes = Prototypes(("east", "north"), torch.eye(2))
    >>> prototypes.classify(torch.tensor([[0.6, 0.8]])).labels
    ('north',)
    """

    labels: tuple[Hashable, ...]
    vectors: Tensor

    def __post_init__(self) -> None:
        if len(set(self.labels)) < len(self.labels):
            twice = sorted({str(one) for one in self.labels if self.labels.count(one) > 1})
            raise DuplicateRows(f"labels {', '.join(twice)} stand twice; average their vectors")
        if len(self.labels) < 2:
            raise TooFewRows(f"{len(self.labels)} label leaves nothing to choose; give 2 or more")
        if self.vectors.dim() != 2 or len(self.vectors) != len(self.labels):
            raise ShapeError(
                f"{len(self.labels)} labels need vectors [{len(self.labels)}, D], found "
                f"{list(self.vectors.shape)}; give one vector a label"
            )
        object.__setattr__(self, "vectors", normalize(self.vectors))

    def classify(self, queries: Tensor) -> Classified:
        """Give each query [Q, D] the label of its nearest prototype; ties go to the first label."""
        if queries.dim() != 2 or queries.shape[1] != self.vectors.shape[1]:
            raise ShapeError(
                f"queries must be [Q, {self.vectors.shape[1]}], found {list(queries.shape)}; "
                "encode them with the encoder of the prototypes"
            )
        similarity = normalize(queries) @ self.vectors.T
        best, second = similarity.sort(dim=1, descending=True, stable=True).values[:, :2].unbind(1)
        chosen = similarity.argmax(dim=1).tolist()
        return Classified(tuple(self.labels[i] for i in chosen), best, best - second)


def average_prototypes(vectors: Tensor, labels: Sequence[Hashable]) -> Prototypes:
    """Make each label's prototype the mean direction of its vectors.

    Args:
        vectors: [N, D], of any length.
        labels: N labels.

    Returns:
        Prototypes in the order in which labels first appear.

    Raises:
        ShapeError: The number of labels is not the number of vectors.
    """
    if len(labels) != len(vectors):
        raise ShapeError(
            f"{len(vectors)} vectors came with {len(labels)} labels; give each vector one label"
        )
    order = {label: row for row, label in enumerate(dict.fromkeys(labels))}
    owner = torch.tensor([order[label] for label in labels], dtype=torch.int64)
    sums = torch.zeros(len(order), vectors.shape[1])
    return Prototypes(tuple(order), sums.index_add_(0, owner, normalize(vectors)))
