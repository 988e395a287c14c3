"""``likewise forecast``: backtest, fit, predict and explain from the command line.

In: files. Out: tables on the terminal, forecasts as Parquet or CSV, bundles, pages. Each command
reads its options, calls the library once and prints; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..core import config_option
from .inspection.cli import extend, fresh, inspect, similar

if TYPE_CHECKING:
    import polars as pl

    from .model import Forecaster

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
MODELS = ("retrieval", "ridge", "raw", "seasonal", "repeat")
EXTRA_MODELS = ("corrected", "blend", "lightgbm")
GAPS = click.Choice(["error", "missing", "zero", "interpolate"])


@click.group()
def forecast() -> None:
    """Forecast series by what followed the last times they looked like this."""


for command in (inspect, similar, extend, fresh):
    forecast.add_command(command)


def series_options(command: Command) -> Command:
    """The options that say how a file of series is read."""
    for option in (
        click.option("--gaps", type=GAPS, default="error", show_default=True, help="Absent rows."),
        click.option("--freq", help="Step of time (h, 15min, D, MS, 1 ...); read if left out."),
        click.option("--time", help="Column of times of a wide file."),
    ):
        command = option(command)
    return command


def model_options(command: Command) -> Command:
    """The options that say what is forecast."""
    for option in (
        click.option("--seed", type=int, default=0, show_default=True, help="Of all randomness."),
        click.option("--neighbours", type=click.IntRange(1), help="Weigh only the K nearest."),
        click.option(
            "--match",
            multiple=True,
            help="Weigh only windows that share this: hour, weekday, month, season, or a period "
            "in rows such as 24.",
        ),
        click.option(
            "--lookback", type=click.IntRange(1), required=True, help="Rows a forecast looks at."
        ),
        click.option("--horizon", type=click.IntRange(1), required=True, help="Steps ahead."),
    ):
        command = option(command)
    return command


@forecast.command()
@config_option
@click.argument("file", type=FILE)
@model_options
@series_options
@click.option("--n-windows", type=click.IntRange(1), default=20, show_default=True, help="Cutoffs.")
@click.option("--step-size", type=click.IntRange(1), help="Steps between cutoffs [the horizon].")
@click.option("--level", type=click.IntRange(1, 99), multiple=True, help="Interval, in percent.")
@click.option("--season", type=click.IntRange(1), default=1, show_default=True, help="Rows.")
@click.option("--refit-every", type=click.IntRange(1), help="Fit again after so many cutoffs.")
@click.option("--input-size", type=click.IntRange(1), help="Fit on the last so many rows only.")
@click.option(
    "--model",
    "models",
    type=click.Choice(MODELS + EXTRA_MODELS),
    multiple=True,
    default=MODELS,
    help="Which models [all but corrected, blend and lightgbm].",
)
@click.option("--covariate", multiple=True, help="Column of a long file that is known ahead.")
@click.option("--out", type=FILE, help="Write forecasts beside the truth (.parquet or .csv).")
@click.option("--manifest", type=FILE, help="Write what each cutoff could see.")
@click.option("--report", type=FILE, help="Write a page.")
def backtest(
    file: Path,
    horizon: int,
    lookback: int,
    neighbours: int | None,
    match: tuple[str, ...],
    seed: int,
    time: str | None,
    freq: str | None,
    gaps: Any,
    n_windows: int,
    step_size: int | None,
    level: tuple[int, ...],
    season: int,
    refit_every: int | None,
    input_size: int | None,
    models: tuple[str, ...],
    covariate: tuple[str, ...],
    out: Path | None,
    manifest: Path | None,
    report: Path | None,
) -> None:
    """Forecast FILE from rolling origins, retrieval beside its baselines."""
    from ..core import Page, track
    from .backtest import backtest as run
    from .files import read_file
    from .report import backtest_blocks, score_block
    from .with_covariates import WithCovariates

    panel = read_file(file, time=time, freq=_freq(freq), gaps=gaps, covariates=covariate)
    _tell_notes(panel.notes)
    chosen = [_model(name, horizon, lookback, season, neighbours, match, seed) for name in models]
    if covariate:
        chosen = [WithCovariates(model, covariate, alias=model.alias) for model in chosen]
    result = run(
        panel,
        chosen,
        horizon=horizon,
        n_windows=n_windows,
        step_size=step_size,
        level=level,
        refit_every=refit_every,
        input_size=input_size,
        progress=track,
    )
    for series, cutoff, reason in result.skipped.rows():
        click.echo(f"skipped: {series} at {cutoff}: {reason}", err=True)
    click.echo(score_block(result, season=season).as_text())
    if out:
        _write(result.to_frame(), out)
    if manifest:
        _write(result.manifest, manifest)
    if report:
        blocks = backtest_blocks(result, season=season)
        page = Page(f"Backtest of {file.name}", f"{n_windows} cutoffs, horizon {horizon}")
        click.echo(f"{page.add(*blocks).write(report)} written")


@forecast.command()
@config_option
@click.argument("file", type=FILE)
@click.argument("bundle", type=FOLDER)
@model_options
@series_options
def fit(
    file: Path,
    bundle: Path,
    horizon: int,
    lookback: int,
    neighbours: int | None,
    match: tuple[str, ...],
    seed: int,
    time: str | None,
    freq: str | None,
    gaps: Any,
) -> None:
    """Fit the retrieval forecaster on FILE and save it as BUNDLE."""
    from .files import read_file
    from .retrieval import RetrievalForecaster

    panel = read_file(file, time=time, freq=_freq(freq), gaps=gaps)
    _tell_notes(panel.notes)
    model = RetrievalForecaster(
        horizon, lookback, neighbours=neighbours, match=_rules(match), seed=seed
    ).fit(panel)
    model.save(bundle)
    best = model.choices_.row(0, named=True)
    click.echo(
        f"{bundle} written: {best['embedding']} windows on level {best['level']!r}, "
        f"{len(model.index_):,} continuations of {len(panel)} series"
    )


@forecast.command()
@config_option
@click.argument("bundle", type=FOLDER)
@click.option("--level", type=click.IntRange(1, 99), multiple=True, help="Interval, in percent.")
@click.option("--out", type=FILE, help="Write the forecast (.parquet or .csv).")
def predict(bundle: Path, level: tuple[int, ...], out: Path | None) -> None:
    """Forecast the steps after the last row of every series in BUNDLE."""
    from ..core import Table
    from .retrieval import RetrievalForecaster

    model = RetrievalForecaster.load(bundle)
    frame = model.predict(level)
    for series, reason in model.skipped_.items():
        click.echo(f"skipped: {series}: {reason}", err=True)
    if out:
        _write(frame, out)
        click.echo(f"{out} written: {len(frame)} rows")
    else:
        rows = [
            [str(cell) if i < 2 else cell for i, cell in enumerate(row)] for row in frame.rows()
        ]
        click.echo(Table(frame.columns, rows).as_text())


@forecast.command()
@config_option
@click.argument("bundle", type=FOLDER)
@click.option("--series", help="Which series [the first].")
@click.option("--episodes", type=click.IntRange(1), default=8, show_default=True, help="Told.")
@click.option("--min-gap", type=click.IntRange(1), help="Rows between two episodes [the horizon].")
@click.option("--report", type=FILE, help="Write a page with the episodes drawn.")
def explain(
    bundle: Path, series: str | None, episodes: int, min_gap: int | None, report: Path | None
) -> None:
    """Show the episodes of history that a forecast of BUNDLE is made of."""
    from ..core import Page
    from .report import explanation_blocks
    from .retrieval import RetrievalForecaster

    model = RetrievalForecaster.load(bundle)
    wanted = None if series is None else _id_like(model.panel_.ids, series)
    explanation = model.explain(wanted, episodes=episodes, min_gap=min_gap)
    click.echo(str(explanation))
    if report:
        page = Page(f"What {explanation.series_id} was reminded of", f"from {bundle.name}")
        click.echo(f"{page.add(*explanation_blocks(explanation)).write(report)} written")


def _model(
    name: str,
    horizon: int,
    lookback: int,
    season: int,
    neighbours: int | None,
    alike: tuple[str, ...],
    seed: int,
) -> Forecaster:
    from .adapters import boosted_trees
    from .blend import Blend
    from .naive import Repeat, SeasonalNaive
    from .retrieval import RetrievalForecaster
    from .ridge import DirectRidge
    from .window_neighbours import WindowNeighbours

    def retrieval(level: Forecaster | None = None, alias: str | None = None) -> RetrievalForecaster:
        return RetrievalForecaster(
            horizon,
            lookback,
            level=level or "auto",
            neighbours=neighbours,
            match=_rules(alike),
            seed=seed,
            alias=alias,
        )

    def corrected() -> RetrievalForecaster:
        return retrieval(DirectRidge(horizon, lookback), "Corrected")

    builders: dict[str, Callable[[], Forecaster]] = {
        "retrieval": retrieval,
        "corrected": corrected,
        "blend": lambda: Blend([retrieval(), DirectRidge(horizon, lookback), corrected()]),
        "ridge": lambda: DirectRidge(horizon, lookback),
        "raw": lambda: WindowNeighbours(horizon, lookback),
        "lightgbm": lambda: boosted_trees(horizon, lookback, seed=seed),
        "seasonal": lambda: SeasonalNaive(horizon, season),
        "repeat": lambda: Repeat(horizon),
    }
    return builders[name]()


def _rules(match: tuple[str, ...]) -> list[Any]:
    return [int(rule) if rule.isdigit() else rule for rule in match]


def _freq(freq: str | None) -> str | int | None:
    return int(freq) if freq is not None and freq.isdigit() else freq


def _id_like(ids: tuple[Any, ...], text: str) -> Any:
    """The id that is written like this: ids may be numbers, a command line has only text."""
    return next((known for known in ids if str(known) == text), text)


def _tell_notes(notes: tuple[str, ...]) -> None:
    for note in notes:
        click.echo(f"note: {note}", err=True)


def _write(frame: pl.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        raise click.BadParameter(f"{path.name}: write .parquet or .csv")
