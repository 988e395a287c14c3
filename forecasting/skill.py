"""How good a forecast through an index is, at origins whose truth is known.

In: an index, held-out origins, and the levels a continuation can hang on. Out: mean squared
errors, in units of each series, of the level alone and of the retrieval hung on it. Training,
choice of settings and the price of an explanation all read these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .continuations import ContinuationIndex
from .levels import Level
from .origins import Origins, futures, pasts
from .panel import Panel
from .recalled import Recalled

Errors = dict[str, float]


def level_errors(
    index: ContinuationIndex,
    panel: Panel,
    origins: Origins,
    levels: Mapping[str, Level],
    recalled: Recalled | None = None,
) -> tuple[Errors, Errors]:
    """Errors of every level, alone and with what the index recalls.

    Args:
        index: Continuations; each origin sees those complete before it.
        panel: Holds pasts and truth.
        origins: Held-out origins.
        levels: The levels to try.
        recalled: What the origins recall; None asks the index.

    Returns:
        Mean squared error of the level alone, and of level plus retrieval, by name.
    """
    recalled = recalled or index.recall(panel, origins)
    unit = index.recipe.units(panel)[origins.series][:, None]
    truth = futures(panel, origins, index.recipe.horizon)
    past = pasts(panel, origins, index.recipe.lookback)
    summary = index.recipe.summarise(panel, origins, past)
    alone: Errors = {}
    together: Errors = {}
    for name, level in levels.items():
        base = level.base(summary)
        lift = recalled.future - level.base(recalled.summary)
        alone[name] = float(np.mean(((base - truth) / unit) ** 2))
        together[name] = float(np.mean(((base + lift - truth) / unit) ** 2))
    return alone, together
