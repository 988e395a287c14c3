"""What the commands do with a long table of series.

In: the options of ``cli.py``. Out: bundles, files, lines on the terminal. Nothing is computed here.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click

from ..core import Page, ProcedureWarning, track
from .row_commands import read_file
from .series import SeriesDetector
from .series_alerts import judge_frame
from .series_report import series_alert_table, series_report
from .telling import tell_register, tell_threshold, write_answer


def fit(file: Path, bundle: Path, settings: dict[str, Any]) -> None:
    """Fit on the series of a file."""
    detector = SeriesDetector(**settings).fit(read_file(file), progress=track)
    detector.save(bundle)
    named = ", ".join(detector.channels_)
    series = sum(len(one.stretches) for one in detector.fitted_.values())
    click.echo(f"{series} series of {len(detector.channels_)} channels: {named}")
    _tell_thresholds(detector)
    for note in detector.notes_:
        click.echo(note)


def score(bundle: Path, file: Path, out: Path | None, shown: int) -> None:
    """Score every step of a file and print the alerts with their evidence."""
    detector = SeriesDetector.load(bundle)
    judged = judge_frame(detector, read_file(file))
    write_answer(judged.answer, out)
    _tell_thresholds(detector)
    click.echo(f"{len(judged.alerts)} stretches alert in {judged.steps} steps")
    if judged.alerts:
        click.echo(series_alert_table(judged.alerts, shown).as_text())
    if judged.unscored:
        click.echo(f"{judged.unscored} steps have no score; the column 'reason' says why")
    tell_register(detector.register_)


def append(bundle: Path, file: Path, *, recalibrate: bool) -> None:
    """Add normal stretches without training again."""
    detector = SeriesDetector.load(bundle)
    table = read_file(file)
    detector.append(table)
    if recalibrate:
        detector.recalibrate()
    detector.save(bundle)
    windows = sum(len(one.model.reference) for one in detector.fitted_.values())
    click.echo(f"{len(table)} steps appended, {windows} windows to compare with")
    _tell_thresholds(detector)


def report(bundle: Path, file: Path, out: Path) -> None:
    """Write a page about the alerts in a file."""
    detector = SeriesDetector.load(bundle)
    with warnings.catch_warnings():
        # The page says itself that a threshold is stale.
        warnings.simplefilter("ignore", ProcedureWarning)
        judged = judge_frame(detector, read_file(file))
    page = Page(f"Alerts in {file.name}", "What is far from everything normal, and why")
    page.add(*series_report(detector, judged))
    click.echo(f"{page.write(out)} written")


def _tell_thresholds(detector: SeriesDetector) -> None:
    for series, fitted in detector.fitted_.items():
        if len(detector.fitted_) > 1:
            click.echo(f"{series}:")
        tell_threshold(fitted.threshold, fitted.stale)
