"""``likewise anomaly``: fit, score, register, append and report from the command line.

In: tables as CSV or Parquet: rows, or series where a column of times is named. Out: a bundle,
scores, the register on the terminal, a page. Commands read their options here and hand over to
``row_commands.py`` or ``series_commands.py``, by what the bundle holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..core import config_option

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

id_option = click.option("--id", "id_col", help="Column that names the rows, or the series.")
seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of randomness."
)


@click.group()
def anomaly() -> None:
    """Detect what is far from everything normal, and say what cannot be seen."""


@anomaly.command()
@config_option
@click.argument("file", type=FILE)
@click.argument("bundle", type=FOLDER)
@click.option(
    "--false-alarm-rate",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.01,
    show_default=True,
    help="Share of normal rows or steps that may alert.",
)
@click.option("--k", type=click.IntRange(1), help="Neighbours [5 for rows, 1 for series].")
@id_option
@click.option(
    "--learned/--no-learned",
    default=None,
    help="Train an encoder and compare what it sees as well [rows: yes; series: no].",
)
@click.option(
    "--suspected-share",
    type=click.FloatRange(0, 0.5, max_open=True),
    help="Rows: share that may be abnormal after all; set aside for review.",
)
@click.option("--time", "time_col", help="Column of times; makes FILE a long table of series.")
@click.option("--lookback", type=click.IntRange(2), help="Series: steps of a window.")
@click.option(
    "--mode", type=click.Choice(["causal", "covering"]), help="Series: how a step is judged."
)
@click.option("--pooled", is_flag=True, help="Series: compare each with all.")
@seed_option
def fit(
    file: Path,
    bundle: Path,
    false_alarm_rate: float,
    k: int | None,
    id_col: str | None,
    learned: bool | None,
    suspected_share: float | None,
    time_col: str | None,
    lookback: int | None,
    mode: str | None,
    pooled: bool,
    seed: int,
) -> None:
    """Fit on the verified-normal rows or series of FILE and save a BUNDLE."""
    shared: dict[str, Any] = {"false_alarm_rate": false_alarm_rate, "k": k, "seed": seed}
    if time_col is None:
        _refuse("name a column of times with --time", lookback=lookback, mode=mode, pooled=pooled)
        from . import row_commands

        settings = shared | {"learned": learned, "suspected_share": suspected_share}
        row_commands.fit(file, bundle, id_col, _given(settings))
        click.echo(f"{bundle} written")
        return
    _refuse("leave --time out", suspected_share=suspected_share)
    from . import series_commands
    from .window_parts import PARTS

    settings = shared | {
        "lookback": lookback,
        "mode": mode,
        "pooling": "pooled" if pooled else None,
        "parts": PARTS if learned else None,
        "id_col": id_col,
        "time_col": time_col,
    }
    series_commands.fit(file, bundle, _given(settings))
    click.echo(f"{bundle} written")


@anomaly.command()
@config_option
@click.argument("bundle", type=FOLDER)
@click.argument("file", type=FILE)
@id_option
@click.option("--out", type=FILE, help="Write scores (.parquet or .csv) [print alerts only].")
@click.option(
    "--shown", type=click.IntRange(1), default=10, show_default=True, help="Alerts shown."
)
def score(bundle: Path, file: Path, id_col: str | None, out: Path | None, shown: int) -> None:
    """Score FILE and print the alerts with their evidence."""
    if holds_series(bundle):
        from . import series_commands

        series_commands.score(bundle, file, out, shown)
    else:
        from . import row_commands

        row_commands.score(bundle, file, id_col, out, shown)


@anomaly.command()
@config_option
@click.argument("bundle", type=FOLDER)
@click.option("--measure", is_flag=True, help="Measure (again) and save it in the bundle.")
@click.option(
    "--count",
    type=click.IntRange(200),
    default=200,
    show_default=True,
    help="Injections a kind and severity.",
)
@seed_option
def register(bundle: Path, measure: bool, count: int, seed: int) -> None:
    """Show what the detector in BUNDLE cannot see."""
    from .register_command import show_register

    show_register(bundle, of_series=holds_series(bundle), again=measure, count=count, seed=seed)


@anomaly.command()
@config_option
@click.argument("bundle", type=FOLDER)
@click.argument("file", type=FILE)
@id_option
@click.option(
    "--recalibrate/--keep-threshold",
    default=True,
    show_default=True,
    help="Whether the threshold is set again.",
)
def append(bundle: Path, file: Path, id_col: str | None, recalibrate: bool) -> None:
    """Add what is verified normal in FILE to BUNDLE without training again."""
    if holds_series(bundle):
        from . import series_commands

        series_commands.append(bundle, file, recalibrate=recalibrate)
    else:
        from . import row_commands

        row_commands.append(bundle, file, id_col, recalibrate=recalibrate)


@anomaly.command()
@config_option
@click.argument("bundle", type=FOLDER)
@click.argument("file", type=FILE)
@id_option
@click.option("--out", type=FILE, default=Path("alerts.html"), show_default=True, help="The page.")
def report(bundle: Path, file: Path, id_col: str | None, out: Path) -> None:
    """Write a page about the alerts in FILE, their evidence and the blind spots."""
    if holds_series(bundle):
        from . import series_commands

        series_commands.report(bundle, file, out)
    else:
        from . import row_commands

        row_commands.report(bundle, file, id_col, out)


def holds_series(bundle: Path) -> bool:
    """Whether a bundle holds a detector of series; any other is left to the loader of rows."""
    from ..core import inspect_bundle
    from .series_store import KIND

    return inspect_bundle(bundle).manifest.kind == KIND


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that were given; the others keep the detector's own defaults."""
    return {name: value for name, value in settings.items() if value is not None}


def _refuse(cure: str, **options: object) -> None:
    """Refuse options that mean nothing here."""
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if given:
        raise click.UsageError(f"{', '.join(given)} cannot be used here; {cure}")
