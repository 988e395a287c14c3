"""``likewise forecast inspect``, ``similar``, ``extend`` and ``fresh``: look before trusting.

In: a bundle or a file of series. Out: tables and verdicts on the terminal, a page, a bundle that
has grown. Each command reads its options, calls the library once and prints.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("bundle", type=FOLDER)
@click.option("--neighbours", type=click.IntRange(1), default=10, show_default=True)
@click.option("--period", type=click.IntRange(2), multiple=True, help="Rows of one more cycle.")
@click.option("--report", type=FILE, help="Write a page, with neighbours drawn.")
def inspect(bundle: Path, neighbours: int, period: tuple[int, ...], report: Path | None) -> None:
    """Ask whether BUNDLE reads the clock, and which regimes it sees."""
    from ...core import Page, Table
    from ..retrieval import RetrievalForecaster
    from .clock import check_clock
    from .pages import clock_blocks, neighbour_blocks, regime_blocks
    from .regimes import find_regimes

    model = RetrievalForecaster.load(bundle)
    cycles = {f"{rows} rows": rows for rows in period}
    check = check_clock(model, neighbours=neighbours, periods=cycles)
    shown = check.table.select("unit", "share", "shape", "chance", "clock")
    click.echo(Table(shown.columns, shown.rows()).as_text())
    click.echo(check.verdict)
    regimes = find_regimes(model)
    click.echo(
        f"{len(regimes.centres)} regimes, adjusted Rand index between seeds {regimes.stability:.2f}"
    )
    if report:
        blocks = [*clock_blocks(check), *regime_blocks(regimes), *neighbour_blocks(model)]
        click.echo(f"{Page(f'Inside {bundle.name}').add(*blocks).write(report)} written")


@click.command()
@click.argument("file", type=FILE)
@click.option("--series", required=True, help="Where the stretch is cut from.")
@click.option("--start", required=True, help="Time of its first row.")
@click.option("--rows", type=click.IntRange(3), required=True, help="How many rows it has.")
@click.option("-k", type=click.IntRange(1), default=10, show_default=True, help="How many.")
@click.option("--time", help="Column of times of a wide file.")
@click.option("--freq", help="Step of time (h, 15min, D, MS, 1 ...); read if left out.")
def similar(
    file: Path, series: str, start: str, rows: int, k: int, time: str | None, freq: str | None
) -> None:
    """Find where else in FILE it looked like one stretch of it."""
    import polars as pl

    from ...core import Table
    from ..files import read_file
    from .similar import cut_stretch, find_similar

    step: Any = int(freq) if freq is not None and freq.isdigit() else freq
    panel = read_file(file, time=time, freq=step, gaps="missing")
    name = next((known for known in panel.ids if str(known) == series), series)
    stamp = int(start) if panel.freq.is_integer and start.isdigit() else start
    found = find_similar(panel, cut_stretch(panel, name, stamp, rows), k)
    told = found.with_columns(pl.col(found.columns[1], "end").cast(pl.String))
    click.echo(Table(told.columns, told.rows()).as_text())


@click.command()
@click.argument("bundle", type=FOLDER)
@click.argument("file", type=FILE)
@click.option("--time", help="Column of times of a wide file.")
def extend(bundle: Path, file: Path, time: str | None) -> None:
    """Append the rows of FILE, which lie behind those BUNDLE knows; nothing is encoded again."""
    from ..files import read_file
    from ..living import extend as run
    from ..retrieval import RetrievalForecaster

    model = RetrievalForecaster.load(bundle)
    panel = read_file(file, time=time, freq=model.panel_.freq, gaps=model.gaps)
    before = len(model.index_)
    run(model, panel.to_frame()).save(bundle)
    click.echo(f"{bundle} written: {len(model.index_) - before:,} continuations more")


@click.command()
@click.argument("bundle", type=FOLDER)
@click.pass_context
def fresh(context: click.Context, bundle: Path) -> None:
    """Say whether what BUNDLE learned still holds; exits with 1 when it is stale."""
    from ...core import Table
    from ..living import check_freshness
    from ..retrieval import RetrievalForecaster

    found = check_freshness(RetrievalForecaster.load(bundle))
    shown = found.verdict.table().select("name", "value", "frozen", "limit", "ok")
    click.echo(Table(shown.columns, shown.rows()).as_text())
    click.echo(f"{found.advice}: {found.reason}")
    context.exit(int(found.stale))
