"""Cold start: a window with holes, answered by the donors whose windows agree where it has rows.

In: a window that asks, of which only some rows are there: a series shorter than the lookback, or a
gap. Out: the nearest donors and what followed them. Rows that are missing are masked: they count
in no distance, no mean and no scale, on either side. Donors are complete windows of the index,
usually of other series; base and scale are taken over the rows both sides have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core import SettingError
from .continuations import ContinuationIndex
from .explanation import Episode, Explanation
from .holdout import slices
from .normalisers import Normaliser, deviation
from .origins import Origins, pasts
from .panel import Panel, Values
from .units import Steps

DONORS = 50
LEAST_KNOWN = 8
"""Rows a masked window needs; with fewer, most windows of most series look alike."""
_BLOCK = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Donors:
    """The windows that answer for one masked window.

    Attributes:
        rows: Their rows in the index, nearest first, [K].
        similarity: Cosine over the shared rows, [K].
        weights: Sum to one, [K].
        base, scale: Of the window that asks.
        bases, scales: Of the donors, [K].
        futures: What followed, less the donor's base, in its scale, [K, H].
    """

    rows: Steps
    similarity: Values
    weights: Values
    base: float
    scale: float
    bases: Values
    scales: Values
    futures: Values

    def says(self) -> Values:
        """What each donor says will follow, [K, H]."""
        said: Values = self.base + self.scale * self.futures
        return said

    def draws(self, count: int) -> Values:
        """The same, as so many equally likely futures, [M, H]."""
        return self.says()[np.arange(count) * len(self.rows) // count]

    def mean(self) -> Values:
        """The weighted sum of what the donors say, [H]."""
        mean: Values = self.weights @ self.says()
        return mean


def startable(panel: Panel, origins: Origins, lookback: int) -> NDArray[np.bool_]:
    """Which windows have enough rows to be answered for, the last one among them, [O]."""
    known = ~np.isnan(pasts(panel, origins, lookback))
    enough: NDArray[np.bool_] = known.sum(axis=1) >= min(LEAST_KNOWN, lookback)
    return enough & known[:, -1]


def find_donors(index: ContinuationIndex, panel: Panel, origin: Origins) -> Donors:
    """The nearest complete windows over the rows that one masked window has.

    Args:
        index: Continuations; only those complete at the origin are looked at.
        panel: Holds the window that asks.
        origin: One origin.
    """
    past = pasts(panel, origin, index.recipe.lookback)
    known = ~np.isnan(past[0])
    seen = past[:, known]
    # Only rows up to the origin may say how much the series moves.
    unit = deviation(seen[0])
    base, scale = _MEASURE.measure(seen, np.array([unit]))
    asking = _MEASURE.apply(seen, base, scale)[0]
    count = int(index.upto(origin)[0])
    distances, bases, scales = (np.empty(count) for _ in range(3))
    for rows in slices(count, _BLOCK):
        there = index.windows.pasts(rows)[:, known]
        units = index.units[index.windows.series_of(rows)]
        bases[rows], scales[rows] = _MEASURE.measure(there, units)
        there = _MEASURE.apply(there, bases[rows], scales[rows])
        distances[rows] = ((there - asking) ** 2).mean(axis=1)
    near = np.argsort(distances, kind="stable")[:DONORS]
    futures = (index.windows.futures(near) - bases[near, None]) / scales[near, None]
    return Donors(
        rows=near,
        similarity=_cosines(index.windows.pasts(near)[:, known], asking, bases[near]),
        weights=np.full(len(near), 1 / len(near)),
        base=float(base[0]),
        scale=float(scale[0]),
        bases=bases[near],
        scales=scales[near],
        futures=futures,
    )


def explain_donors(
    index: ContinuationIndex, panel: Panel, origin: Origins, *, episodes: int
) -> Explanation:
    """Take the forecast from one masked window apart into its donors.

    Args:
        index: Continuations.
        panel: Holds the window that asks.
        origin: One origin.
        episodes: How many series are told one by one; windows of a series stand together.

    Returns:
        The explanation; its level is the mean of the rows that are there.
    """
    if episodes < 0:
        raise SettingError(f"episodes start at 0, found {episodes}")
    donors = find_donors(index, panel, origin)
    says, lookback = donors.says(), index.recipe.lookback
    _, first, series = np.unique(
        index.windows.series_of(donors.rows), return_index=True, return_inverse=True
    )
    heaviest = np.argsort(-np.bincount(series), kind="stable")[:episodes]
    told = []
    for number in heaviest:
        near = np.flatnonzero(series == number)
        head = donors.rows[first[number]][None]
        end = index.windows.origin_steps(head)
        stamps = index.windows.panel.stamps(np.array([end[0] - lookback + 1, end[0]]))
        told.append(
            Episode(
                series_id=index.windows.panel.ids[int(index.windows.series_of(head)[0])],
                start=stamps[0],
                end=stamps[1],
                similarity=float(donors.similarity[first[number]]),
                weight=float(donors.weights[near].sum()),
                windows=len(near),
                scale=donors.scale / float(donors.scales[first[number]]),
                past=index.windows.pasts(head)[0],
                continuation=index.windows.futures(head)[0],
                contribution=donors.weights[near] @ says[near] / donors.weights[near].sum(),
            )
        )
    rest = np.flatnonzero(~np.isin(series, heaviest))
    rest_weight = float(donors.weights[rest].sum())
    return Explanation(
        series_id=panel.ids[int(origin.series[0])],
        cutoff=panel.stamps(origin.steps)[0],
        past=pasts(panel, origin, lookback)[0],
        level=np.full(index.recipe.horizon, donors.base),
        forecast=donors.mean(),
        episodes=tuple(told),
        rest_weight=rest_weight,
        rest_windows=len(rest),
        rest_contribution=(
            donors.weights[rest] @ says[rest] / rest_weight
            if len(rest)
            else np.zeros(index.recipe.horizon)
        ),
        effective=float(1 / (donors.weights**2).sum()),
    )


# Two stretches of few rows are compared by shape; the floor keeps a flat one from blowing up.
_MEASURE = Normaliser("z")


def _cosines(windows: Values, asking: Values, bases: Values) -> Values:
    centred = windows - bases[:, None]
    lengths = np.linalg.norm(centred, axis=1) * np.linalg.norm(asking)
    cosines: Values = centred @ asking / np.where(lengths > 0, lengths, 1.0)
    return cosines
