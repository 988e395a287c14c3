"""The level a forecast hangs on: a linear map from the past to a base for every step ahead.

In: pasts [B, L]. Out: bases [B, H]. A retrieved continuation is read as its difference from the
base of its own past, and hung on the base of the past that asks. All a base depends on is a
*summary* of the past, its mean and its trailing means, so summaries can be averaged with the same
weights as continuations. Every level moves with the series: adding 5 to a past adds 5 to its base.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ..core import SettingError
from .model import Forecaster
from .panel import Values
from .windows import Windows

LevelKind = Literal["mean", "last", "recent", "trailing", "halfway"]
LEVELS: tuple[LevelKind, ...] = get_args(LevelKind)
SHRINKAGE = 0.1
_BATCH = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """A base for every step, linear in the summary of the past.

    Attributes:
        kind: ``mean`` of the past, its ``last`` value, the mean of its ``recent`` rows, a fitted
            mix of ``trailing`` means, or ``halfway`` between the first and the last of these: a
            mean is slow and a fitted mix is quick to believe that a level has moved. ``direct``:
            what a direct forecaster says, see :func:`direct_level`.
        coefficients: What each part of a summary says about each step, [F, H]; columns sum to 1.
        span: Rows that are ``recent``; None for the other kinds.
    """

    kind: LevelKind | Literal["direct"]
    coefficients: Values
    span: int | None = None

    @property
    def name(self) -> str:
        """Kind, and span where there is one: ``recent 24``."""
        return self.kind if self.span is None else f"{self.kind} {self.span}"

    def base(self, summaries: Values) -> Values:
        """The base that summaries [B, F] stand for, [B, H]."""
        return summaries @ self.coefficients


def summarise(pasts: Values) -> Values:
    """Mean and trailing means of pasts [B, L], as [B, F]; F grows with log L.

    Spans are 1, 3 and 7 times the powers of two, so that days of 24 hours, weeks of 7 days and
    quarters of 3 months are among them.
    """
    spans = np.array(_spans(pasts.shape[1]))
    running = np.cumsum(pasts[:, ::-1], axis=1)
    return np.column_stack([pasts.mean(axis=1), running[:, spans - 1] / spans])


def fit_levels(windows: Windows, deviations: Values) -> dict[str, Level]:
    """Fit every level there is, by name.

    Args:
        windows: To learn the coefficients of ``trailing`` from.
        deviations: Unit of each series, so that all count alike, [S].
    """
    spans = _spans(windows.lookback)
    alone = np.eye(1 + len(spans))[:, :, None] * np.ones(windows.horizon)
    trailing = _fit_trailing(windows, deviations)
    found = [
        Level("mean", alone[:, 0]),
        Level("last", alone[:, 1]),
        *(Level("recent", alone[:, place], span) for place, span in enumerate(spans[1:], start=2)),
        Level("trailing", trailing),
        Level("halfway", (alone[:, 0] + trailing) / 2),
    ]
    return {level.name: level for level in found}


def direct_level(lookback: int, horizon: int) -> dict[str, Level]:
    """The level of a direct forecaster, whose forecast ends every summary, [H]."""
    nothing = np.zeros((1 + len(_spans(lookback)), horizon))
    return {"direct": Level("direct", np.vstack([nothing, np.eye(horizon)]))}


def of_kind(levels: Mapping[str, Level], kind: str) -> dict[str, Level]:
    """The levels of one kind; all of them for ``auto``."""
    return {name: one for name, one in levels.items() if kind in ("auto", one.kind)}


def check_level(level: str | Forecaster, horizon: int, lookback: int) -> None:
    """Refuse a level that does not exist, or a forecaster that nothing can hang on."""
    if isinstance(level, Forecaster):
        _check_direct(level, horizon, lookback)
    elif level not in ("auto", *LEVELS):
        raise SettingError(f"level {level!r} is not one of auto, {', '.join(LEVELS)}")


def _check_direct(direct: Forecaster, horizon: int, lookback: int) -> None:
    if direct.family == "retrieval":
        raise SettingError(
            f"continuations cannot hang on {direct.alias}, which has an index of its own and no "
            "forecast from before it was complete; pass a direct or a naive forecaster"
        )
    if direct.horizon != horizon or direct.lookback > lookback:
        raise SettingError(
            f"continuations of {horizon} steps after {lookback} rows cannot hang on "
            f"{direct.alias}, which forecasts {direct.horizon} steps from {direct.lookback} rows; "
            "give it the same horizon and no longer lookback"
        )


def _spans(lookback: int) -> list[int]:
    powers = range(lookback.bit_length())
    spans = {times << power for times in (1, 3, 7) for power in powers}
    return sorted(span for span in spans if span < lookback) or [1]


def _mixed(lookback: int) -> list[int]:
    """Places of the spans that are mixed: powers of two, as others say nearly the same."""
    spans = _spans(lookback)
    return [place for place, span in enumerate(spans) if span & (span - 1) == 0]


def _fit_trailing(windows: Windows, deviations: Values) -> Values:
    """Ridge regression of the future on trailing means, both as differences from the mean."""
    mixed = _mixed(windows.lookback)
    count = len(mixed)
    square, cross = np.zeros((count, count)), np.zeros((count, windows.horizon))
    for start in range(0, len(windows), _BATCH):
        rows = slice(start, start + _BATCH)
        unit = deviations[windows.series_of(rows)][:, None]
        summary = summarise(windows.pasts(rows)) / unit
        known = summary[:, 1:][:, mixed] - summary[:, :1]
        square += known.T @ known
        cross += known.T @ (windows.futures(rows) / unit - summary[:, :1])
    # Pasts that never leave their mean, as a single row or a constant, weigh nothing.
    strength = SHRINKAGE * (float(np.trace(square)) / count or 1.0)
    weights = np.linalg.solve(square + strength * np.eye(count), cross)
    found = np.zeros((1 + len(_spans(windows.lookback)), windows.horizon))
    # The mean takes what the trailing means leave of a total weight of one.
    found[0] = 1 - weights.sum(axis=0)
    found[1 + np.array(mixed)] = weights
    return found
