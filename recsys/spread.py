"""Spread: how much of the catalogue lists reach, and how near they are to the bestseller list.

In: lists and what was popular in training. Out: :class:`Spread`. None of it looks at what users
took afterwards, so it can be watched in production.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import InputError


@dataclass(frozen=True, slots=True)
class Spread:
    """How lists spread over the catalogue; all shares in [0, 1].

    Attributes:
        coverage: Share of the catalogue that stands in at least one list.
        gini: Inequality of exposure over the catalogue: 0 all items alike, near 1 one item only.
        bestseller_overlap: Mean share of a list that stands among the k best sellers.
        tail_share: Share of all candidates that come from the tail or were never taken.
    """

    coverage: float
    gini: float
    bestseller_overlap: float
    tail_share: float

    def require_own_taste(self, most: float) -> None:
        """Fail a build whose lists are the bestseller list with extra steps.

        Raises:
            InputError: The bestseller overlap is above ``most``.
        """
        if self.bestseller_overlap > most:
            raise InputError(
                f"{self.bestseller_overlap:.3f} of the candidates are best sellers, above the "
                f"bound of {most:.3f}; raise the popularity correction or lower the weight of the "
                "popularity source"
            )


def measure_spread(listed: pl.DataFrame, strata: pl.DataFrame, *, k: int) -> Spread:
    """Measure the spread of lists of at most k candidates.

    Args:
        listed: ``user_id, item_id``, each pair once.
        strata: Of the training part; see :func:`~likewise.recsys.item_strata`.
        k: Length of a full list; the bestseller list is cut at the same length.
    """
    shown = listed.group_by("item_id").agg(shown=pl.len())
    catalogue = strata.select("item_id").join(shown, on="item_id", how="full", coalesce=True)
    exposure = catalogue["shown"].fill_null(0).to_numpy().astype(np.float64)
    best = strata.head(k).select("item_id")
    lists = max(listed["user_id"].n_unique(), 1)
    in_best = len(listed.join(best, on="item_id", how="semi"))
    frequent = strata.filter(pl.col("stratum") != "tail").select("item_id")
    return Spread(
        coverage=float((exposure > 0).mean()) if len(exposure) else 0.0,
        gini=gini(exposure),
        bestseller_overlap=in_best / max(len(listed), lists),
        tail_share=len(listed.join(frequent, on="item_id", how="anti")) / max(len(listed), 1),
    )


def gini(exposure: NDArray[np.float64]) -> float:
    """Give the Gini coefficient of amounts >= 0, in [0, 1); 0 where there is nothing to share.

    >>> gini(np.ones(4)), gini(np.array([0.0, 0.0, 0.0, 1.0]))
    (0.0, 0.75)
    """
    total = exposure.sum()
    if len(exposure) == 0 or total == 0:
        return 0.0
    ordered = np.sort(exposure)
    places = np.arange(1, len(ordered) + 1)
    share = float((places * ordered).sum() / (len(ordered) * total))
    return max(0.0, 2.0 * share - (len(ordered) + 1) / len(ordered))
