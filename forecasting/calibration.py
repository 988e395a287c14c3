"""Intervals that hold: how wrong a model was at earlier origins, step by step.

In: a model's forecasts from origins whose truth is known and was not learned from. Out: for each
step of the horizon the rank among the model's draws, counted from their middle, that the asked
share of those truths stayed within: split conformal prediction (Vovk et al. 2005; Lei et al. 2018,
arXiv 1604.04173) with a rank for a score (Chernozhukov et al. 2021). For a model without draws the
rank is the error, in units of each window's own spread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..core import SettingError, TooFewRows
from .bounds import ranks
from .holdout import batches, slices
from .normalisers import deviation, training_deviations
from .origins import Origins, futures, pasts
from .panel import Panel, Values

Draws = Callable[[Panel, Origins, Values], Values]
"""Panel, origins and means [O, H] in, equally likely futures [O, M, H] out."""
_BATCH = 1024
DRAWN = 128
"""Origins whose draws, [O, M, H], are held at a time."""
# A window flatter than this share of its series' usual movement is given that share: errors after
# a flat stretch are small, not zero.
SPREAD_FLOOR = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """How far out earlier truths lay.

    Attributes:
        errors: Absolute ranks of earlier truths (see :func:`ranks`), each step sorted, [N, H].
        usual: Id of each series -> its deviation over the rows that were fitted on.
        window: Rows over which a window's own spread is taken.
    """

    errors: Values
    usual: Mapping[Any, float]
    window: int

    def half_width(self, level: int) -> Values:
        """The rank that ``level`` percent of truths stay within, [H].

        Raises:
            TooFewRows: Fewer windows than the level needs: n >= level / (100 - level).
        """
        return self._within(Fraction(level, 100), f"a {level} % interval")

    def rank(self, quantile: float) -> Values:
        """The rank that stands for a quantile, [H]: a bound of the interval between it and 1 - it.

        Raises:
            TooFewRows: As in :meth:`half_width`.
        """
        share = abs(2 * Fraction(str(quantile)) - 1)
        if not share:
            return np.zeros(self.errors.shape[1])
        reach = self._within(share, f"the quantile {quantile}")
        return reach if quantile > 0.5 else -reach

    def _within(self, share: Fraction, asked: str) -> Values:
        count = len(self.errors)
        place = math.ceil((count + 1) * share)
        if place > count:
            needed = math.ceil(share / (1 - share))
            raise TooFewRows(
                f"{asked} needs at least {needed} calibration windows, found {count}; "
                "ask for a lower level or fit on a longer history"
            )
        reach: Values = self.errors[place - 1]
        return reach

    def spread(self, panel: Panel, origins: Origins) -> Values:
        """The unit of the errors at each origin, [O]."""
        return window_spread(panel, origins, self.window, self.usual)


def calibrate(
    expect: Callable[[Panel, Origins], Values],
    panel: Panel,
    origins: Origins,
    *,
    draws: Draws,
) -> Calibration:
    """Collect how far out the truth lay at origins a model has not learned from.

    Args:
        expect: The model: panel and origins in, [O, H] out.
        panel: Holds the truth.
        origins: Where to forecast from; their futures are known.
        draws: Its equally likely futures: panel, origins and [O, H] in, [O, M, H] out.
    """
    usual = panel.by_id(training_deviations(panel))
    mean = np.concatenate([expect(panel, part) for part in batches(origins, _BATCH)])
    return calibrate_around(mean, panel, origins, usual, draws)


def calibrate_around(
    mean: Values, panel: Panel, origins: Origins, usual: Mapping[Any, float], draws: Draws
) -> Calibration:
    """The same around means that are there already, [O, H]; see :func:`calibrate`."""
    errors = [
        np.abs(ranks(one.possible, one.truth, one.spread))
        for one in draw_each(mean, panel, origins, usual, draws)
    ]
    return Calibration(np.sort(np.concatenate(errors), axis=0), usual, mean.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Draws of some origins beside what happened.

    Attributes:
        origins: Where they start, O of them.
        possible: Equally likely futures, ascending along M, [O, M, H].
        truth: What happened, [O, H].
        spread: Unit of each origin, [O].
    """

    origins: Origins
    possible: Values
    truth: Values
    spread: Values


def draw_each(
    mean: Values, panel: Panel, origins: Origins, usual: Mapping[Any, float], draws: Draws
) -> Iterator[Drawn]:
    """Draw around means from origins whose future is known, some at a time."""
    horizon = mean.shape[1]
    for rows in slices(len(origins), DRAWN):
        part = origins[rows]
        possible = np.sort(draws(panel, part, mean[rows]), axis=1)
        spread = window_spread(panel, part, horizon, usual)
        yield Drawn(part, possible, futures(panel, part, horizon), spread)


def window_spread(
    panel: Panel, origins: Origins, window: int, usual: Mapping[Any, float]
) -> Values:
    """Deviation of the last rows before each origin, floored by the usual one, [O]."""
    rows = pasts(panel, origins, max(window, 2))
    with np.errstate(invalid="ignore"):
        recent = np.nanstd(rows, axis=1)
    floor = _usual_at(panel, origins, usual)
    spread: Values = np.maximum(np.nan_to_num(recent), SPREAD_FLOOR * floor)
    return spread


def _usual_at(panel: Panel, origins: Origins, usual: Mapping[Any, float]) -> Values:
    """Usual deviation of the series of each origin; of a new series, that of its rows so far."""
    found = []
    for number, step in zip(origins.series.tolist(), origins.steps.tolist(), strict=True):
        known = usual.get(panel.ids[number])
        if known is None:
            known = deviation(panel.series(number)[: step - int(panel.starts[number]) + 1])
        found.append(known)
    return np.array(found)


def check_levels(levels: Sequence[int]) -> list[int]:
    """Interval levels as distinct whole percents, ascending.

    Raises:
        SettingError: A level outside 1 to 99.
    """
    wrong = [level for level in levels if not 0 < level < 100 or level != int(level)]
    if wrong:
        raise SettingError(f"levels are whole percents from 1 to 99, found {wrong}")
    return sorted({int(level) for level in levels})
