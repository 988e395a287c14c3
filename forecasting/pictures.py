"""Pictures of forecasts: what was expected, what happened, and the episodes it was made of.

In: a backtest or an explanation. Out: SVG for a report page. Nothing here computes; to change how
a forecast looks, change it here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ..core import HALF_WIDTH, SERIES, add_legend, figure_svg, new_drawing, title_panel
from .explanation import Explanation
from .forecast import Forecast
from .panel import Values

HISTORY_SHOWN = 3


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """One forecast with what a picture of it needs.

    Attributes:
        title: Printed above.
        past: Rows up to the cutoff, as many as are shown.
        truth: What happened, [H], or None when it lies ahead.
        forecast: One origin, [1, H].
        stamps: Stamps of past and future rows together.
    """

    title: str
    past: Values
    truth: Values | None
    forecast: Forecast
    stamps: pl.Series


def draw_scene(scene: Scene) -> str:
    """A forecast with its intervals between its past and what happened."""
    drawing, (axes,) = new_drawing(2.7)
    ours, truth = SERIES[1].light, SERIES[0].light
    stamps = scene.stamps.to_list()
    behind, ahead = stamps[: len(scene.past)], stamps[len(scene.past) :]
    axes.plot(behind, scene.past, color=truth, linewidth=1.1, label="history")
    for low, high in scene.forecast.bands.values():
        axes.fill_between(ahead, low[0], high[0], color=ours, alpha=0.16, linewidth=0)
    if scene.truth is not None:
        axes.plot(ahead, scene.truth, color=truth, linewidth=1.1, alpha=0.55, label="what happened")
    levels = ", ".join(f"{level} %" for level in scene.forecast.bands)
    label = f"forecast and its {levels} band" if levels else "forecast"
    axes.plot(ahead, scene.forecast.mean[0], color=ours, linewidth=1.6, label=label)
    axes.axvline(behind[-1], color=truth, linewidth=0.7, linestyle=":")
    add_legend(axes)
    return figure_svg(drawing)


def draw_episodes(explanation: Explanation, truth: Values | None = None) -> list[str]:
    """Each episode: its window over the one that asks, and what followed, at today's level."""
    lookback, horizon = len(explanation.past), len(explanation.forecast)
    shown = min(lookback, HISTORY_SHOWN * horizon)
    before, after = np.arange(-shown, 0), np.arange(horizon)
    pictures = []
    for rank, episode in enumerate(explanation.episodes, start=1):
        drawing, (axes,) = new_drawing(1.9, width=HALF_WIDTH)
        then, now = SERIES[1].light, SERIES[0].light
        # Both windows around their own mean: shape is what was compared.
        level = explanation.past.mean() - episode.scale * episode.past.mean()
        memory = episode.scale * episode.past[-shown:] + level
        axes.plot(before, explanation.past[-shown:], color=now, linewidth=1.0)
        axes.plot(before, memory, color=then, linewidth=1.0, alpha=0.8)
        axes.plot(after, episode.contribution, color=then, linewidth=1.6)
        if truth is not None:
            axes.plot(after, truth, color=now, linewidth=1.0, alpha=0.45)
        axes.axvline(-0.5, color=now, linewidth=0.7, linestyle=":")
        title_panel(axes, f"{rank}. {episode.series_id}, until {_day(episode.end)}")
        axes.tick_params(labelbottom=False)
        pictures.append(figure_svg(drawing))
    return pictures


def _day(stamp: object) -> str:
    return str(stamp)[:16]
