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
    ridge, seen = _learn_rounds(before, names, lookback)
    units = dict(zip(before.ids, training_deviations(before).tolist(), strict=True))
    tail = _surprises(panel, names, ridge, units, after=int(before.end_steps.max()))
    tried = [_lean(seen, names, units, lookback, lean) for lean in LEANS]
    saved = [tail.saved(effects) for effects in tried]
    best = int(np.argmax(saved))
    return tried[best] if saved[best] > 0 else _none(names, units, lookback)


def learn_effects(panel: Panel, like: Effects) -> Effects:
    """Learn effects again from all rows; how much a series leans on the shared one stays."""
    units = dict(zip(panel.ids, training_deviations(panel).tolist(), strict=True))
    if like.lean == NO_EFFECT:
        return _none(like.names, units, like.lookback)
    _, seen = _learn_rounds(panel, like.names, like.lookback)
    return _lean(seen, like.names, units, like.lookback, like.lean)


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


def _learn_rounds(
    panel: Panel, names: Sequence[str], lookback: int
) -> tuple[DirectRidge, _Surprises]:
    """The map of what the past knows, learned on a target without the effects, in turns."""
    units = dict(zip(panel.ids, training_deviations(panel).tolist(), strict=True))
    ridge, cleaned = DirectRidge(1, lookback), panel
    for _ in range(_ROUNDS):
        ridge.learn(cleaned)
        seen = _surprises(panel, names, ridge, units)
        cleaned = _lean(seen, names, units, lookback, np.inf).taken_off(panel)
    return ridge, seen


def _surprises(
    panel: Panel,
    names: Sequence[str],
    ridge: DirectRidge,
    units: Mapping[Any, float],
    after: int | None = None,
) -> _Surprises:
    """Sums over windows whose next row is known, and lies behind a step if one is given."""
    windows = Windows(panel, ridge.lookback, 1)
    first = 0 if after is None else int(windows.upto(np.array([after]))[0])
    columns = np.column_stack([panel.values, known_columns(panel, names)])
    unit = series_units(panel, units, ridge.lookback)
    count, width = len(panel), len(names)
    square, cross = np.zeros((count, width, width)), np.zeros((count, width))
    rows = np.zeros(count)
    views = sliding_window_view(columns, ridge.lookback + 1, axis=0)
    read = min(len(windows) - first, MOST_WINDOWS)
    spread = np.linspace(first, len(windows) - 1, read).astype(np.int64)
    for part in slices(read, _BATCH):
        chosen = spread[part]
        stretches = views[windows.anchors[chosen] - ridge.lookback + 1]
        whole = ~np.isnan(stretches).any(axis=(1, 2))
        series = windows.series_of(chosen)[whole]
        left = _unforeseen(stretches[whole], ridge)
        target, known = left[:, 0] / unit[series], left[:, 1:]
        np.add.at(square, series, known[:, :, None] * known[:, None, :])
        np.add.at(cross, series, known * target[:, None])
        rows += np.bincount(series, minlength=count)
    return _Surprises(panel.ids, square, cross, rows)


def _unforeseen(stretches: Values, ridge: DirectRidge) -> Values:
    """The last row of each stretch less what the ridge makes of those before it, [B, C]."""
    past, base, last = stretches[..., :-1], stretches[..., -2], stretches[..., -1]
    left: Values = last - base - ((past - base[..., None]) @ ridge.weights_)[..., 0]
    return left


def _lean(
    seen: _Surprises,
    names: Sequence[str],
    units: Mapping[Any, float],
    lookback: int,
    lean: float,
) -> Effects:
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
    return Effects(tuple(names), shared, own, units, lookback, lean)


def _solve(square: Values, cross: Values) -> Values:
    """Least squares; a column that never moved has no effect, and equal columns share theirs."""
    scale = np.sqrt(np.diag(square))
    scale = np.where(scale > 0, scale, 1.0)
    solved = np.linalg.lstsq(square / np.outer(scale, scale), cross / scale, rcond=1e-9)[0]
    rates: Values = solved / scale
    return rates


def _none(names: Sequence[str], units: Mapping[Any, float], lookback: int) -> Effects:
    return Effects(tuple(names), np.zeros(len(names)), {}, units, lookback, NO_EFFECT)


def _refuse_unknown(panel: Panel, names: Sequence[str], known: Values, rows: Values) -> None:
    wrong = np.flatnonzero(rows)
    if not len(wrong):
        return
    number = int(np.searchsorted(panel.offsets, wrong[0], side="right")) - 1
    step = panel.starts[number] + wrong[0] - panel.offsets[number]
    lacking = names[int(np.isnan(known[wrong[0]]).argmax())]
    raise InputError(
        f"{len(wrong)} values of the target have no {lacking!r} beside them, the first of series "
        f"{panel.ids[number]!r} at {panel.stamps(np.array([step]))[0]}; add the rows that are "
        "absent there, with their covariates"
    )
