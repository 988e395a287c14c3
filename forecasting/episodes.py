"""The episodes behind a forecast: which stretches of history it is made of, and in what share.

In: an index, a level, and one origin. Out: an :class:`Explanation` whose parts add up to the
forecast. Windows that start a few rows apart are one memory, not many, so the heaviest window
gathers those within ``min_gap`` rows of it into one episode; the next heaviest of what is left
starts the next. Whatever is not among the first n stands together in one last part, so that
weights always sum to one and nothing is hidden.
"""

from __future__ import annotations

import numpy as np

from ..core import SettingError
from .continuations import ContinuationIndex
from .explanation import Episode, Explanation
from .levels import Level
from .origins import Origins, pasts
from .panel import Panel, Values
from .units import Steps


def explain_origin(
    index: ContinuationIndex,
    level: Level,
    panel: Panel,
    origin: Origins,
    *,
    episodes: int,
    min_gap: int,
) -> Explanation:
    """Take the forecast from one origin apart.

    Args:
        index: Continuations.
        level: What they hang on.
        panel: Holds the window that asks.
        origin: One origin.
        episodes: How many episodes are told one by one.
        min_gap: Rows by which the heaviest windows of two episodes of a series differ at least.

    Raises:
        SettingError: Fewer than no episodes, or a gap that no window is within.
    """
    if episodes < 0 or min_gap < 1:
        raise SettingError(
            f"episodes start at 0 and min_gap at 1 row, found {episodes} and {min_gap}"
        )
    asked = index.ask(panel, origin)
    weights = index.weights(panel, origin)
    past = pasts(panel, origin, index.recipe.lookback)
    base = level.base(index.recipe.summarise(panel, origin, past))[0]
    scale = float(asked.scales[0])

    def contribution(rows: Steps) -> Values:
        """Weighted mean of what these windows say, in units of the target."""
        share = weights[rows] / weights[rows].sum()
        lift = share @ index.futures(rows) - level.base(share[None] @ index.summaries[rows])[0]
        said: Values = base + scale * lift
        return said

    groups, rest = gather_episodes(index, weights, episodes, min_gap)
    told = []
    for rows in groups:
        head = rows[np.argmax(weights[rows])][None]
        end = index.windows.origin_steps(head)
        stamps = index.windows.panel.stamps(np.array([end[0] - index.recipe.lookback + 1, end[0]]))
        told.append(
            Episode(
                series_id=index.windows.panel.ids[int(index.windows.series_of(head)[0])],
                start=stamps[0],
                end=stamps[1],
                similarity=float(index.index.vectors[head[0]] @ asked.vectors[0]),
                weight=float(weights[rows].sum()),
                windows=len(rows),
                scale=scale / float(index.scales[head[0]]),
                past=index.windows.pasts(head)[0],
                continuation=index.windows.futures(head)[0],
                contribution=contribution(rows),
            )
        )
    rest_weight = float(weights[rest].sum())
    rest_says = contribution(rest) if rest_weight > 0 else np.zeros(index.recipe.horizon)
    recalled = index.recall(panel, origin)
    return Explanation(
        series_id=panel.ids[int(origin.series[0])],
        cutoff=panel.stamps(origin.steps)[0],
        past=past[0],
        level=base,
        forecast=base + recalled.future[0] - level.base(recalled.summary)[0],
        episodes=tuple(told),
        rest_weight=rest_weight,
        rest_windows=len(rest),
        rest_contribution=rest_says,
        effective=float(1 / (weights**2).sum()),
    )


def gather_episodes(
    index: ContinuationIndex, weights: Values, episodes: int, min_gap: int
) -> tuple[list[Steps], Steps]:
    """Split the windows that weigh anything into the heaviest episodes and the rest.

    Returns:
        Rows of each episode, heaviest head first, and the rows of everything else.
    """
    rows = np.flatnonzero(weights)
    series, ends = index.windows.series_of(rows), index.windows.end_steps[rows]
    free = np.ones(len(rows), dtype=bool)
    groups = []
    for _ in range(episodes):
        if not free.any():
            break
        head = int(np.argmax(np.where(free, weights[rows], -1.0)))
        near = free & (series == series[head]) & (np.abs(ends - ends[head]) < min_gap)
        groups.append(rows[near])
        free &= ~near
    groups.sort(key=lambda group: -float(weights[group].sum()))
    return groups, rows[free]
