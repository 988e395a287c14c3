"""The level a forecast hangs on: a linear map from the past to a base for every step ahead.

In: pasts [B, L]. Out: bases [B, H]. A retrieved continuation is read as its difference from the
base of its own past, and hung on the base of the past that asks. All a base depends on is a
*summary* of the past, its mean and its trailing means over 1, 2, 4, ... rows, so summaries can be
averaged with the same weights as continuations. Every level moves with the series: adding 5 to a
past adds 5 to its base.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ..core import SettingError
from .panel import Values
from .windows import Windows

LevelKind = Literal["mean", "last", "trailing", "halfway"]
LEVELS: tuple[LevelKind, ...] = get_args(LevelKind)
SHRINKAGE = 0.1
_BATCH = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """A base for every step, linear in the summary of the past.

    Attributes:
        kind: ``mean`` of the past, its ``last`` value, a fitted mix of ``trailing`` means, or
            ``halfway`` between the first and the third: a mean is slow and a fitted mix is quick
            to believe that a level has moved.
        coefficients: What each part of a summary says about each step, [F, H]; columns sum to 1.
    """

    kind: LevelKind
    coefficients: Values

    def base(self, summaries: Values) -> Values:
        """The base that summaries [B, F] stand for, [B, H]."""
        return summaries @ self.coefficients


def summarise(pasts: Values) -> Values:
    """Mean and trailing means of pasts [B, L], as [B, F]; F grows with log L."""
    means = [pasts[:, -span:].mean(axis=1) for span in _spans(pasts.shape[1])]
    return np.column_stack([pasts.mean(axis=1), *means])


def fit_levels(windows: Windows, deviations: Values) -> dict[LevelKind, Level]:
    """Fit every kind of level.

    Args:
        windows: To learn the coefficients of ``trailing`` from.
        deviations: Unit of each series, so that all count alike, [S].
    """
    parts = 1 + len(_spans(windows.lookback))
    mean, last = np.zeros((parts, windows.horizon)), np.zeros((parts, windows.horizon))
    mean[0] = last[1] = 1
    trailing = _fit_trailing(windows, deviations)
    return {
        "mean": Level("mean", mean),
        "last": Level("last", last),
        "trailing": Level("trailing", trailing),
        "halfway": Level("halfway", (mean + trailing) / 2),
    }


def check_level(kind: str) -> None:
    """Refuse a level that does not exist."""
    if kind not in LEVELS:
        raise SettingError(f"level {kind!r} is not one of {', '.join(LEVELS)}")


def _spans(lookback: int) -> list[int]:
    return [1 << power for power in range(lookback.bit_length()) if 1 << power < lookback] or [1]


def _fit_trailing(windows: Windows, deviations: Values) -> Values:
    """Ridge regression of the future on trailing means, both as differences from the mean."""
    count = len(_spans(windows.lookback))
    square, cross = np.zeros((count, count)), np.zeros((count, windows.horizon))
    for start in range(0, len(windows), _BATCH):
        rows = slice(start, start + _BATCH)
        unit = deviations[windows.series_of(rows)][:, None]
        summary = summarise(windows.pasts(rows)) / unit
        known = summary[:, 1:] - summary[:, :1]
        square += known.T @ known
        cross += known.T @ (windows.futures(rows) / unit - summary[:, :1])
    # Pasts that never leave their mean, as a single row or a constant, weigh nothing.
    strength = SHRINKAGE * (float(np.trace(square)) / count or 1.0)
    weights = np.linalg.solve(square + strength * np.eye(count), cross)
    # The mean takes what the trailing means leave of a total weight of one.
    return np.vstack([1 - weights.sum(axis=0), weights])
