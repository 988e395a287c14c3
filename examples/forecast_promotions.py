"""Forecast products whose promotions are known ahead, with and without knowing them.

Run it with ``python examples/forecast_promotions.py``; it needs the demo extra for its data. 300
products of one retailer, week by week: in how many of the stores each stood in a display and was
in the mailer is planned, and so known for the weeks to come. Half a minute on one core.

Expected (seed 0; the last digits differ between machines)::

    +-----------------------------------------------------------------+
    | model                mase    mae      coverage-80   scaled_crps |
    +=================================================================+
    | ridge, knowing       0.729   8.748    0.807         0.276       |
    | retrieval, knowing   0.740   8.925    0.776         0.227       |
    | ridge                0.848   11.867   0.805         0.364       |
    | retrieval            0.888   12.659   0.751         0.310       |
    | repeat, knowing      0.909   10.891   0.794         0.326       |
    | repeat               1.012   13.283   0.801         0.390       |
    +-----------------------------------------------------------------+
    867188 after 50: 2 steps, made of 3 episodes and a rest of 93.9%
      1.  2.04%  956609, 27 to 38, cosine 0.578
      2.  2.03%  1101173, 28 to 39, cosine 0.529
      3.  2.02%  923746, 28 to 39, cosine 0.497
    +-----------------------+
    | ds   display   mailer |
    +=======================+
    | 51   34.863    4.948  |
    | 52   29.053    4.948  |
    +-----------------------+
"""

from __future__ import annotations

import polars as pl
from likewise.forecasting import DirectRidge, Repeat, RetrievalForecaster, WithCovariates, backtest
from likewise.forecasting.retail import load_promoted

HORIZON, LOOKBACK = 2, 12
PLANNED = ["display", "mailer"]


def main() -> None:
    """Backtest what the plan is worth, then ask what a promotion would add."""
    pl.Config(tbl_formatting="ASCII_BORDERS_ONLY_CONDENSED", tbl_hide_column_data_types=True)
    pl.Config(tbl_hide_dataframe_shape=True, float_precision=3, tbl_cols=-1, tbl_width_chars=100)
    frame = load_promoted()  # unique_id, ds, y, display, mailer
    blind = [
        RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", neighbours=50, alias="retrieval"),
        DirectRidge(HORIZON, LOOKBACK, alias="ridge"),
        Repeat(HORIZON, alias="repeat"),
    ]
    knowing = [WithCovariates(one, PLANNED, alias=f"{one.alias}, knowing") for one in blind]
    result = backtest(
        frame, blind + knowing, horizon=HORIZON, n_windows=10, step_size=1, level=[80]
    )
    print(result.scores().drop("mse", "rmse", "width-80"))

    model = knowing[0].fit(frame.with_columns(y=pl.when(pl.col("ds") <= 50).then("y")))
    planned = frame.filter(ds=51).sort("display", "unique_id")["unique_id"][-1]
    print(model.explain(planned, episodes=3))  # weeks like its last twelve, promotions taken off
    print(model.explain_effects(planned))  # what the plan for weeks 51 and 52 adds, in units


if __name__ == "__main__":
    main()
