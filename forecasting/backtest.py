"""Rolling origins: what each model would have said, had it stood at each cutoff.

In: a frame, models, and how many cutoffs. Out: a :class:`Backtest`: forecasts beside the truth, a
manifest of the latest time each cutoff could see, and every origin that could not be judged, with
the reason. Cutoffs are calendar time across the whole panel. A model is fitted on what lies at or
before the first cutoff of its turn and then *walks on*: later cutoffs may look at rows up to
themselves (an index grows under a time mask, nothing is rebuilt), never behind.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..core import LeakError, Progress, SettingError, silent
from .calibration import check_levels
from .cutoffs import judge, rolling_cutoffs, stops, turns
from .forecast import Forecast, forecast_columns, join_forecasts
from .frames import Gaps, read_frame
from .frequency import Frequency
from .holdout import batches
from .model import Forecaster
from .origins import Origins, futures
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
    origins, skipped = judge(panel, cutoffs, lookback, horizon)

    parts: dict[str, list[Forecast]] = {model.alias: [] for model in models}
    manifest: list[dict[str, Any]] = []
    fitted: dict[str, Forecaster] = {}
    jobs = [(turn, model) for turn in turns(cutoffs, refit_every) for model in models]
    for turn, model in progress(jobs, "backtest", len(jobs)):
        here = origins[np.flatnonzero(np.isin(origins.steps, turn))]
        if not len(here):
            continue
        walker = copy.deepcopy(model).fit_panel(_seen(panel, int(turn[0]), input_size))
        for stop in stops(turn, input_size):
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
