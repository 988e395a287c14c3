"""A forecast taken apart: its episodes, what each says, and what is left together.

In: numbers and stamps that others found. Out: an :class:`Explanation` whose parts add up to the
forecast, as text or as a frame. How episodes are found is told in ``episodes``.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from .panel import Values


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """A stretch of history that speaks for a forecast.

    Attributes:
        series_id: Whose history it is.
        start, end: First and last stamp of its heaviest window's past.
        similarity: Cosine of that window with the one that asks.
        weight: Share of the forecast, all its windows together, in (0, 1].
        windows: How many windows it gathers.
        scale: What its continuation is multiplied by on the way: unit of the asking window over
            the unit of its own.
        past: The heaviest window as it was, [L].
        continuation: What followed that window as it was, [H].
        contribution: What the episode says about the steps ahead, [H]: the weighted continuations
            of its windows, hung on the level of the window that asks. The weighted sum of all
            contributions is the forecast.
    """

    series_id: Hashable
    start: Any
    end: Any
    similarity: float
    weight: float
    windows: int
    scale: float
    past: Values
    continuation: Values
    contribution: Values


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """One forecast and everything it is made of.

    Attributes:
        series_id: Of the series that is forecast.
        cutoff: Last stamp the forecast knows.
        past: The window that asks, [L].
        level: What the forecast would be if history said nothing, [H].
        forecast: The forecast, [H].
        episodes: The heaviest episodes, heaviest first.
        rest_weight: Share of everything else.
        rest_windows: Windows in everything else.
        rest_contribution: What everything else says, [H]; zeros where its weight is zero.
        effective: Effective number of windows, 1 / sum of squared weights.
    """

    series_id: Hashable
    cutoff: Any
    past: Values
    level: Values
    forecast: Values
    episodes: tuple[Episode, ...]
    rest_weight: float
    rest_windows: int
    rest_contribution: Values
    effective: float

    def total(self) -> Values:
        """The weighted sum of all contributions, [H]: the forecast again."""
        parts = [episode.weight * episode.contribution for episode in self.episodes]
        total: Values = np.sum([*parts, self.rest_weight * self.rest_contribution], axis=0)
        return total

    def __str__(self) -> str:
        head = (
            f"{self.series_id} after {self.cutoff}: {len(self.forecast)} steps, "
            f"made of {len(self.episodes)} episodes and a rest of {self.rest_weight:.1%}"
        )
        lines = [
            f"  {rank}. {episode.weight:6.2%}  {episode.series_id}, {episode.start} to "
            f"{episode.end}, cosine {episode.similarity:.3f}"
            for rank, episode in enumerate(self.episodes, start=1)
        ]
        return "\n".join([head, *lines])

    def to_frame(self) -> pl.DataFrame:
        """One row an episode: series, start, end, similarity, weight, windows, scale, lists."""
        return pl.DataFrame(
            {
                "rank": np.arange(1, len(self.episodes) + 1),
                "series": [episode.series_id for episode in self.episodes],
                "start": [episode.start for episode in self.episodes],
                "end": [episode.end for episode in self.episodes],
                "similarity": [episode.similarity for episode in self.episodes],
                "weight": [episode.weight for episode in self.episodes],
                "windows": [episode.windows for episode in self.episodes],
                "scale": [episode.scale for episode in self.episodes],
                "continuation": [episode.continuation.tolist() for episode in self.episodes],
                "contribution": [episode.contribution.tolist() for episode in self.episodes],
            }
        )
