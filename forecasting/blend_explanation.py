"""What a blended forecast is made of: who said what, with which share, and the history behind it.

In: the members' forecasts of one origin and their weights. Out: one
:class:`BlendExplanation`, whose parts add up to the forecast.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from .explanation import Explanation
from .panel import Values


@dataclass(frozen=True, slots=True, eq=False)
class BlendExplanation:
    """One blended forecast and everything it is made of.

    Attributes:
        series_id: Of the series that is forecast.
        cutoff: Last stamp the forecast knows.
        forecast: The forecast, [H].
        weights: Alias of each forecaster that can speak -> its weight at each step, [H]; they sum
            to one at each step.
        families: Alias -> ``direct``, ``naive`` or ``retrieval``.
        said: Alias -> what it forecasts by itself, [H].
        episodes: Alias of each retrieval forecaster -> the history its part is made of.
    """

    series_id: Hashable
    cutoff: Any
    forecast: Values
    weights: Mapping[str, Values]
    families: Mapping[str, str]
    said: Mapping[str, Values]
    episodes: Mapping[str, Explanation]

    def total(self) -> Values:
        """The weighted sum of what everyone said, [H]: the forecast again."""
        total: Values = np.sum(
            [weight * self.said[alias] for alias, weight in self.weights.items()], axis=0
        )
        return total

    def shares(self) -> dict[str, float]:
        """Share of each family in the forecast, mean over the steps; they sum to one."""
        shares = dict.fromkeys(("retrieval", "direct", "naive"), 0.0)
        for alias, weight in self.weights.items():
            shares[self.families[alias]] += float(weight.mean())
        return shares

    def to_frame(self) -> pl.DataFrame:
        """One row a forecaster: member, family, share, and lists of weights and contributions."""
        return pl.DataFrame(
            {
                "member": list(self.weights),
                "family": [self.families[alias] for alias in self.weights],
                "share": [float(weight.mean()) for weight in self.weights.values()],
                "weights": [weight.tolist() for weight in self.weights.values()],
                "contribution": [
                    (weight * self.said[alias]).tolist() for alias, weight in self.weights.items()
                ],
            }
        )

    def __str__(self) -> str:
        made_of = ", ".join(
            f"{share:.0%} {family}" for family, share in self.shares().items() if share > 0
        )
        head = f"{self.series_id} after {self.cutoff}: {len(self.forecast)} steps, {made_of}"
        return "\n".join([head, *(str(story) for story in self.episodes.values())])
