"""The demo's chapter on forecasting: a year of a retailer's hours, told by what came before.

In: nothing but the data package. Out: a chapter with one table (retrieval, alone and blended,
beside four baselines over rolling origins), one forecast with its interval, and the episodes it is
made of.
"""

from __future__ import annotations

import numpy as np

from ..core import Block, Chapter, Heading, Note, Progress, Text
from .backtest import Backtest, backtest
from .blend import Blend
from .episodes import explain_origin
from .forecast import Forecast
from .naive import Repeat, SeasonalNaive
from .origins import Origins
from .report import backtest_blocks, explanation_blocks, forecast_figure, score_block
from .retail import load_baskets
from .retrieval import RetrievalForecaster
from .ridge import DirectRidge
from .window_neighbours import WindowNeighbours

HORIZON = 48
LOOKBACK = 336
WEEK = 168
WINDOWS = 24
# Few enough to read; the mean error stays within one per cent of weighing all of history.
NEIGHBOURS = 1024
SHOWN = "Produce"


def tell(progress: Progress) -> Chapter:
    """Backtest on the retailer's hours and show the last forecast with its episodes."""
    frame = load_baskets()
    retrieval = RetrievalForecaster(HORIZON, LOOKBACK, neighbours=NEIGHBOURS, alias="Retrieval")
    ridge = DirectRidge(HORIZON, LOOKBACK, alias="Ridge (direct)")
    result = backtest(
        frame,
        [
            Blend([retrieval, ridge], alias="Blend of both"),
            retrieval,
            ridge,
            WindowNeighbours(HORIZON, LOOKBACK, alias="Raw windows"),
            SeasonalNaive(HORIZON, WEEK, alias="Last week"),
            Repeat(HORIZON, alias="Last value"),
        ],
        horizon=HORIZON,
        n_windows=WINDOWS,
        level=[80],
        freq="h",
        gaps="zero",
        progress=progress,
    )
    panel = result.panel
    first, last = panel.stamps(np.array([panel.starts.min(), panel.end_steps.max()]))
    introduction = Text(
        f"One retailer's tills from {first:%d %B %Y} to {last:%d %B %Y}: in how many baskets of an "
        f"hour each of {len(panel)} departments appeared. From {WINDOWS} midnights every model "
        f"forecasts the next {HORIZON} hours. All see the same rows and none sees a row behind "
        "its cutoff; the index grows with the cutoffs and is never rebuilt."
    )
    return Chapter(
        title="What happened next, the last times it looked like this",
        blocks=(
            introduction,
            *backtest_blocks(result, season=WEEK),
            Note(" ".join(panel.notes), title="What the reader did to the data"),
            Heading("One forecast, and what it is made of", level=2),
            *_shown_forecast(result),
        ),
        printed=score_block(result, season=WEEK).as_text(),
    )


def _shown_forecast(result: Backtest) -> list[Block]:
    panel, model = result.panel, result.models["Retrieval"]
    assert isinstance(model, RetrievalForecaster)
    number = panel.number_of(SHOWN)
    rows = np.flatnonzero(result.origins.series == number)
    row = int(rows[len(rows) // 2])
    whole = result.forecasts["Retrieval"]
    forecast = Forecast(
        whole.mean[row : row + 1],
        {
            level: (low[row : row + 1], high[row : row + 1])
            for level, (low, high) in whole.bands.items()
        },
    )
    step = int(result.origins.steps[row])
    origin = Origins(np.array([number]), np.array([step]))
    explanation = explain_origin(
        model.index_, model.level_, panel, origin, episodes=6, min_gap=HORIZON
    )
    title = f"{SHOWN} after {panel.stamps(origin.steps)[0]:%A, %d %B %Y, %H:%M}"
    truth = result.truth[row]
    return [
        forecast_figure(panel, number, step, forecast, truth, title),
        *explanation_blocks(explanation, truth),
    ]
