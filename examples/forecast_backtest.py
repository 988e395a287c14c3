"""Backtest a forecast that explains itself beside models that do not, on a year of tills.

Run it with ``python examples/forecast_backtest.py``; it needs the demo extra for its data. From 60
midnights, every model forecasts the next 24 hours from rows up to that midnight and no later. A
minute and a half on one core.

Expected (seed 0; the last digits differ between machines)::

    +---------------------------------------------------------+
    | model           mase   mae    coverage-80   scaled_crps |
    +=========================================================+
    | ridge           0.93   2.90   0.74          0.23        |
    | sklearn ridge   0.94   2.91   0.74          0.23        |
    | raw windows     0.94   2.90   0.74          0.23        |
    | retrieval       0.94   2.92   0.73          0.21        |
    | last week       1.19   3.69   0.75          0.30        |
    +---------------------------------------------------------+
    +--------------------------------------------------------------------------+
    | rival           price    low      high     p_value   verdict             |
    +==========================================================================+
    | ridge           1.27     -1.81    4.34     0.41      no difference shown |
    | sklearn ridge   0.53     -2.70    3.77     0.74      no difference shown |
    | raw windows     0.38     -0.95    1.70     0.57      no difference shown |
    | last week       -20.61   -29.12   -12.10   0.00      cheaper             |
    +--------------------------------------------------------------------------+
    Drug Gm after 2017-12-31 23:00:00: 24 steps, made of 4 episodes and a rest of 98.4%
      1.  0.42%  Produce, 2017-01-11 00:00:00 to 2017-01-24 23:00:00, cosine 0.838
      2.  0.40%  Grocery, 2017-10-11 23:00:00 to 2017-10-25 22:00:00, cosine 0.819
      3.  0.37%  Grocery, 2017-01-13 00:00:00 to 2017-01-26 23:00:00, cosine 0.828
      4.  0.36%  Grocery, 2017-11-01 00:00:00 to 2017-11-14 23:00:00, cosine 0.830
    neighbours share the calendar no more than their shape explains
"""

from __future__ import annotations

import polars as pl
from likewise.forecasting import (
    DirectRidge,
    RetrievalForecaster,
    SeasonalNaive,
    WindowNeighbours,
    WindowRegressor,
    backtest,
    check_clock,
    explanation_price,
)
from likewise.forecasting.retail import load_baskets
from sklearn.linear_model import Ridge

HORIZON, LOOKBACK, WEEK = 24, 336, 168


def main() -> None:
    """Backtest, price the explanation, show one, and ask whether the embedding reads the clock."""
    pl.Config(tbl_formatting="ASCII_BORDERS_ONLY_CONDENSED", tbl_hide_column_data_types=True)
    pl.Config(tbl_hide_dataframe_shape=True, float_precision=2, tbl_cols=-1, tbl_width_chars=100)
    frame = load_baskets(departments=3)  # unique_id, ds, y; hours without sales are absent
    models = [
        RetrievalForecaster(HORIZON, LOOKBACK, alias="retrieval"),
        DirectRidge(HORIZON, LOOKBACK, alias="ridge"),
        WindowNeighbours(HORIZON, LOOKBACK, alias="raw windows"),
        WindowRegressor(HORIZON, LOOKBACK, Ridge(10.0), outputs="joint", alias="sklearn ridge"),
        SeasonalNaive(HORIZON, WEEK, alias="last week"),
    ]
    result = backtest(
        frame, models, horizon=HORIZON, n_windows=60, level=[80], freq="h", gaps="zero"
    )
    print(result.scores(season=WEEK).drop("mse", "rmse", "width-80"))
    print(explanation_price(result, season=WEEK).drop("model", "cutoffs"))
    result.to_frame()  # unique_id, ds, cutoff, y, one column a model: utilsforecast.evaluate's

    model = RetrievalForecaster(HORIZON, LOOKBACK, freq="h", gaps="zero").fit(frame)
    print(model.explain(episodes=4))
    print(check_clock(model).verdict)


if __name__ == "__main__":
    main()
