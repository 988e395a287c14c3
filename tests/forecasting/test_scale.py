"""Large inputs: time and memory grow with the data and with nothing else."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from likewise.forecasting import Panel, RetrievalForecaster

from tests.forecasting.planted import panel_of

ROWS, LOOKBACK, HORIZON = 1_100_000, 336, 96

MEASURE = f"""
import resource, sys
import numpy as np, polars as pl
from likewise.forecasting import Origins, RetrievalForecaster, TowerSettings, read_frame
rows = {ROWS}
walk = np.cumsum(np.random.default_rng(0).normal(size=rows))
frame = pl.DataFrame({{"unique_id": "a", "ds": np.arange(rows), "y": walk}})
small = TowerSettings(steps=20, width=64)
kind = sys.argv[1]
model = RetrievalForecaster({HORIZON}, {LOOKBACK}, embedding=kind, neighbours=64, towers=small)
# What the libraries themselves take is no part of the claim: a small fit loads them all.
model.fit(frame.head(3000)).predict([80])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.fit(frame).predict([80])
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = rows * 24 + model.index_.index.vectors.nbytes
print((after - before) * 1024 / data, len(model.index_))
"""


@pytest.mark.slow
@pytest.mark.parametrize("embedding", ["learned", "auto"])
def test_a_million_rows_take_no_more_than_three_times_data_and_index(embedding: str) -> None:
    # case forecasting#34: on a walk, raw windows win, and hold 338 numbers each
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, embedding], capture_output=True, text=True, check=True
    )
    times, windows = done.stdout.split()
    assert int(windows) == ROWS - LOOKBACK - HORIZON + 1
    assert float(times) <= 3.0


def seasons(series: int) -> Panel:
    generator = np.random.default_rng(0)
    phases = generator.uniform(0, 2 * np.pi, (series, 1))
    values = np.sin(2 * np.pi * np.arange(48) / 12 + phases)
    return panel_of(
        [(0, row.tolist()) for row in values + 0.3 * generator.normal(size=values.shape)]
    )


def fit_and_predict(panel: Panel) -> float:
    model = RetrievalForecaster(4, 12, embedding="raw", neighbours=16, stride=8)
    model.panel_ = panel
    started = time.process_time()
    frame = model.fit_panel(panel).predict([80])
    assert len(frame) == 4 * len(panel)
    return time.process_time() - started


@pytest.mark.slow
def test_ten_times_the_series_take_at_most_eleven_times_as_long() -> None:
    # case forecasting#35
    small, large = seasons(1000), seasons(10_000)
    few = min(fit_and_predict(small) for _ in range(3))
    assert fit_and_predict(large) <= 11 * few
