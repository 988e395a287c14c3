"""Whose draws bound a forecast that several made: the ones whose quantiles fitted best so far.

In: means from held-out origins and, for each candidate, equally likely futures around them. Out:
the candidate with the smallest quantile loss. Ranks are calibrated on the earlier half of the
origins and judged on the later one, as they will be used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .bounds import at_ranks, ranks
from .calibration import Calibration, window_spread
from .holdout import slices
from .normalisers import training_deviations
from .origins import Origins, futures
from .panel import Panel, Values

Draws = Callable[[Panel, Origins, Values], Values]
JUDGED = (0.1, 0.25, 0.5, 0.75, 0.9)
FEWEST = 40
"""Origins that a choice needs; with fewer, the first candidate bounds."""
_DRAWN = 128


def choose_draws(
    candidates: Sequence[Draws], panel: Panel, origins: Origins, mean: Values
) -> tuple[int, Values]:
    """Place of the candidate that bounds best, and the quantile loss of each in series units.

    Args:
        candidates: Panel, origins and means [O, H] in, equally likely futures [O, M, H] out.
        panel: Holds the truth.
        origins: Held out, in order of time.
        mean: What was forecast from them, [O, H].
    """
    if len(candidates) == 1 or len(origins) < FEWEST:
        return 0, np.zeros(len(candidates))
    horizon = mean.shape[1]
    usual = dict(zip(panel.ids, training_deviations(panel).tolist(), strict=True))
    order = np.argsort(origins.steps, kind="stable")
    earlier, later = order[: len(order) // 2], order[len(order) // 2 :]
    losses = []
    for draws in candidates:
        errors = [
            np.abs(ranks(possible, truth, spread))
            for possible, truth, spread, _ in _drawn(draws, panel, origins, earlier, mean, usual)
        ]
        calibration = Calibration(np.sort(np.concatenate(errors), axis=0), usual, horizon)
        rank = {quantile: calibration.rank(quantile) for quantile in JUDGED}
        loss = [
            _pinball(at_ranks(possible, rank[quantile], spread), truth, quantile) / unit[:, None]
            for possible, truth, spread, unit in _drawn(draws, panel, origins, later, mean, usual)
            for quantile in JUDGED
        ]
        losses.append(float(np.mean(np.concatenate(loss))))
    return int(np.argmin(losses)), np.array(losses)


def _drawn(
    draws: Draws,
    panel: Panel,
    origins: Origins,
    chosen: np.ndarray[tuple[int], np.dtype[np.int64]],
    mean: Values,
    usual: Mapping[object, float],
) -> list[tuple[Values, Values, Values, Values]]:
    """Sorted draws, truth, spread and unit of the chosen origins, some at a time."""
    found = []
    for rows in slices(len(chosen), _DRAWN):
        part, middle = origins[chosen[rows]], mean[chosen[rows]]
        possible = np.sort(draws(panel, part, middle), axis=1)
        truth = futures(panel, part, mean.shape[1])
        spread = window_spread(panel, part, mean.shape[1], usual)
        unit = np.array([usual[panel.ids[number]] for number in part.series])
        found.append((possible, truth, spread, unit))
    return found


def _pinball(bound: Values, truth: Values, quantile: float) -> Values:
    miss = truth - bound
    loss: Values = np.maximum(quantile * miss, (quantile - 1) * miss)
    return loss
