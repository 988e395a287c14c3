"""What the commands do with a table of rows.

In: the options of ``cli.py``. Out: bundles, files, lines on the terminal. Nothing is computed here.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
import polars as pl

from ..core import ColumnError, InputError, Page, track
from .detector import NeighbourDetector
from .report import alert_table, row_report
from .telling import tell_register, tell_threshold, write_answer


def fit(file: Path, bundle: Path, id_col: str | None, settings: dict[str, Any]) -> None:
    """Fit on the rows of a file."""
    rows, ids = read_rows(file, id_col)
    detector = NeighbourDetector(**settings).fit_with(rows, ids=ids, progress=track)
    detector.save(bundle)
    click.echo(f"{len(detector.reference_)} normal rows, {rows.width} columns")
    tell_threshold(detector.calibration_, detector.stale_)
    click.echo(f"learned distance counts {detector.trust_.weight:g}: {detector.trust_.reason}")
    if detector.suspects_:
        named = ", ".join(str(one.id) for one in detector.suspects_[:10])
        click.echo(f"{len(detector.suspects_)} fitted rows to review: {named}")
    aside = len(rows) - len(detector.reference_)
    if aside:
        doubted = math.ceil(detector.suspected_share * len(rows))
        click.echo(
            f"{aside} rows were set aside and {doubted} of them are doubted; if those are normal "
            "after all, up to that share more normal rows alert"
        )


def score(bundle: Path, file: Path, id_col: str | None, out: Path | None, shown: int) -> None:
    """Score the rows of a file and print the alerts with their evidence."""
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
    write_answer(answer, out)
    alerts = detector.explain(rows)
    tell_threshold(detector.calibration_, detector.stale_)
    click.echo(f"{len(alerts)} of {len(rows)} rows alert")
    if alerts:
        strangest = sorted(alerts, key=lambda alert: -alert.score)[:shown]
        click.echo(alert_table(strangest).as_text())
    unscored = int(answer["score"].is_nan().sum())
    if unscored:
        click.echo(f"{unscored} rows have missing values and no score")
    tell_register(detector.register_)


def append(bundle: Path, file: Path, id_col: str | None, *, recalibrate: bool) -> None:
    """Add normal rows without training again."""
    detector = NeighbourDetector.load(bundle)
    rows, ids = read_rows(file, id_col)
    before = detector.model_.fingerprint
    detector.append(rows, ids=ids)
    if recalibrate:
        detector.recalibrate()
    assert detector.model_.fingerprint == before
    detector.save(bundle)
    click.echo(f"{len(rows)} rows appended, {len(detector.reference_)} in the reference set")
    tell_threshold(detector.calibration_, detector.stale_)


def report(bundle: Path, file: Path, id_col: str | None, out: Path) -> None:
    """Write a page about the alerts in a file."""
    detector = NeighbourDetector.load(bundle)
    rows, _ = read_rows(file, id_col)
    alerts = detector.explain(rows)
    page = Page(f"Alerts in {file.name}", "What is far from everything normal, and why")
    page.add(*row_report(detector, alerts, len(rows)))
    click.echo(f"{page.write(out)} written")


def read_rows(file: Path, id_col: str | None) -> tuple[pl.DataFrame, list[Any] | None]:
    """Read a table and take its id column out."""
    table = read_file(file)
    if id_col is None:
        return table, None
    if id_col not in table.columns:
        raise ColumnError(f"{file} has no column {id_col!r}; it has {', '.join(table.columns)}")
    return table.drop(id_col), table[id_col].to_list()


def read_file(file: Path) -> pl.DataFrame:
    """Read CSV or Parquet."""
    if not file.exists():
        raise InputError(f"{file} does not exist; check the path")
    if file.suffix == ".parquet":
        return pl.read_parquet(file)
    return pl.read_csv(file, try_parse_dates=True)
