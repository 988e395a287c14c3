"""Cutoffs of a backtest: which there are, which origins they give, and who shares a fit.

In: a panel and how many cutoffs. Out: steps of calendar time across the whole panel, and the
origins that every model can start from and whose truth is known, the others with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import SettingError, TooFewRows
from .holdout import batches
from .origins import Origins, complete, futures, origins_at, pasts
from .panel import Panel
from .units import Steps

_BATCH = 2048


def rolling_cutoffs(
    panel: Panel,
    horizon: int,
    n_windows: int | None = None,
    step_size: int | None = None,
    start: Any = None,
) -> Steps:
    """Cutoffs in calendar steps, ascending; the last leaves exactly H steps of the panel.

    Args:
        panel: The data.
        horizon: H.
        n_windows: How many; None for 1.
        step_size: Steps between them; None for H.
        start: The earliest, as a stamp; then as many as fit.

    Raises:
        SettingError: Both or none can be met, or a cutoff lies before the data.
    """
    step_size = horizon if step_size is None else step_size
    last = int(panel.end_steps.max()) - horizon
    first_known = int(panel.starts.min())
    if step_size < 1 or (n_windows is not None and n_windows < 1):
        raise SettingError(f"step_size and n_windows start at 1, found {step_size} and {n_windows}")
    if start is not None:
        if n_windows is not None:
            raise SettingError(
                "give either start or n_windows, not both: one follows from the other"
            )
        first = int(panel.steps([start])[0])
        if not first_known <= first <= last:
            raise SettingError(
                f"start {start} leaves no cutoff with {horizon} rows behind it; the data runs from "
                f"{panel.stamps(np.array([first_known]))[0]}"
            )
        return np.arange(last, first - 1, -step_size)[::-1].copy()
    count = n_windows or 1
    first = last - (count - 1) * step_size
    if first < first_known:
        most = max(0, (last - first_known) // step_size + 1)
        raise SettingError(
            f"{count} windows of step {step_size} reach back before the data; at most {most} fit"
        )
    return np.arange(first, last + 1, step_size)


def judge(
    panel: Panel, cutoffs: Steps, lookback: int, horizon: int
) -> tuple[Origins, pl.DataFrame]:
    """Origins every model can start from and whose truth is known; the others with a reason."""
    origins = origins_at(panel, cutoffs)
    shape = (0, 2)
    flags = np.concatenate(
        [np.zeros(shape, dtype=bool)]
        + [
            np.column_stack(
                [complete(pasts(panel, part, lookback)), complete(futures(panel, part, horizon))]
            )
            for part in batches(origins, _BATCH)
        ]
    )
    keep: NDArray[np.bool_] = np.logical_and(flags[:, 0], flags[:, 1])
    reasons = np.where(
        flags[:, 0],
        f"not all of the {horizon} rows behind it are known",
        f"not all of the {lookback} rows up to it are there",
    )
    unjudged = origins[np.flatnonzero(~keep)]
    skipped = pl.DataFrame(
        {
            panel.schema.id_col: panel.labels(unjudged.series),
            "cutoff": panel.stamps(unjudged.steps),
            "reason": pl.Series(reasons[~keep].tolist(), dtype=pl.String),
        }
    )
    absent = np.setdiff1d(np.arange(len(panel)), origins.series)
    if len(absent):
        none = pl.DataFrame(
            {
                panel.schema.id_col: panel.labels(absent),
                "cutoff": pl.Series([None] * len(absent), dtype=skipped["cutoff"].dtype),
                "reason": ["no cutoff falls inside this series"] * len(absent),
            }
        )
        skipped = pl.concat([skipped, none])
    if not keep.any():
        raise TooFewRows(
            f"none of {len(origins)} origins has {lookback} complete rows before and {horizon} "
            "known rows behind it; shorten the lookback or the horizon, ask for fewer windows, or "
            "close the gaps"
        )
    return origins[keep], skipped


def turns(cutoffs: Steps, refit_every: int | None) -> Iterator[Steps]:
    """Cutoffs that share one fit: so many at a time, all for None."""
    if refit_every is not None and refit_every < 1:
        raise SettingError(f"refit_every starts at 1, found {refit_every}")
    length = refit_every or len(cutoffs)
    for start in range(0, len(cutoffs), length):
        yield cutoffs[start : start + length]


def stops(turn: Steps, input_size: int | None) -> list[Steps]:
    """Cutoffs that share one index: all of a turn, or each alone where history slides."""
    if input_size is None:
        return [turn]
    return [turn[place : place + 1] for place in range(len(turn))]
