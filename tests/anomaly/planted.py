"""Planted data: rows and series whose normal and abnormal parts are known."""

from __future__ import annotations

import numpy as np
import polars as pl
from likewise.anomaly import WindowLearning
from numpy.typing import NDArray

QUICK = WindowLearning(steps=60, batch_size=64)


def correlated_rows(count: int, seed: int = 0, width: int = 4) -> NDArray[np.float64]:
    """Rows whose columns follow one hidden cause."""
    draw = np.random.default_rng(seed)
    cause = draw.normal(size=(count, 1))
    return cause * np.linspace(1, 2, width) + 0.3 * draw.normal(size=(count, width))


def saw(count: int, seed: int = 0, channels: int = 1) -> NDArray[np.float64]:
    """A noisy saw tooth of period 24: what it looks like backwards is another thing."""
    draw = np.random.default_rng(seed)
    steps = np.arange(count)
    tooth = (steps % 24) / 12 + 0.5 * np.sin(2 * np.pi * steps / 24)
    return np.column_stack(
        [tooth * (1 + c / 4) + 0.1 * draw.normal(size=count) for c in range(channels)]
    )


def long_frame(values: NDArray[np.float64], series: str | None = None) -> pl.DataFrame:
    """Values as a long frame with whole-number times."""
    columns = {f"c{i}": values[:, i] for i in range(values.shape[1])}
    frame = pl.DataFrame({"ds": np.arange(len(values)), **columns})
    return frame if series is None else frame.insert_column(0, pl.lit(series).alias("unique_id"))
