"""Does the embedding read the clock? Neighbours that share hour or month more than shape explains.

In: a fitted retrieval forecaster. Out: a :class:`ClockCheck`, one row a unit of the calendar: how
often a neighbour stands at the same hour (weekday, month, season) as the window that asks, how
often the nearest *raw* windows do, and how often any window does. Seasons have shape, so raw
neighbours share the hour too; an embedding that shares it far more than they do has learned what
time it is rather than what the past looks like. Windows near in time are no neighbours here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ...core import SettingError, TooFewRows
from ..calendar import ALL_UNITS, calendar_phase
from ..continuations import ContinuationIndex
from ..embeddings import RawEmbedding
from ..panel import Panel, Values
from ..retrieval import RetrievalForecaster
from ..units import Steps
from .spaces import ask_space, hold_space

MARGIN = 0.10
"""Share of neighbours beyond those of raw windows that is called reading the clock."""
SURE = 3.0
"""Standard errors by which the margin must be passed."""
MOST_HELD = 20_000


@dataclass(frozen=True, slots=True)
class ClockCheck:
    """What share of neighbours stands at the same place of each cycle.

    Attributes:
        table: One row a unit: ``unit``, ``share`` (of the embedding's neighbours), ``shape`` (of
            the nearest raw windows), ``chance`` (of all windows), ``excess`` (share - shape) with
            its standard ``error``, and ``clock``: whether the excess is called a clock.
        asked: Windows that asked.
        neighbours: Neighbours of each.
    """

    table: pl.DataFrame
    asked: int
    neighbours: int

    @property
    def ok(self) -> bool:
        """Whether no unit is read like a clock."""
        return not self.table["clock"].any()

    @property
    def verdict(self) -> str:
        """The finding in one sentence."""
        read = self.table.filter("clock")
        if self.ok:
            return "neighbours share the calendar no more than their shape explains"
        told = ", ".join(
            f"{row['unit']} ({row['share']:.0%} of neighbours, {row['shape']:.0%} by shape alone)"
            for row in read.iter_rows(named=True)
        )
        return (
            f"the embedding reads the clock: {told}; train on continuations, or serve raw windows"
        )


def check_clock(
    model: RetrievalForecaster,
    *,
    neighbours: int = 10,
    asked: int = 400,
    periods: Mapping[str, int] | None = None,
    seed: int = 0,
) -> ClockCheck:
    """Compare the calendar of the embedding's neighbours with that of raw neighbours.

    Args:
        model: Fitted.
        neighbours: K.
        asked: Windows that ask, drawn evenly from all.
        periods: More cycles: name -> length in rows, such as ``{"day": 24}``; for panels that count
            their time these are all there are.
        seed: Of the draw.

    Returns:
        The check; ``ok`` is False when the embedding reads the clock.

    Raises:
        SettingError: The panel counts its time and no period is given.
        TooFewRows: Too few windows that do not overlap.
    """
    index = model.index_
    cycles = _cycles(index.windows.panel, periods or {})
    rows, held = _drawn(len(index), asked, seed)
    ends = index.windows.origin_steps(held)
    span = index.recipe.lookback + index.recipe.horizon
    far = np.abs(index.windows.origin_steps(rows)[:, None] - ends[None, :]) >= span
    enough = far.sum(axis=1) >= 2 * neighbours
    if enough.sum() < 2:
        raise TooFewRows(
            f"{len(index)} windows of {span} rows leave too few that do not overlap in time; the "
            "clock check needs a longer history"
        )
    rows, far = rows[enough], far[enough]
    ours = _nearest(ask_space(index, rows), hold_space(index, held), far, neighbours)
    raw = _raw_space(index, rows, held)
    plain = _nearest(*raw, far, neighbours)
    found = []
    for unit, phase in cycles.items():
        here = phase(index.windows.origin_steps(rows))
        there = phase(ends)
        if there.min() == there.max():
            continue
        same = here[:, None] == there[None, :]
        found.append({"unit": unit, **_compare(same, far, ours, plain)})
    if not found:
        raise SettingError("no unit of the calendar varies over the windows; pass periods=")
    return ClockCheck(pl.DataFrame(found), len(rows), neighbours)


def _compare(
    same: NDArray[np.bool_], far: NDArray[np.bool_], ours: Steps, plain: Steps
) -> dict[str, float | bool]:
    share = np.take_along_axis(same, ours, axis=1).mean(axis=1)
    shape = np.take_along_axis(same, plain, axis=1).mean(axis=1)
    excess = share - shape
    error = float(excess.std(ddof=1)) / math.sqrt(len(excess))
    mean = float(excess.mean())
    return {
        "share": float(share.mean()),
        "shape": float(shape.mean()),
        "chance": float((same & far).sum() / far.sum()),
        "excess": mean,
        "error": error,
        "clock": mean - SURE * error > 0 and mean > MARGIN,
    }


def _cycles(panel: Panel, periods: Mapping[str, int]) -> dict[str, _Phase]:
    wrong = {name: rows for name, rows in periods.items() if rows < 2}
    if wrong:
        raise SettingError(f"periods have at least 2 rows, found {wrong}")
    cycles = {name: _Phase(panel, name, rows) for name, rows in periods.items()}
    if panel.freq.is_integer:
        if not cycles:
            raise SettingError(
                f"time is counted in {panel.schema.time_col!r}, so there is no calendar to check; "
                "pass periods={'day': 24} or the like, in rows"
            )
        return cycles
    return {unit: _Phase(panel, unit, None) for unit in ALL_UNITS} | cycles


@dataclass(frozen=True, slots=True)
class _Phase:
    """Where in a cycle steps lie."""

    panel: Panel
    unit: str
    rows: int | None

    def __call__(self, steps: Steps) -> Steps:
        if self.rows is not None:
            return steps % self.rows
        return calendar_phase(self.panel, steps, self.unit)  # type: ignore[arg-type]


def _drawn(count: int, asked: int, seed: int) -> tuple[Steps, Steps]:
    """Windows that ask, and windows that may answer: all, or evenly many."""
    held = np.arange(0, count, max(1, -(-count // MOST_HELD)))
    generator = np.random.default_rng(seed)
    rows = np.sort(generator.choice(count, min(asked, count), replace=False))
    return rows, held


def _nearest(asking: Values, holding: Values, far: NDArray[np.bool_], k: int) -> Steps:
    """The k nearest that are far enough in time, [Q, K]."""
    cosine = np.where(far, asking @ holding.T, -np.inf)
    return np.argpartition(-cosine, k - 1, axis=1)[:, :k]


def _raw_space(index: ContinuationIndex, rows: Steps, held: Steps) -> tuple[Values, Values]:
    """Raw windows on their sphere, less their base as the embedding sees them."""
    asking, holding = index.normal_pasts(rows), index.normal_pasts(held)
    raw = RawEmbedding.around(holding)
    return raw.ask(asking), raw.hold(holding, holding)
