"""What each covariate adds to the target, learned from what the past could not foresee.

In: a panel that carries covariates. Out: :class:`Effects`, a rate for each series and column. A
ridge map from L rows to the next one tells what the past knew; the same map is laid over every
covariate, and what is left of the target is regressed on what is left of them. So a season, a
trend or a level that happens to go along with a column is not taken for its effect. Series lean on
the effect they share, as much as the validation tail says, and there is none where the tail is no
better for it.

Source: regression with autocorrelated errors after Cochrane and Orcutt (1949); leaning on the
shared effect is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.lib.stride_tricks import sliding_window_view

from ..core import ColumnError, InputError
from .holdout import slices
from .normalisers import series_units, training_deviations
from .panel import Panel, Values
from .ridge import MOST_WINDOWS, DirectRidge
from .windows import Windows

LEANS = (30.0, 300.0, np.inf)
"""Rows that the shared effect counts for against a series' own; infinity has nothing else."""
NO_EFFECT = -1.0
_ROUNDS = 3
_BATCH = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """What one unit of each covariate adds to each series.

    Attributes:
        names: Columns, [F].
        shared: Effect all series lean on, in units of a series, [F].
        own: Id -> effect on that series, in its unit, [F].
        units: Id -> unit of that series.
        lookback: First rows that measure a series which was not learned from.
        lean: How many rows the shared effect counts for; -1 where there is none.
    """

    names: tuple[str, ...]
    shared: Values
    own: Mapping[Any, Values]
    units: Mapping[Any, float]
    lookback: int
    lean: float

    def rates(self, panel: Panel) -> Values:
        """What one unit of each column adds to each series, in units of the target, [S, F]."""
        units = series_units(panel, self.units, self.lookback)
        rates = [self.own.get(series_id, self.shared) for series_id in panel.ids]
        return np.array(rates) * units[:, None]

    def taken_off(self, panel: Panel) -> Panel:
        """The panel as it would have been with every covariate at zero.

        Raises:
            InputError: A value of the target without its covariates; names series and time.
        """
        known = known_columns(panel, self.names)
        number = np.repeat(np.arange(len(panel)), panel.lengths)
        values = panel.values - (known * self.rates(panel)[number]).sum(axis=1)
        unknown = np.isnan(values) & ~np.isnan(panel.values)
        drawn = np.zeros_like(unknown)
        drawn[panel.interpolated] = True
        _refuse_unknown(panel, self.names, known, unknown & ~drawn)
        # A value that was drawn between two others is drawn again, between what is left of them.
        again, there = np.flatnonzero(unknown), np.flatnonzero(~np.isnan(values))
        values[again] = np.interp(again, there, values[there])
        return replace(panel, values=values)

    def tell(self, panel: Panel) -> pl.DataFrame:
        """One row a series and column: what one unit of the column adds."""
        rates = self.rates(panel)
        series = np.repeat(np.arange(len(panel)), len(self.names))
        return pl.DataFrame(
            {
                panel.schema.id_col: panel.labels(series),
                "covariate": list(self.names) * len(panel),
                "effect": rates.ravel(),
            }
        )


def known_columns(panel: Panel, names: Sequence[str]) -> Values:
    """Columns of the panel's covariates at every row, [T, F].

    Raises:
        ColumnError: The panel carries no such column.
    """
    return panel.known()[:, places_of(panel, names)]


def places_of(panel: Panel, names: Sequence[str]) -> list[int]:
    """Places of columns among the panel's covariates.

    Raises:
        ColumnError: The panel carries no such column.
    """
    carried = panel.covariates.names
    lacking = [name for name in names if name not in carried]
    if lacking:
        raise ColumnError(
            f"the panel carries no covariate {lacking[0]!r} (it carries "
            f"{', '.join(map(repr, carried)) or 'none'}); read it with "
            f"read_frame(frame, covariates={list(names)})"
        )
    return [carried.index(name) for name in names]


def choose_effects(before: Panel, panel: Panel, names: Sequence[str], lookback: int) -> Effects:
    """Learn effects before a cut, leaning on the shared one as much as serves best behind it.

    Args:
        before: The rows to learn from.
        panel: The same and the tail behind them.
        names: Columns.
        lookback: L, rows from which a ridge foresees the next one.
    """
    none = _no_effects(before, names, lookback)
    ridge, seen = _learn_rounds(before, none)
    tail = _Stretches(panel, none).surprises(ridge, after=int(before.end_steps.max()))
    tried = [_lean(seen, none, lean) for lean in LEANS]
    saved = [tail.saved(effects) for effects in tried]
    best = int(np.argmax(saved))
    return tried[best] if saved[best] > 0 else none


def learn_effects(panel: Panel, like: Effects) -> Effects:
    """Learn effects again from all rows; how much a series leans on the shared one stays."""
    none = _no_effects(panel, like.names, like.lookback)
    if like.lean == NO_EFFECT:
        return none
    _, seen = _learn_rounds(panel, none)
    return _lean(seen, none, like.lean)


def _no_effects(panel: Panel, names: Sequence[str], lookback: int) -> Effects:
    """What is known before anything is learned: columns, and the units of series."""
    units = panel.by_id(training_deviations(panel))
    return Effects(tuple(names), np.zeros(len(names)), {}, units, lookback, NO_EFFECT)


@dataclass(frozen=True, slots=True, eq=False)
class _Surprises:
    """Sums over what the past could not foresee, in units of each series.

    Attributes:
        ids: Of the series, [S].
        square: Covariates with covariates, [S, F, F].
        cross: Covariates with the target, [S, F].
        rows: How many, [S].
    """

    ids: tuple[Any, ...]
    square: Values
    cross: Values
    rows: Values

    def saved(self, effects: Effects) -> float:
        """Squared error that taking the effects into account saves."""
        rates = np.array([effects.own.get(series_id, effects.shared) for series_id in self.ids])
        gained = 2 * (self.cross * rates).sum()
        paid = np.einsum("sf,sfg,sg->", rates, self.square, rates)
        return float(gained - paid)


class _Stretches:
    """Rows of the target and its covariates, L before each that is to be foreseen.

    Args:
        panel: Carries the covariates.
        none: Columns, units and lookback.
    """

    def __init__(self, panel: Panel, none: Effects) -> None:
        self.windows = Windows(panel, none.lookback, 1)
        self.unit = series_units(panel, none.units, none.lookback)
        columns = np.column_stack([panel.values, known_columns(panel, none.names)])
        self.views = sliding_window_view(columns, none.lookback + 1, axis=0)

    def surprises(self, ridge: DirectRidge, after: int | None = None) -> _Surprises:
        """Sums over rows that are known, and lie behind a step if one is given."""
        windows = self.windows
        first = 0 if after is None else int(windows.upto(np.array([after]))[0])
        count, width = len(self.unit), self.views.shape[1] - 1
        square, cross = np.zeros((count, width, width)), np.zeros((count, width))
        rows = np.zeros(count)
        read = min(len(windows) - first, MOST_WINDOWS)
        spread = np.linspace(first, len(windows) - 1, read).astype(np.int64)
        for part in slices(read, _BATCH):
            chosen = spread[part]
            stretches = self.views[windows.anchors[chosen] - windows.lookback + 1]
            whole = ~np.isnan(stretches).any(axis=(1, 2))
            series = windows.series_of(chosen)[whole]
            left = _unforeseen(stretches[whole], ridge)
            target, known = left[:, 0] / self.unit[series], left[:, 1:]
            np.add.at(square, series, known[:, :, None] * known[:, None, :])
            np.add.at(cross, series, known * target[:, None])
            rows += np.bincount(series, minlength=count)
        return _Surprises(windows.panel.ids, square, cross, rows)


def _learn_rounds(panel: Panel, none: Effects) -> tuple[DirectRidge, _Surprises]:
    """The map of what the past knows, learned on a target without the effects, in turns."""
    stretches, ridge = _Stretches(panel, none), DirectRidge(1, none.lookback)
    ridge.learn(panel)
    seen = stretches.surprises(ridge)
    for _ in range(_ROUNDS - 1):
        ridge.learn(_lean(seen, none, np.inf).taken_off(panel))
        seen = stretches.surprises(ridge)
    return ridge, seen


def _unforeseen(stretches: Values, ridge: DirectRidge) -> Values:
    """The last row of each stretch less what the ridge makes of those before it, [B, C]."""
    past, base, last = stretches[..., :-1], stretches[..., -2], stretches[..., -1]
    left: Values = last - base - ((past - base[..., None]) @ ridge.weights_)[..., 0]
    return left


def _lean(seen: _Surprises, none: Effects, lean: float) -> Effects:
    """Solve for the shared effect, and for each series' own as far as it may leave it."""
    square, cross = seen.square.sum(axis=0), seen.cross.sum(axis=0)
    shared = _solve(square, cross)
    own: dict[Any, Values] = {}
    if np.isfinite(lean):
        usual = square / max(float(seen.rows.sum()), 1.0) * lean
        for place, series_id in enumerate(seen.ids):
            if seen.rows[place]:
                own[series_id] = _solve(
                    seen.square[place] + usual, seen.cross[place] + usual @ shared
                )
    return replace(none, shared=shared, own=own, lean=lean)


def _solve(square: Values, cross: Values) -> Values:
    """Least squares; a column that never moved has no effect, and equal columns share theirs."""
    scale = np.sqrt(np.diag(square))
    scale = np.where(scale > 0, scale, 1.0)
    solved = np.linalg.lstsq(square / np.outer(scale, scale), cross / scale, rcond=1e-9)[0]
    rates: Values = solved / scale
    return rates


def _refuse_unknown(panel: Panel, names: Sequence[str], known: Values, rows: Values) -> None:
    wrong = np.flatnonzero(rows)
    if not len(wrong):
        return
    lacking = names[int(np.isnan(known[wrong[0]]).argmax())]
    raise InputError(
        f"{len(wrong)} values of the target have no {lacking!r} beside them, the first of "
        f"{panel.tell_row(int(wrong[0]))}; add the rows that are absent there, with their "
        "covariates"
    )
