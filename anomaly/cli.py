"""``likewise anomaly``: fit, score, register, append and report from the command line.

In: tables as CSV or Parquet. Out: a bundle, scores, the register on the terminal, a page. Each
command reads its options, calls the library once and prints; nothing is computed here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..core import config_option

if TYPE_CHECKING:
    import polars as pl

    from .detector import NeighbourDetector

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group()
def anomaly() -> None:
    """Detect rows that are far from everything normal, and say what cannot be seen."""


@anomaly.command()
@config_option
@click.argument("file", type=FILE)
@click.argument("bundle", type=FOLDER)
@click.option(
    "--false-alarm-rate",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.01,
    show_default=True,
    help="Share of normal rows that may alert.",
)
@click.option("--k", type=click.IntRange(1), default=5, show_default=True, help="Neighbours.")
@click.option("--id", "id_col", help="Column that names the rows.")
@click.option("--no-learned", is_flag=True, help="Compare by plain distance alone.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of randomness.")
def fit(
    file: Path,
    bundle: Path,
    false_alarm_rate: float,
    k: int,
    id_col: str | None,
    no_learned: bool,
    seed: int,
) -> None:
    """Fit on the verified-normal rows of FILE and save a BUNDLE."""
    from ..core import track
    from .detector import NeighbourDetector

    rows, ids = read_rows(file, id_col)
    detector = NeighbourDetector(false_alarm_rate, k, learned=not no_learned, seed=seed)
    detector.fit_with(rows, ids=ids, progress=track)
    detector.save(bundle)
    click.echo(f"{len(detector.reference_)} normal rows, {rows.width} columns")
    tell_threshold(detector)
    click.echo(f"learned distance counts {detector.trust_.weight:g}: {detector.trust_.reason}")
    if detector.suspects_:
        named = ", ".join(str(one.id) for one in detector.suspects_[:10])
        click.echo(f"{len(detector.suspects_)} fitted rows to review: {named}")
    click.echo(f"{bundle} written")


@anomaly.command()
@config_option
@click.argument("bundle", type=FOLDER)
@click.argument("file", type=FILE)
@click.option("--id", "id_col", help="Column that names the rows; kept in the answer.")
@click.option("--out", type=FILE, help="Write scores (.parquet or .csv) [print alerts only].")
@click.option(
    "--shown", type=click.IntRange(1), default=10, show_default=True, help="Alerts shown."
)
def score(bundle: Path, file: Path, id_col: str | None, out: Path | None, shown: int) -> None:
    """Score the rows of FILE and print the alerts with their evidence."""
    import polars as pl

    from .detector import NeighbourDetector
    from .report import alert_table

    detector = NeighbourDetector.load(bundle)
    detector.on_missing = "nan"
    rows, ids = read_rows(file, id_col)
    scores = detector.decision_function(rows)
    answer = pl.DataFrame(
        {
            "row": ids if ids is not None else list(range(len(rows))),
            "score": scores,
            "alert": detector.calibration_.alerts(scores),
            "rank_among_normals": detector.rank_among_normals(rows),
        }
    )
    if out is not None:
        answer.write_csv(out) if out.suffix == ".csv" else answer.write_parquet(out)
        click.echo(f"{out} written")
    alerts = detector.explain(rows)
    tell_threshold(detector)
    click.echo(f"{len(alerts)} of {len(rows)} rows alert")
    if alerts:
        strangest = sorted(alerts, key=lambda alert: -alert.score)[:shown]
        click.echo(alert_table(strangest).as_text())
    unscored = int(answer["score"].is_nan().sum())
    if unscored:
        click.echo(f"{unscored} rows have missing values and no score")
    click.echo(tell_register(detector))


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
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of injections.")
def register(bundle: Path, measure: bool, count: int, seed: int) -> None:
    """Show what the detector in BUNDLE cannot see."""
    from ..core import track
    from .detector import NeighbourDetector
    from .matrix import invariance_table, register_table
    from .row_register import measure_row_register

    detector = NeighbourDetector.load(bundle)
    if measure or detector.register_ is None:
        measure_row_register(detector, count=count, seed=seed, progress=track)
        detector.save(bundle)
    found = detector.register_
    assert found is not None
    click.echo(found.sentence())
    click.echo(f"\n{invariance_table(found).as_text()}\n\n{register_table(found).as_text()}")


@anomaly.command()
@config_option
@click.argument("bundle", type=FOLDER)
@click.argument("file", type=FILE)
@click.option("--id", "id_col", help="Column that names the rows.")
@click.option(
    "--recalibrate/--keep-threshold",
    default=True,
    show_default=True,
    help="Whether the threshold is set again.",
)
def append(bundle: Path, file: Path, id_col: str | None, recalibrate: bool) -> None:
    """Add the verified-normal rows of FILE to BUNDLE without training again."""
    from .detector import NeighbourDetector

    detector = NeighbourDetector.load(bundle)
    rows, ids = read_rows(file, id_col)
    before = detector.model_.fingerprint
    detector.append(rows, ids=ids)
    if recalibrate:
        detector.recalibrate()
    assert detector.model_.fingerprint == before
    detector.save(bundle)
    click.echo(f"{len(rows)} rows appended, {len(detector.reference_)} in the reference set")
    tell_threshold(detector)


@anomaly.command()
@config_option
@click.argument("bundle", type=FOLDER)
@click.argument("file", type=FILE)
@click.option("--id", "id_col", help="Column that names the rows.")
@click.option("--out", type=FILE, default=Path("alerts.html"), show_default=True, help="The page.")
def report(bundle: Path, file: Path, id_col: str | None, out: Path) -> None:
    """Write a page about the alerts in FILE, their evidence and the blind spots."""
    from ..core import Page
    from .detector import NeighbourDetector
    from .report import row_report

    detector = NeighbourDetector.load(bundle)
    rows, _ = read_rows(file, id_col)
    alerts = detector.explain(rows)
    page = Page(f"Alerts in {file.name}", "What is far from everything normal, and why")
    page.add(*row_report(detector, alerts, len(rows)))
    click.echo(f"{page.write(out)} written")


def read_rows(file: Path, id_col: str | None) -> tuple[pl.DataFrame, list[Any] | None]:
    """Read a table and take its id column out."""
    import polars as pl

    from ..core import ColumnError, InputError

    if not file.exists():
        raise InputError(f"{file} does not exist; check the path")
    table = pl.read_parquet(file) if file.suffix == ".parquet" else pl.read_csv(file)
    if id_col is None:
        return table, None
    if id_col not in table.columns:
        raise ColumnError(f"{file} has no column {id_col!r}; it has {', '.join(table.columns)}")
    return table.drop(id_col), table[id_col].to_list()


def tell_threshold(detector: NeighbourDetector) -> None:
    """Print the threshold with what stands behind it."""
    from .threshold import NOT_A_PROBABILITY

    threshold = detector.calibration_
    low, high = threshold.interval
    click.echo(
        f"threshold {threshold.value:.4g} for {threshold.false_alarm_rate:.2%} false alarms, from "
        f"{threshold.calibrated_on} held-out normals (realised: {low:.2%} to {high:.2%})"
    )
    click.echo(NOT_A_PROBABILITY)
    if detector.stale_:
        click.echo(f"the threshold is stale: {detector.stale_}")


def tell_register(detector: NeighbourDetector) -> str:
    """Say what the alerts cannot contain."""
    if detector.register_ is None:
        return (
            "What this detector cannot see was not measured; `likewise anomaly register BUNDLE` "
            "measures it."
        )
    return detector.register_.sentence()
