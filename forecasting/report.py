"""Forecasts as blocks of a report page.

In: a backtest or an explanation. Out: blocks for ``core.Page``. The demo's chapter and the
command line lay the same blocks, so a page made from anybody's data reads like the demo's.
"""

from __future__ import annotations

import numpy as np

from ..core import (
    Block,
    Columns,
    Figure,
    Heading,
    KeyValues,
    Note,
    SettingError,
    Table,
    Text,
    TooFewRows,
)
from .backtest import Backtest
from .explanation import Explanation
from .forecast import Forecast
from .origins import Origins, pasts
from .panel import Panel, Values
from .pictures import HISTORY_SHOWN, Scene, draw_episodes, draw_scene
from .price import explanation_price
from .retrieval import RetrievalForecaster

MOST_CHOICES = 5


def score_block(result: Backtest, *, season: int) -> Table:
    """The table of errors, best first."""
    scores = result.scores(season=season)
    lower = {name: "lower" for name in ("mase", "mae", "rmse", "scaled_crps") if name in scores}
    columns = [name for name in scores.columns if name != "mse"]
    windows = f"{len(np.unique(result.origins.steps))} cutoffs, {len(result.origins)} windows"
    return Table(
        columns,
        scores.select(columns).rows(),
        caption=f"Errors over {windows}, horizon {result.horizon}; best first, whoever it is.",
        best=lower,  # type: ignore[arg-type]
    )


def backtest_blocks(result: Backtest, *, season: int) -> list[Block]:
    """Scores, the price of the explanation, what was left out, and how retrieval was chosen."""
    blocks: list[Block] = [score_block(result, season=season), *price_blocks(result, season=season)]
    if len(result.skipped):
        reasons = result.skipped.group_by("reason").len().sort("len", descending=True)
        told = "; ".join(f"{count} because {reason}" for reason, count in reasons.rows())
        blocks.append(Note(told, title=f"{len(result.skipped)} origins were not judged"))
    fitted = result.models.values()
    blocks += [choice_block(model) for model in fitted if isinstance(model, RetrievalForecaster)]
    return blocks


def price_blocks(result: Backtest, *, season: int) -> list[Block]:
    """What the model that explains itself costs; nothing where that cannot be tested."""
    try:
        prices = explanation_price(result, season=season)
    except (SettingError, TooFewRows):
        return []
    shown = prices.select("rival", "price", "low", "high", "p_value", "verdict")
    name, cutoffs = prices["model"][0], prices["cutoffs"][0]
    return [
        Table(
            ["against", "price %", "from", "to", "p", "verdict"],
            shown.rows(),
            caption=(
                f"The price of the explanation: how much larger the scaled error of {name} is, in "
                f"percent, with its 95 % interval, over {cutoffs} cutoffs (Diebold-Mariano). "
                "Negative: the forecast that explains itself is the better one."
            ),
            decimals={"price %": 1, "from": 1, "to": 1, "p": 3},
        )
    ]


def choice_block(model: RetrievalForecaster) -> Table:
    """What the forecaster tried on validation, the best of each embedding and level."""
    best = (
        model.choices_.group_by("embedding", "level", maintain_order=True)
        .first()
        .head(MOST_CHOICES)
        .select("embedding", "normaliser", "level", "kernel", "validation_mse")
    )
    return Table(
        best.columns,
        best.rows(),
        caption=(
            "What was tried on the validation tail; the first row serves. `raw` are the windows "
            "themselves."
        ),
        best={"validation_mse": "lower"},
        decimals={"validation_mse": 4},
    )


def forecast_figure(
    panel: Panel, series: int, step: int, forecast: Forecast, truth: Values | None, title: str
) -> Figure:
    """One forecast, drawn with its past and, where known, what happened."""
    origin = Origins(np.array([series]), np.array([step]))
    horizon = forecast.mean.shape[1]
    shown = min(HISTORY_SHOWN * horizon, step - int(panel.starts[series]) + 1)
    past = pasts(panel, origin, shown)[0]
    stamps = panel.stamps(np.arange(step - shown + 1, step + horizon + 1))
    scene = Scene(title, past, truth, forecast, stamps)
    return Figure(
        svg=draw_scene(scene),
        caption=title,
        alt=f"{title}: line of the past, then the forecast with its interval",
    )


def explanation_blocks(explanation: Explanation, truth: Values | None = None) -> list[Block]:
    """The episodes behind one forecast, drawn and listed."""
    rows = [
        [
            rank,
            str(episode.series_id),
            str(episode.start),
            str(episode.end),
            episode.similarity,
            100 * episode.weight,
            episode.windows,
        ]
        for rank, episode in enumerate(explanation.episodes, start=1)
    ]
    pictures = [
        Figure(
            svg=svg,
            caption=f"{100 * episode.weight:.1f} % of the forecast",
            alt=f"{episode.series_id} until {episode.end}: its window and what followed",
        )
        for svg, episode in zip(
            draw_episodes(explanation, truth), explanation.episodes, strict=True
        )
    ]
    pairs = [Columns(pictures[start : start + 2]) for start in range(0, len(pictures), 2)]
    return [
        Heading(f"What {explanation.series_id} at {explanation.cutoff} was reminded of", level=2),
        Text(
            "Each picture lays a stretch of history (orange) over the window that asked (blue), "
            "and shows what followed then, hung on today's level. The forecast is the weighted "
            "sum of all of them and of the rest, to the last digit."
        ),
        *pairs,
        Table(
            ["episode", "series", "from", "until", "cosine", "share %", "windows"],
            rows,
            caption="The heaviest episodes.",
            decimals={"cosine": 3, "share %": 1},
        ),
        KeyValues(
            [
                ("everything else", f"{100 * explanation.rest_weight:.1f} % of the forecast"),
                ("windows in everything else", explanation.rest_windows),
                ("effective number of windows", explanation.effective),
            ],
            decimals=0,
        ),
    ]
