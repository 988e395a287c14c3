"""ETTh1 in the field's protocol: retrieval beside its baselines, one table.

    python -m benchmarks.ett --horizon 96 --horizon 192 --horizon 336 --horizon 720

Rows [0, 8640) train, [8640, 11520) validation, [11520, 14400) test; every column z-scored with
training statistics; one origin a row, none dropped; mean squared error over the seven columns.
The towers learn on the training rows, every choice is made on the validation rows, and the index
then grows to each origin. ``--part validation`` scores the validation rows instead (fitted on the
training rows alone), which is what settings were chosen on.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import polars as pl
import torch
from likewise.forecasting import (
    Blend,
    DirectRidge,
    Forecaster,
    Normaliser,
    Panel,
    Repeat,
    RetrievalForecaster,
    SeasonalNaive,
    WindowNeighbours,
    backtest,
    read_frame,
    track_intervals,
)

from benchmarks.data import data_hash, data_path

LOOKBACK = 336
PARTS = {"validation": (8640, 11520), "test": (11520, 14400), "final": (14400, 17420)}
TRAIN = 8640


def load_panel(stop: int) -> tuple[Panel, pl.Series]:
    """ETTh1 up to a row, scaled with training statistics, and its stamps."""
    wide = pl.read_csv(data_path("etth1", "ETTh1.csv"), try_parse_dates=True)
    columns = wide.columns[1:]
    train = wide.head(TRAIN)
    scaled = wide.head(stop).with_columns(
        (pl.col(name) - train[name].mean()) / train[name].std(ddof=0) for name in columns
    )
    long = scaled.unpivot(on=columns, index="date", variable_name="unique_id", value_name="y")
    return read_frame(long.rename({"date": "ds"}), freq="h"), wide["date"]


def models(horizon: int, seed: int) -> list[Forecaster]:
    """What is compared."""
    return [
        _retrieval(horizon, seed),
        _corrected(horizon, seed),
        Blend(
            [_retrieval(horizon, seed), DirectRidge(horizon, 512), _corrected(horizon, seed)],
            alias="blend",
        ),
        WindowNeighbours(horizon, LOOKBACK, alias="raw windows, less their mean"),
        WindowNeighbours(
            horizon,
            LOOKBACK,
            normaliser=Normaliser("last"),
            alias="raw windows, less their last value",
        ),
        DirectRidge(horizon, LOOKBACK, alias="ridge (direct)"),
        DirectRidge(horizon, 512, alias="ridge (direct), lookback 512"),
        SeasonalNaive(horizon, 24, alias="seasonal naive"),
        Repeat(horizon, alias="repeat"),
    ]


def _corrected(horizon: int, seed: int) -> RetrievalForecaster:
    return RetrievalForecaster(
        horizon,
        LOOKBACK,
        embedding="learned",
        level=DirectRidge(horizon, LOOKBACK),
        seed=seed,
        alias="ridge corrected by retrieval",
    )


def _retrieval(horizon: int, seed: int) -> RetrievalForecaster:
    return RetrievalForecaster(
        horizon, LOOKBACK, embedding="learned", seed=seed, alias="retrieval (learned)"
    )


def main() -> None:
    """Print one table a horizon, and the mean over horizons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--horizon", type=int, action="append", required=True)
    parser.add_argument("--part", choices=PARTS, default="test")
    parser.add_argument("--step-size", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--level", type=int, action="append", default=[])
    parser.add_argument("--only", action="append", default=[], help="Models by name [all].")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    first, stop = PARTS[asked.part]
    panel, stamps = load_panel(stop)
    print(f"ETTh1, {asked.part} rows [{first}, {stop}), lookback {LOOKBACK}, seed {asked.seed},")
    print(f"step {asked.step_size}, data {data_hash(data_path('etth1', 'ETTh1.csv'))}\n")
    table: dict[str, list[float]] = {}
    for horizon in asked.horizon:
        started = time.process_time()
        result = backtest(
            panel,
            [
                one
                for one in models(horizon, asked.seed)
                if one.alias in asked.only or not asked.only
            ],
            horizon=horizon,
            start=stamps[first - 1],
            step_size=asked.step_size,
            level=asked.level,
        )
        scores = result.scores(season=24)
        print(f"horizon {horizon}: {len(result.origins)} windows, ", end="")
        print(f"{time.process_time() - started:.0f} s of CPU\n")
        for row in scores.iter_rows(named=True):
            table.setdefault(row["model"], []).append(row["mse"])
            cells = [f"{name} {row[name]:.4f}" for name in scores.columns[2:]]
            print(f"| {row['model']} | {' | '.join(cells)} |")
        if asked.level:
            tracked = track_intervals(result).scores(season=24)
            for name, inside, crps in tracked.select(
                "model", f"coverage-{asked.level[0]}", "scaled_crps"
            ).iter_rows():
                print(f"| {name}, tracked | coverage {inside:.4f} | scaled_crps {crps:.4f} |")
        for name, model in result.models.items():
            if isinstance(model, RetrievalForecaster):
                print(f"\n{name} chose on validation: {model.choices_.row(0, named=True)}")
            if isinstance(model, Blend):
                shares = model.weights_.group_by("member", maintain_order=True).agg(
                    pl.col("weight").mean()
                )
                print(f"\n{name} weighs: {dict(shares.iter_rows())}")
        print(flush=True)
    print("| MSE | " + " | ".join(map(str, asked.horizon)) + " | mean |")
    print("|---|" + "---|" * (len(asked.horizon) + 1))
    for model_name, errors in sorted(table.items(), key=lambda item: np.mean(item[1])):
        cells = " | ".join(f"{error:.4f}" for error in errors)
        print(f"| {model_name} | {cells} | {np.mean(errors):.4f} |")


if __name__ == "__main__":
    main()
