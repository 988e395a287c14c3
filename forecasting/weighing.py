"""What each forecaster is worth, by its errors on the validation tail.

In: errors of several forecasters and of Repeat from the same origins. Out: their weights at every
step, and what mixing surely gained. Where nothing is gained for sure, Repeat takes all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from .model import Forecaster
from .panel import Values
from .simplex import mix
from .units import Steps

# A sure gain over Repeat up to the first leaves Repeat alone, from the second on it keeps the
# blend. Of 72 simulated random walks, none was then forecast worse than by Repeat (with one
# standard error in place of two, a tenth were, by up to half).
NO_GAIN, FULL_GAIN = 0.10, 0.30
DOUBT = 2.0
BLOCKS = (1 / 8, 1 / 4, 1 / 2, 1.0)
"""Last step of each block of steps that shares its weights, as shares of the horizon."""


def weigh(
    errors: Values, steps: Steps, prior: Values, shrinkage: float
) -> tuple[Values, pl.DataFrame]:
    """Learn the weights of every block of steps.

    Args:
        errors: Of M forecasters and, last, of Repeat, in units of each series, [M + 1, O, H].
        steps: Step of each origin, [O].
        prior: Weight of each without evidence, [M].
        shrinkage: Strength of the prior, as a share of the best one's mean squared error.

    Returns:
        Weights at every step, [M + 1, H], and one row a block: ``first_step, last_step, gain,
        kept``.
    """
    members, naive = errors[:-1], errors[-1]
    horizon = naive.shape[1]
    mixture = np.zeros((len(errors), horizon))
    gains: list[tuple[int, int, float, float]] = []
    settled = False
    for first, last in pairwise(_edges(horizon)):
        block = members[:, :, first:last].reshape(len(members), -1)
        weights = mix(block @ block.T / block.shape[1], prior, shrinkage)
        mixed = np.tensordot(weights, members[:, :, first:last], axes=1)
        ours, theirs = ((one**2).mean(axis=1) for one in (mixed, naive[:, first:last]))
        # A long block has few stretches and never much evidence of its own. Doubt is whether there
        # is anything but a walk: once near steps have settled that, far ones are taken at their
        # word.
        gain = plain_gain(ours, theirs) if settled else sure_gain(ours, theirs, steps, last)
        settled = settled or gain >= FULL_GAIN
        keep = float(np.clip((gain - NO_GAIN) / (FULL_GAIN - NO_GAIN), 0.0, 1.0))
        mixture[:, first:last] = np.append(keep * weights, 1 - keep)[:, None]
        gains.append((first + 1, last, gain, keep))
    columns = ["first_step", "last_step", "gain", "kept"]
    return mixture, pl.DataFrame(gains, schema=columns, orient="row")


def tell_weights(mixture: Values, forecasters: Sequence[Forecaster]) -> pl.DataFrame:
    """Weights as a table: one row a block of steps and forecaster."""
    rows = [
        (first + 1, last, one.alias, one.family, float(weights[first]))
        for first, last in pairwise(_edges(mixture.shape[1]))
        for one, weights in zip(forecasters, mixture, strict=True)
    ]
    columns = ["first_step", "last_step", "member", "family", "weight"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def plain_gain(errors: Values, naive: Values) -> float:
    """Share of the squared error of Repeat that was saved, sure or not; see :func:`sure_gain`."""
    against = float(naive.mean())
    return float(1 - errors.mean() / against) if against > 0 else 0.0


def sure_gain(errors: Values, naive: Values, steps: Steps, reach: int) -> float:
    """Share of the squared error of Repeat that is surely saved.

    Forecasts from neighbouring origins err together, so evidence is counted in stretches of time:
    origins within ``reach`` steps are one. The gain is the mean over stretches less ``DOUBT``
    standard errors. Nothing can be saved of nothing, and one stretch is no evidence.

    Args:
        errors: Mean squared error from each origin, [O].
        naive: The same of Repeat, [O].
        steps: Step of each origin, [O].
        reach: Steps over which forecasts share their future.
    """
    against = float(naive.mean())
    _, stretch = np.unique((steps - steps.min()) // reach, return_inverse=True)
    count = np.bincount(stretch)
    if against <= 0 or len(count) < 2:
        return 0.0
    saved = np.bincount(stretch, naive - errors) / count
    doubt = DOUBT * saved.std(ddof=1) / np.sqrt(len(count))
    return float(((naive - errors).mean() - doubt) / against)


def _edges(horizon: int) -> list[int]:
    """Steps at which blocks begin and end: an eighth, a quarter, half, and all of the horizon."""
    return sorted({0, *(max(1, int(share * horizon)) for share in BLOCKS)})
