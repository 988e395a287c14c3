"""Whose draws bound a forecast that several made: the ones whose quantiles fitted best so far.

In: means from held-out origins and, for each candidate, equally likely futures around them. Out:
the candidate with the smallest quantile loss. Ranks are calibrated on the earlier half of the
origins and judged on the later one, as they will be used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .bounds import at_ranks
from .calibration import Draws, calibrate_around, draw_each
from .normalisers import training_deviations
from .origins import Origins
from .panel import Panel, Values

JUDGED = (0.1, 0.25, 0.5, 0.75, 0.9)
FEWEST = 40
"""Origins that a choice needs; with fewer, the first candidate bounds."""


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
    usual = panel.by_id(training_deviations(panel))
    order = np.argsort(origins.steps, kind="stable")
    earlier, later = order[: len(order) // 2], order[len(order) // 2 :]
    losses = []
    for draws in candidates:
        calibration = calibrate_around(mean[earlier], panel, origins[earlier], usual, draws)
        rank = {quantile: calibration.rank(quantile) for quantile in JUDGED}
        loss = []
        for one in draw_each(mean[later], panel, origins[later], usual, draws):
            unit = np.array([usual[panel.ids[number]] for number in one.origins.series])
            loss += [
                _pinball(at_ranks(one.possible, rank[quantile], one.spread), one.truth, quantile)
                / unit[:, None]
                for quantile in JUDGED
            ]
        losses.append(float(np.mean(np.concatenate(loss))))
    return int(np.argmin(losses)), np.array(losses)


def _pinball(bound: Values, truth: Values, quantile: float) -> Values:
    miss = truth - bound
    loss: Values = np.maximum(quantile * miss, (quantile - 1) * miss)
    return loss
