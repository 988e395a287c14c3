"""Evidence: why a row scored what it scored, in rows that a reviewer can look up.

In: rows, the reference set and the threshold. Out: an :class:`Alert` for each, with its nearest
normal rows, how far they are, how strange *they* are themselves, the margin to the threshold and
the columns in which the row differs most from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .distances import Matrix
from .model import Reference
from .normals import Normals
from .threshold import Threshold

SHOWN_DIFFERENCES = 5


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A normal row near the one in question.

    Attributes:
        id: Its id in the reference set; where a coreset remembers the row in a sketch, that of the
            kept row beside it.
        space: Where it is near: ``"raw"`` or ``"learned"``.
        distance: In that space.
        own_score: Its own leave-one-out score: a strange neighbour is weak evidence of normality.
    """

    id: Any
    space: str
    distance: float
    own_score: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A column in which a row differs from its nearest normal rows.

    Attributes:
        column: Its name.
        value: Of the row, on its own scale.
        usual: Mean of the nearest normal rows in raw space.
        spreads: Their difference in standard deviations of the normal rows.
    """

    column: str
    value: float
    usual: float
    spreads: float


@dataclass(frozen=True, slots=True)
class Alert:
    """A row with the evidence behind its score.

    Attributes:
        row: Its number in the input.
        score: How strange it is.
        margin: Score minus threshold; an alert where it is above 0.
        neighbours: The k nearest normal rows of each space, nearest first.
        differences: The columns that differ most, largest first.
    """

    row: int
    score: float
    margin: float
    neighbours: tuple[Neighbour, ...]
    differences: tuple[Difference, ...]

    @property
    def alerts(self) -> bool:
        """Whether the score is strictly above the threshold."""
        return self.margin > 0


def gather_evidence(
    index: Reference,
    normals: Normals,
    rows: Matrix,
    numbers: NDArray[np.int64],
    threshold: Threshold,
    columns: Sequence[str],
    *,
    only_alerts: bool,
) -> list[Alert]:
    """Gather the evidence for rows; ``numbers`` are their places in the caller's input."""
    if not len(rows):
        return []
    found = index.neighbours(rows, index.model.k)
    scores = index.combine(rows, found)
    alerts = []
    for at in np.flatnonzero(threshold.alerts(scores)) if only_alerts else range(len(rows)):
        neighbours = tuple(
            Neighbour(
                normals.ids[row].item(), part.space.name, float(distance),
                float(normals.own_scores[row]),
            )
            for part, nearest in zip(index.model.parts, found, strict=True)
            for row, distance in zip(nearest.rows[at], nearest.distances[at], strict=True)
        )  # fmt: skip
        usual = normals.rows[found[0].rows[at]].mean(axis=0)
        alerts.append(
            Alert(
                int(numbers[at]),
                float(scores[at]),
                float(scores[at] - threshold.value),
                neighbours,
                _differences(rows[at], usual, index.model.standardiser.scale, columns),
            )
        )
    return alerts


def _differences(
    row: NDArray[np.float64],
    usual: NDArray[np.float64],
    scale: NDArray[np.float64],
    columns: Sequence[str],
) -> tuple[Difference, ...]:
    spreads = (row - usual) / scale
    order = np.argsort(-np.abs(spreads), kind="stable")[:SHOWN_DIFFERENCES]
    return tuple(
        Difference(columns[at], float(row[at]), float(usual[at]), float(spreads[at]))
        for at in order
        if spreads[at] != 0
    )
