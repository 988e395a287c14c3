"""The choice of how to serve, made on the validation tail.

In: indexes of every embedding that may serve, and held-out origins. Out: what each embedding,
kernel and level would have scored there, best first. To let another way be chosen, add it to the
lists below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from .continuations import ContinuationIndex
from .embeddings import Embedding, RawEmbedding
from .holdout import HeldOut
from .kernels import Kernel, Relative, Softmax
from .levels import Level
from .matching import Match
from .normalisers import Normaliser
from .origins import Origins
from .panel import Panel
from .recipe import Recipe
from .skill import level_errors
from .windows import Windows

LEARNED_KERNELS = (Softmax(),)
"""The learned temperature serves as it is: at it, and only at it, the softmax of scores is a
density ratio, and its weights are a forecast distribution."""
ERROR_KERNELS = tuple(Softmax(2.0**-power) for power in range(7))
"""How a direct forecaster erred is less clear than what followed: softer weights stand by."""
RAW_KERNELS: tuple[Kernel, ...] = (
    *(Softmax(4.0**power) for power in range(-1, 5)),
    *(Relative(reach) for reach in (0.1, 0.3, 1.0, 3.0, 10.0)),
)
"""For raw windows, whose scale nobody learned."""
RAW_NORMALISERS = (Normaliser("mean"), Normaliser("z"))
CHOICE_ORIGINS = 768


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One way to serve, and its mean squared error on the validation tail."""

    recipe: Recipe
    embedding: Embedding
    kernel: Kernel
    level: str
    error: float


def try_all(
    indexes: Iterable[ContinuationIndex], panel: Panel, held: HeldOut, levels: Mapping[str, Level]
) -> list[Trial]:
    """Try every kernel and level with every index; best first.

    Args:
        indexes: One for each embedding; one at a time is looked at, so they need not all be held.
        panel: Holds pasts and truth.
        held: Held-out origins; evenly thinned where there are many.
        levels: The levels to try, by name.
    """
    origins = held.origins[:: max(1, len(held.origins) // CHOICE_ORIGINS)]
    trials: list[Trial] = []
    for index in indexes:
        seen = origins[index.matched(panel, origins)]
        kernels = _kernels(index)
        for kernel, recalled in zip(kernels, index.recall_each(panel, seen, kernels), strict=True):
            _, errors = level_errors(index, panel, seen, levels, recalled)
            trials += [
                Trial(index.recipe, index.embedding, kernel, level, error)
                for level, error in errors.items()
            ]
        # Let go of it before the next one is made: a large history does not fit twice.
        del index
    return sorted(trials, key=lambda trial: trial.error)


def _kernels(index: ContinuationIndex) -> Sequence[Kernel]:
    if index.embedding.name == "raw":
        return RAW_KERNELS
    return LEARNED_KERNELS if index.recipe.direct is None else ERROR_KERNELS


def tell_trials(trials: list[Trial]) -> pl.DataFrame:
    """What was tried, as a table."""
    return pl.DataFrame(
        {
            "embedding": [trial.embedding.name for trial in trials],
            "normaliser": [trial.recipe.normaliser.kind for trial in trials],
            "level": [trial.level for trial in trials],
            "kernel": [str(trial.kernel) for trial in trials],
            "validation_mse": [trial.error for trial in trials],
        }
    )


def raw_candidates(
    recipe: Recipe, windows: Windows, normaliser: Normaliser | None
) -> list[tuple[Recipe, Embedding]]:
    """Raw windows, under the normaliser that was asked for, or under each that may serve."""
    tried = RAW_NORMALISERS if normaliser is None else (normaliser,)
    match = recipe.match
    if recipe.company:
        # Shapes of a whole company say nothing of who asks: each learns from its own past.
        match = Match([*(match.rules if match else ()), "series"])
    recipes = [replace(recipe, normaliser=one, match=match) for one in tried]
    return [(one, embed_raw(one, windows)) for one in recipes]


def embed_raw(recipe: Recipe, windows: Windows) -> RawEmbedding:
    """Raw windows on a sphere that holds those of history."""
    rows = np.arange(0, len(windows), max(1, len(windows) // 8192))
    past = windows.pasts(rows)
    unit = recipe.units(windows.panel)[windows.series_of(rows)]
    base, scale = recipe.normaliser.measure(past, unit)
    origins = Origins(windows.series_of(rows), windows.origin_steps(rows))
    own = recipe.normaliser.apply(past, base, scale)
    return RawEmbedding.around(recipe.show(windows.panel, origins, own))
