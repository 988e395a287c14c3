"""Accuracy of forecasts on five public data sets, baselines beside.

One Markdown table a data set: point errors, coverage of the 80 % interval, fixed and tracked, and
the scaled CRPS of tracked intervals. Everything that can be set was chosen on rows before the test
part. Cutoffs go on row by row (every tenth on exchange_rate) through the test part, and what is
fitted before it walks on.

    python -m benchmarks.forecast_tables exchange_rate illness taylor city_temps m4_hourly
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch
from likewise.forecasting import (
    Backtest,
    Blend,
    DirectRidge,
    Forecast,
    Forecaster,
    InLogs,
    Panel,
    Repeat,
    RetrievalForecaster,
    SeasonalNaive,
    WindowNeighbours,
    backtest,
    read_frame,
    track_intervals,
)
from likewise.forecasting.retrieval import EmbeddingKind
from likewise.forecasting.scores import scaled_crps

from benchmarks.data import data_hash, data_path
from benchmarks.m4 import naive2, overall_weighted_average

LEVELS = (20, 40, 60, 80, 95)


@dataclass(frozen=True)
class Task:
    """One data set and how it is forecast.

    Attributes:
        file: Below the data folder.
        read: File to a frame of one column a series.
        horizon, lookback, ridge: H, L, and L of the ridge.
        season: Rows in a season.
        train: Rows whose statistics scale the data; None leaves it as it is.
        first: First row of the test part.
        step: Rows between cutoffs.
        embedding: ``auto`` or ``raw``.
        logs: Whether models are shown the logarithms.
    """

    file: tuple[str, str]
    read: Callable[[str], pl.DataFrame]
    horizon: int
    lookback: int
    ridge: int
    season: int
    train: int | None
    first: int
    step: int = 1
    embedding: EmbeddingKind = "auto"
    logs: bool = False


def _plain(path: str) -> pl.DataFrame:
    return pl.read_csv(path, has_header=False)


def _dated(path: str) -> pl.DataFrame:
    return pl.read_csv(path).drop("date")


def _headed(path: str) -> pl.DataFrame:
    return pl.read_csv(path)


EXCHANGE = ("exchange_rate", "exchange_rate.txt.gz")
ILLNESS = ("illness", "national_illness.csv")
TASKS = {
    "exchange_rate": [Task(EXCHANGE, _plain, 96, 96, 96, 1, 5311, 6071, step=10)],
    "illness": [
        Task(ILLNESS, _dated, 24, 104, 104, 52, 676, 773),
        Task(ILLNESS, _dated, 60, 104, 104, 52, 676, 773),
    ],
    "taylor": [Task(("taylor", "taylor.csv"), _headed, 48, 336, 336, 336, 2016, 2688)],
    "city_temps": [
        Task(("city_temps", "seattle-temps.csv"), _dated, 24, 168, 336, 24, None, 8759 - 1440)
    ],
}


def models(task: Task, seed: int) -> list[Forecaster]:
    """What is compared."""
    horizon, lookback = task.horizon, task.lookback

    def retrieval(
        alias: str, embedding: EmbeddingKind, level: Forecaster | None = None
    ) -> Forecaster:
        model = RetrievalForecaster(
            horizon,
            lookback,
            embedding=embedding,
            level=level or "auto",
            seed=seed,
            alias=alias,
        )
        return InLogs(model, alias=alias) if task.logs else model

    def ridge(alias: str) -> Forecaster:
        model = DirectRidge(horizon, task.ridge, alias=alias)
        return InLogs(model, alias=alias) if task.logs else model

    def corrected(alias: str) -> Forecaster:
        return retrieval(alias, task.embedding, DirectRidge(horizon, min(task.ridge, lookback)))

    return [
        Blend(
            [
                retrieval("retrieval", task.embedding),
                ridge("ridge"),
                corrected("corrected ridge"),
            ],
            alias="blend",
        ),
        corrected("ridge corrected by retrieval"),
        retrieval("retrieval (chosen on validation)", task.embedding),
        retrieval("retrieval (raw windows)", "raw"),
        WindowNeighbours(horizon, lookback, alias="nearest 50 raw windows"),
        ridge("ridge, conformal bands"),
        SeasonalNaive(horizon, task.season, alias=f"seasonal naive ({task.season})"),
        Repeat(horizon, alias="repeat"),
    ]


def load(task: Task) -> Panel:
    """The series on a grid of whole numbers, scaled by the rows before validation."""
    wide = task.read(str(data_path(*task.file))).cast(pl.Float64)
    if task.train is not None:
        seen = wide.head(task.train)
        wide = wide.with_columns(
            (pl.col(name) - seen[name].mean()) / seen[name].std(ddof=0) for name in wide.columns
        )
    long = wide.with_row_index("ds").unpivot(index="ds", variable_name="unique_id", value_name="y")
    return read_frame(long.with_columns(pl.col("ds").cast(pl.Int64)), freq=1)


def table(result: Backtest, season: int) -> pl.DataFrame:
    """One row a model: errors, coverage fixed and tracked, CRPS of tracked intervals."""
    fixed = result.scores(season=season)
    tracked = track_intervals(result).scores(season=season)
    return fixed.select("model", "mse", "mae", "mase", fixed=pl.col("coverage-80")).join(
        tracked.select("model", tracked=pl.col("coverage-80"), crps="scaled_crps"),
        on="model",
        maintain_order="left",
    )


def show(frame: pl.DataFrame) -> None:
    """Print a frame as a Markdown table."""
    print("| " + " | ".join(frame.columns) + " |")
    print("|" + "---|" * len(frame.columns))
    for row in frame.iter_rows():
        cells = (f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row)
        print("| " + " | ".join(cells) + " |")
    print(flush=True)


def tell_choices(result: Backtest) -> None:
    """Print what was chosen on validation."""
    blend = result.models["blend"]
    assert isinstance(blend, Blend)
    shares = blend.weights_.group_by("member", maintain_order=True).agg(pl.col("weight").mean())
    made_of = ", ".join(f"{member} {share:.2f}" for member, share in shares.iter_rows())
    pure = result.models["retrieval (chosen on validation)"]
    pure = pure.model_ if isinstance(pure, InLogs) else pure
    assert isinstance(pure, RetrievalForecaster)
    best = pure.choices_.row(0, named=True)
    print(
        f"Chosen on validation: {best['embedding']} embedding of windows by {best['normaliser']}, "
        f"kernel {best['kernel']}, on the level {best['level']}; mean weight over the blocks of "
        f"the blend: {made_of}.\n"
    )


def run_task(name: str, task: Task, seed: int) -> None:
    """Backtest one task and print its table."""
    panel = load(task)
    started = time.process_time()
    result = backtest(
        panel,
        models(task, seed),
        horizon=task.horizon,
        start=task.first - 1,
        step_size=task.step,
        level=LEVELS,
    )
    print(
        f"### {name}, horizon {task.horizon}\n\nRows from {task.first}, {len(result.origins)} "
        f"windows, a cutoff every {task.step} rows, lookback {task.lookback} (ridge {task.ridge}), "
        f"seed {seed}, "
        f"{time.process_time() - started:.0f} s of CPU, data {data_hash(data_path(*task.file))}\n"
    )
    show(table(result, task.season))
    tell_choices(result)


def crps_by_series(result: Backtest, name: str) -> float:
    """Scaled CRPS of each window by itself, and their mean, as utilsforecast has it.

    All together, as in the other tables, a few series of large numbers decide.
    """
    forecast = result.forecasts[name]
    each = [
        scaled_crps(
            result.truth[row],
            Forecast(
                forecast.mean[row],
                {level: (low[row], high[row]) for level, (low, high) in forecast.bands.items()},
            ),
        )
        for row in (slice(place, place + 1) for place in range(len(result.truth)))
    ]
    return float(np.nanmean(each))


def run_m4(seed: int) -> None:
    """The 48 hours after the end of every hourly series of M4, from one origin."""
    train, test = (data_path("m4_hourly", f"Hourly-{part}.csv.gz") for part in ("train", "test"))
    # Every window is kept: with every second one, none ends at the hour of day that asks. Logs
    # were chosen on the last 48 known hours (blend .436 against .469).
    task = Task(
        file=("m4_hourly", train.name),
        read=_headed,
        horizon=48,
        lookback=168,
        ridge=336,
        season=24,
        train=None,
        first=0,
        embedding="raw",
        logs=True,
    )
    known, truth = (pl.read_csv(path, infer_schema_length=None) for path in (train, test))
    parts = []
    for before, after in zip(known.iter_rows(), truth.iter_rows(), strict=True):
        values = [value for value in before[1:] if value is not None] + list(after[1:])
        # Ends are put on one step: all series are asked at one cutoff.
        steps = np.arange(-len(values), 0) + 48
        parts.append(pl.DataFrame({"unique_id": before[0], "ds": steps, "y": values}))
    frame = pl.concat(part.cast({"y": pl.Float64}) for part in parts)
    started = time.process_time()
    result = backtest(frame, models(task, seed), horizon=48, n_windows=1, level=LEVELS, freq=1)
    print(
        f"### m4_hourly, horizon 48\n\n{len(result.origins)} series, one origin, lookback 168 "
        f"(ridge 336), seed {seed}, {time.process_time() - started:.0f} s of CPU, data "
        f"{data_hash(train)} and {data_hash(test)}\n"
    )
    scores = result.scores(season=24)
    baseline = naive2(result, season=24)
    owa = [
        overall_weighted_average(result, result.forecasts[name].mean, baseline, season=24)
        for name in scores["model"]
    ]
    by_series = [crps_by_series(result, name) for name in scores["model"]]
    show(
        scores.select("model", "mase", coverage="coverage-80", crps="scaled_crps")
        .with_columns(crps_by_series=pl.Series(by_series), owa=pl.Series(owa))
        .sort("owa")
    )
    tell_choices(result)


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sets", nargs="+", choices=[*TASKS, "m4_hourly"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    for name in asked.sets:
        if name == "m4_hourly":
            run_m4(asked.seed)
        for task in TASKS.get(name, []):
            run_task(name, task, asked.seed)


if __name__ == "__main__":
    main()
