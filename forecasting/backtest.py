"""Rolling origins: what each model would have said, had it stood at each cutoff.

In: a frame, models, and how many cutoffs. Out: a :class:`Backtest`: forecasts beside the truth, a
manifest of the latest time each cutoff could see, and every origin that could not be judged, with
the reason. Cutoffs are calendar time across the whole panel. A model is fitted on what lies at or
before the first cutoff of its turn and then *walks on*: later cutoffs may look at rows up to
themselves (an index grows under a time mask, nothing is rebuilt), never behind.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import LeakError, Progress, SettingError, TooFewRows, silent
from .calibration import check_levels
from .forecast import Forecast, forecast_columns, join_forecasts
from .frames import Gaps, read_frame
from .frequency import Frequency
from .holdout import batches
from .model import Forecaster
from .origins import Origins, complete, futures, origins_at, pasts
from .panel import Panel, Values
from .scores import score_table
from .units import Steps

_BATCH = 2048


@dataclass(frozen=True, slots=True, eq=False)
class Backtest:
    """Forecasts from rolling origins beside what happened.

    Attributes:
        panel: The data.
        origins: Every judged (series, cutoff), ordered by cutoff, then series, [O].
        truth: What happened, [O, H].
        forecasts: Alias of each model -> its forecasts.
        manifest: One row a model and cutoff: until when it had learned, and the latest row its
            index could show it. Both are at or before the cutoff.
        skipped: One row an origin that was not judged, with the reason.
        models: Alias -> the model as fitted for the last cutoff.
    """

    panel: Panel
    origins: Origins
    truth: Values
    forecasts: Mapping[str, Forecast]
    manifest: pl.DataFrame
    skipped: pl.DataFrame
    models: Mapping[str, Forecaster]

    @property
    def horizon(self) -> int:
        """H."""
        return int(self.truth.shape[1])

    def to_frame(self) -> Any:
        """The forecasts as a frame of the caller's kind.

        Returns:
            Long frame ``unique_id, ds, cutoff, y`` and one column a model, with ``-lo-80`` and
            ``-hi-80`` beside it for each level: what ``utilsforecast.evaluate`` takes.
        """
        columns = forecast_columns(self.panel, self.origins, self.forecasts, self.horizon)
        keys = [self.panel.schema.id_col, self.panel.schema.time_col]
        ordered: dict[str, pl.Series] = {key: columns.pop(key) for key in keys}
        ordered["cutoff"] = self.panel.stamps(np.repeat(self.origins.steps, self.horizon))
        ordered[self.panel.schema.target_col] = pl.Series(self.truth.ravel())
        return self.panel.answer(ordered | columns)

    def scores(self, *, season: int = 1) -> pl.DataFrame:
        """One row a model, best mean absolute scaled error first; see :func:`score_table`."""
        return score_table(self.panel, self.origins, self.truth, self.forecasts, season=season)


def backtest(
    frame: Any,
    models: Sequence[Forecaster],
    *,
    horizon: int,
    n_windows: int | None = None,
    step_size: int | None = None,
    start: Any = None,
    level: Sequence[int] = (),
    refit_every: int | None = None,
    input_size: int | None = None,
    freq: str | int | Frequency | None = None,
    gaps: Gaps = "error",
    progress: Progress = silent,
) -> Backtest:
    """Forecast from rolling origins with every model, on the same windows.

    Args:
        frame: Long frame ``unique_id, ds, y`` of any kind, or a :class:`Panel`.
        models: Forecasters of this horizon with different aliases; they are copied, not changed.
        horizon: H, steps each forecast covers.
        n_windows: Number of cutoffs; the last one has exactly H rows behind it. Default 1.
        step_size: Steps between cutoffs; None takes the horizon, so that windows do not overlap.
        start: First cutoff instead of ``n_windows``: a stamp of the time column.
        level: Interval levels in percent.
        refit_every: Fit again after so many cutoffs; None fits once, before the first.
        input_size: Let fits and indexes see only the last so many steps before a cutoff
            (sliding, so an index is built for every cutoff); None sees all (expanding).
        freq: The step of time, as in :func:`read_frame`.
        gaps: What absent rows become, as in :func:`read_frame`.
        progress: Shows the turns.

    Returns:
        The backtest.

    Raises:
        SettingError: Models of another horizon, two of one alias, or no cutoffs.
        TooFewRows: No origin can be judged; says why.
    """
    _check_models(models, horizon)
    columns = sorted({name for model in models for name in model.covariates})
    panel = (
        frame
        if isinstance(frame, Panel)
        else read_frame(frame, freq=freq, gaps=gaps, covariates=columns)
    )
    levels = check_levels(level)
    if input_size is not None and input_size < 1:
        raise SettingError(f"input_size starts at 1, found {input_size}")
    cutoffs = rolling_cutoffs(panel, horizon, n_windows, step_size, start)
    lookback = max(model.lookback for model in models)
    origins, skipped = _judge(panel, cutoffs, lookback, horizon)

    parts: dict[str, list[Forecast]] = {model.alias: [] for model in models}
    manifest: list[dict[str, Any]] = []
    fitted: dict[str, Forecaster] = {}
    turns = list(_turns(cutoffs, refit_every))
    jobs = [(turn, model) for turn in turns for model in models]
    for turn, model in progress(jobs, "backtest", len(jobs)):
        here = origins[np.flatnonzero(np.isin(origins.steps, turn))]
        if not len(here):
            continue
        walker = copy.deepcopy(model).fit_panel(_seen(panel, int(turn[0]), input_size))
        for stop in _stops(turn, input_size):
            there = here[np.flatnonzero(np.isin(here.steps, stop))]
            if not len(there):
                continue
            known = _seen(panel, int(stop[-1]), input_size)
            walker.attach(known)
            there = _renumber(panel, known, there)
            for part in batches(there, _BATCH):
                parts[model.alias].append(walker.forecast(known, part, levels))
            manifest += _manifest_rows(walker, stop, fitted_until=int(turn[0]))
        fitted[model.alias] = walker
    return Backtest(
        panel=panel,
        origins=origins,
        truth=futures(panel, origins, horizon),
        forecasts={alias: join_forecasts(pieces) for alias, pieces in parts.items()},
        manifest=_checked_manifest(panel, manifest),
        skipped=skipped,
        models=fitted,
    )


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


def _check_models(models: Sequence[Forecaster], horizon: int) -> None:
    if not models:
        raise SettingError("a backtest needs at least one model")
    other = {m.alias: m.horizon for m in models if m.horizon != horizon}
    if other:
        raise SettingError(f"the backtest's horizon is {horizon}, but models have {other}")
    names = [model.alias for model in models]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SettingError(f"two models are called {', '.join(twice)}; give each its own alias")


def _judge(
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


def _turns(cutoffs: Steps, refit_every: int | None) -> Iterator[Steps]:
    if refit_every is not None and refit_every < 1:
        raise SettingError(f"refit_every starts at 1, found {refit_every}")
    length = refit_every or len(cutoffs)
    for start in range(0, len(cutoffs), length):
        yield cutoffs[start : start + length]


def _stops(turn: Steps, input_size: int | None) -> list[Steps]:
    """Cutoffs that share one index: all of a turn, or each alone where history slides."""
    if input_size is None:
        return [turn]
    return [turn[place : place + 1] for place in range(len(turn))]


def _seen(panel: Panel, cutoff: int, input_size: int | None) -> Panel:
    seen = panel.until(cutoff)
    return seen if input_size is None else seen.since(cutoff - input_size + 1)


def _renumber(whole: Panel, cut: Panel, origins: Origins) -> Origins:
    """The same origins in a panel from which series that had not begun are absent."""
    if len(cut) == len(whole):
        return origins
    place = {series_id: number for number, series_id in enumerate(cut.ids)}
    numbers = np.array([place.get(series_id, -1) for series_id in whole.ids])
    return Origins(numbers[origins.series], origins.steps)


def _manifest_rows(model: Forecaster, cutoffs: Steps, *, fitted_until: int) -> list[dict[str, Any]]:
    latest = model.latest_candidates(cutoffs) or [None] * len(cutoffs)
    return [
        {
            "model": model.alias,
            "cutoff": int(cutoff),
            "fitted_until": fitted_until,
            "index_until": until,
        }
        for cutoff, until in zip(cutoffs, latest, strict=True)
    ]


def _checked_manifest(panel: Panel, rows: list[dict[str, Any]]) -> pl.DataFrame:
    late = [
        row
        for row in rows
        if max(row["fitted_until"], row["index_until"] or row["fitted_until"]) > row["cutoff"]
    ]
    if late:
        raise LeakError(
            f"{late[0]['model']} could see step {late[0]['index_until']} at cutoff "
            f"{late[0]['cutoff']}; its index must be masked by time"
        )
    stamps = ("cutoff", "fitted_until", "index_until")
    table = pl.DataFrame(
        rows, schema={"model": pl.String, **dict.fromkeys(stamps, pl.Int64)}, orient="row"
    )
    return table.with_columns(_stamps_or_null(panel, table[name]) for name in stamps)


def _stamps_or_null(panel: Panel, steps: pl.Series) -> pl.Series:
    filled = panel.stamps(steps.fill_null(int(panel.starts[0])).to_numpy())
    frame = pl.DataFrame({"stamp": filled, "known": steps.is_not_null()})
    return frame.select(pl.when("known").then("stamp")).to_series().alias(steps.name)
