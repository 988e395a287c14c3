"""How fast forecasting is: ratios to plain searches, to numpy and to stumpy, in one run.

    python -m benchmarks.forecasting

CPU seconds of one thread, the contenders of a comparison taking turns, the best round of each.
ETTh1 is the data where data matters (horizon 96, lookback 336, validation rows only); the rest is
made from seed 0. ``stumpy`` is compared with where it is installed.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
import polars as pl
import torch
from likewise.core import ExactIndex
from likewise.forecasting import (
    Origins,
    Panel,
    RetrievalForecaster,
    WindowNeighbours,
    backtest,
    nearest_stretches,
    read_frame,
)

from benchmarks.data import data_hash, data_path
from benchmarks.ett import LOOKBACK, PARTS, load_panel
from benchmarks.timing import take_turns

HORIZON = 96
NEIGHBOURS = 64
STRETCH = 50
BATCH = 2048


class Fitted(RetrievalForecaster):
    """A forecaster that is not fitted again: a backtest of it is all but the fit."""

    def fit_panel(self, panel: Panel) -> Self:
        """Stay as it is."""
        del panel
        return self


def tell(what: str, asked: str, found: str, times: Mapping[str, float]) -> None:
    """One row of the table."""
    told = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in times.items())
    print(f"| {what} | {asked} | {found} | {told} |", flush=True)


def fit_quickly() -> tuple[RetrievalForecaster, Panel]:
    """Fit the towers and compare them with raw windows on validation rows."""
    first, stop = PARTS["validation"]
    panel, stamps = load_panel(stop)
    learned = RetrievalForecaster(HORIZON, LOOKBACK, embedding="learned", neighbours=NEIGHBOURS)
    seen = panel.until(int(panel.steps([stamps[first - 1]])[0]))
    started = time.process_time()
    model = copy.deepcopy(learned).fit_panel(seen)
    seconds = time.process_time() - started
    fitted = as_fitted(model)
    raw = WindowNeighbours(HORIZON, LOOKBACK, alias="raw")
    result = backtest(panel, [fitted, raw], horizon=HORIZON, start=stamps[first - 1], step_size=24)
    errors = dict(result.scores(season=24).select("model", "mse").rows())
    tell(
        "fit on ETTh1 to better than raw kNN",
        "within 60 s of two cores",
        f"MSE {errors['learned']:.3f} against {errors['raw']:.3f}",
        {"fit": seconds},
    )
    return fitted, panel


def as_fitted(model: RetrievalForecaster) -> Fitted:
    """The same forecaster, not to be fitted again."""
    fitted = Fitted(model.horizon, model.lookback, neighbours=model.neighbours, alias="learned")
    fitted.__dict__.update(model.__dict__ | {"alias": fitted.alias})
    return fitted


def backtest_everywhere(model: Fitted, panel: Panel, rounds: int) -> None:
    """Every origin of a validation part, against one search for all of them."""
    first, stop = PARTS["validation"]
    steps = np.arange(first - 1, stop - HORIZON) + int(panel.starts[0])
    start = panel.stamps(steps[:1])[0]
    # The backtest lets the index of its fit grow; those beside it find it grown.
    grown = copy.deepcopy(model)
    grown.attach(panel)
    index = grown.index_
    origins = Origins(np.tile(np.arange(len(panel)), len(steps)), np.repeat(steps, len(panel)))
    vectors = index.ask(panel, origins).vectors
    upto = index.upto(origins)
    times = take_turns(
        {
            "backtest": lambda: backtest(panel, [model], horizon=HORIZON, start=start, step_size=1),
            "forecasts alone": lambda: [
                grown.forecast(panel, origins[place : place + BATCH])
                for place in range(0, len(origins), BATCH)
            ],
            "one search": lambda: index.index.search(vectors, NEIGHBOURS, upto=upto),
        },
        rounds,
    )
    tell(
        f"all {len(origins):,} origins, {len(index):,} windows",
        "<= 1.3 x one search",
        f"{times['backtest'] / times['one search']:.2f} x, forecasts alone "
        f"{times['forecasts alone'] / times['one search']:.2f} x",
        times,
    )


def search_flat(rounds: int) -> None:
    """The exact index against a plain product and argpartition."""
    generator = np.random.default_rng(0)
    held = generator.normal(size=(100_000, 64)).astype(np.float32)
    held /= np.linalg.norm(held, axis=1, keepdims=True)
    asked = held[:1000] + 0.1 * generator.normal(size=(1000, 64)).astype(np.float32)
    index = ExactIndex(held, fingerprint="benchmark")

    def plain() -> None:
        for start in range(0, len(asked), 250):
            scores = asked[start : start + 250] @ held.T
            np.argpartition(-scores, 10, axis=1)

    times = take_turns({"index": lambda: index.search(asked, 10), "numpy": plain}, rounds)
    tell(
        "flat search, 1,000 of 100,000 x 64, k = 10",
        ">= 0.8 x numpy",
        f"{times['numpy'] / times['index']:.2f} x as fast",
        times,
    )


def compare_all_pairs(rows: int, rounds: int) -> None:
    """Nearest other stretch of every stretch of a random walk, against ``stumpy.stump``."""
    walk = np.cumsum(np.random.default_rng(0).normal(size=rows))
    panel = as_panel(walk[None])
    contenders: dict[str, Callable[[], Any]] = {
        "likewise": lambda: nearest_stretches(panel, STRETCH)
    }
    if find_spec("stumpy") is None:
        times = take_turns(contenders, rounds)
        found = "stumpy is not installed"
    else:
        import stumpy  # noqa: PLC0415 - not a dependency

        stumpy.stump(walk[:500], STRETCH)
        contenders["stumpy"] = lambda: stumpy.stump(walk, STRETCH)
        times = take_turns(contenders, rounds)
        profile = stumpy.stump(walk[:20_000], STRETCH)
        near = nearest_stretches(as_panel(walk[None, :20_000]), STRETCH)
        off = float(np.abs(near.distance - profile[:, 0].astype(float)).max())
        found = f"{times['stumpy'] / times['likewise']:.2f} x as fast, distances {off:.0e} apart"
    tell(f"all pairs, n = {rows:,}, m = {STRETCH}", ">= 2 x stumpy", found, times)


def grow_in_series(rounds: int) -> None:
    """Ten times the series: ten times the time."""
    few, many = made_panel(300), made_panel(3000)

    def run(panel: Panel) -> Callable[[], Any]:
        def fit_and_predict() -> None:
            model = RetrievalForecaster(4, 12, embedding="raw", neighbours=16, stride=4)
            model.panel_ = panel
            model.fit_panel(panel).predict([80])

        return fit_and_predict

    times = take_turns({"300 series": run(few), "3,000 series": run(many)}, rounds)
    tell(
        "fit and predict, 10 x the series of 48 rows",
        "<= 11 x",
        f"{times['3,000 series'] / times['300 series']:.1f} x",
        times,
    )


def made_panel(series: int) -> Panel:
    """Series of 48 rows: a season at many levels."""
    generator = np.random.default_rng(0)
    time_axis = np.arange(48)
    phase = generator.uniform(0, 2 * np.pi, (series, 1))
    values = np.sin(2 * np.pi * time_axis / 12 + phase) + 0.3 * generator.normal(size=(series, 48))
    return as_panel(values + 10 * generator.normal(size=(series, 1)))


def as_panel(values: np.ndarray) -> Panel:
    """Rows of an array as series of whole-number time."""
    series, rows = values.shape
    return read_frame(
        pl.DataFrame(
            {
                "unique_id": np.repeat(np.arange(series), rows),
                "ds": np.tile(np.arange(rows), series),
                "y": values.ravel(),
            }
        ),
        freq=1,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pair-rounds", type=int, default=1, help="Of all pairs: minutes each.")
    parser.add_argument("--rows", type=int, default=131_072, help="Of the walk for all pairs.")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print("CPU seconds of one thread, best of", asked.rounds, "rounds in turns (all pairs: best of")
    print(f"{asked.pair_rounds}); ETTh1 {data_hash(data_path('etth1', 'ETTh1.csv'))}\n")
    print("| what | asked | found | CPU time |\n|---|---|---|---|")
    model, panel = fit_quickly()
    backtest_everywhere(model, panel, asked.rounds)
    search_flat(asked.rounds)
    compare_all_pairs(asked.rows, asked.pair_rounds)
    grow_in_series(asked.rounds)


if __name__ == "__main__":
    main()
