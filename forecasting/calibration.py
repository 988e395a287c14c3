"""Intervals that hold: how wrong a model was at earlier origins, step by step.

In: a model's forecasts from origins whose truth is known and was not learned from. Out: for each
step of the horizon the error, in units of each window's own spread, that the asked share of those
forecasts stayed within (split conformal, Vovk et al. 2005; Lei et al. 2018, arXiv 1604.04173).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import SettingError, TooFewRows
from .holdout import batches
from .normalisers import deviation, training_deviations
from .origins import Origins, futures, pasts
from .panel import Panel, Values

_BATCH = 1024
# A window flatter than this share of its series' usual movement is given that share: errors after
# a flat stretch are small, not zero.
SPREAD_FLOOR = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Sorted errors of earlier forecasts.

    Attributes:
        errors: Absolute errors over the spread of their window, each step sorted, [N, H].
        usual: Id of each series -> its deviation over the rows that were fitted on.
        window: Rows over which a window's own spread is taken.
    """

    errors: Values
    usual: Mapping[Any, float]
    window: int

    def half_width(self, level: int) -> Values:
        """The error that ``level`` percent of forecasts stay within, [H].

        Raises:
            TooFewRows: Fewer windows than the level needs: n >= level / (100 - level).
        """
        count = len(self.errors)
        rank = math.ceil((count + 1) * level / 100)
        if rank > count:
            needed = math.ceil(level / (100 - level))
            raise TooFewRows(
                f"a {level} % interval needs at least {needed} calibration windows, found {count}; "
                "ask for a lower level or fit on a longer history"
            )
        width: Values = self.errors[rank - 1]
        return width

    def spread(self, panel: Panel, origins: Origins) -> Values:
        """The unit of the errors at each origin, [O]."""
        return window_spread(panel, origins, self.window, self.usual)


def calibrate(
    expect: Callable[[Panel, Origins], Values], panel: Panel, origins: Origins, horizon: int
) -> Calibration:
    """Collect the errors of a model at origins it has not learned from.

    Args:
        expect: The model: panel and origins in, [O, H] out.
        panel: Holds the truth.
        origins: Where to forecast from; their futures are known.
        horizon: H.
    """
    usual = dict(zip(panel.ids, training_deviations(panel).tolist(), strict=True))
    errors = []
    for part in batches(origins, _BATCH):
        miss = np.abs(futures(panel, part, horizon) - expect(panel, part))
        errors.append(miss / window_spread(panel, part, horizon, usual)[:, None])
    return Calibration(np.sort(np.concatenate(errors), axis=0), usual, horizon)


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
