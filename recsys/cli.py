"""The ``likewise recsys`` commands: fit, candidates, evaluate, related.

Files in, files out: events and items come as Parquet or CSV, a fitted generator is a folder,
candidates are Parquet. What a command does is in the module it imports when it runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import polars as pl

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
ANY = click.Path(exists=True, path_type=Path)


@click.group()
def recsys() -> None:
    """Propose to each user the items a ranker should look at."""


@recsys.command()
@click.argument("events", type=FILE)
@click.option("--items", type=FILE, help="Table of items with item_id and content.")
@click.option("--out", type=FOLDER, required=True, help="Folder of the fitted generator.")
@click.option("--user-column", default="user_id", show_default=True)
@click.option("--item-column", default="item_id", show_default=True)
@click.option("--time-column", default="datetime", show_default=True)
@click.option("--weight-column", default="weight", show_default=True)
@click.option(
    "--tower", type=click.Choice(["bag", "sequence", "none"]), default="bag", show_default=True
)
@click.option("--epochs", type=click.IntRange(min=1), default=8, show_default=True)
@click.option("--width", type=click.IntRange(min=2), default=128, show_default=True)
@click.option(
    "--choose/--no-choose",
    default=True,
    show_default=True,
    help="Choose exponents and weights on a part held back.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def fit(
    events: Path,
    items: Path | None,
    out: Path,
    user_column: str,
    item_column: str,
    time_column: str,
    weight_column: str,
    tower: str,
    epochs: int,
    width: int,
    choose: bool,
    seed: int,
) -> None:
    """Fit a generator on EVENTS (Parquet or CSV) and save it as a folder."""
    from ..core import track
    from .generator import CandidateGenerator
    from .interactions import Interactions
    from .tower_settings import TowerSettings
    from .tuning import choose_settings

    columns = {
        "user_id": user_column,
        "item_id": item_column,
        "datetime": time_column,
        "weight": weight_column,
    }
    table = _read(events)
    kind: Any = tower
    learned = None if tower == "none" else TowerSettings(kind=kind, epochs=epochs, width=width)
    chosen: dict[str, Any] = {}
    if choose:
        known = Interactions.read(table, columns=columns)
        choice = choose_settings(known, tower=learned, seed=seed, progress=track)
        click.echo(choice.as_text())
        chosen = choice.apply()
    generator = CandidateGenerator(seed=seed, tower=learned, **chosen)
    generator.fit(table, None if items is None else _read(items), columns=columns, progress=track)
    generator.save(out)
    click.echo(f"{generator.interactions_!r} -> {out} ({generator.fingerprint[:12]}…)")


@recsys.command()
@click.argument("bundle", type=ANY)
@click.option(
    "--out", type=FOLDER, required=True, help="Folder of the job; taken up where it was left."
)
@click.option("--histories", type=FILE, help="Parquet of events; its users are answered by them.")
@click.option(
    "-k", type=click.IntRange(min=1), default=100, show_default=True, help="Candidates a user."
)
@click.option("--shards", type=click.IntRange(min=1), default=64, show_default=True)
@click.option(
    "--exclude", type=FILE, help="Table of item_id (or user_id, item_id) not to be shown."
)
def candidates(
    bundle: Path, out: Path, histories: Path | None, k: int, shards: int, exclude: Path | None
) -> None:
    """Write the candidates of all users of BUNDLE, shard by shard."""
    from ..core import track
    from .generator import CandidateGenerator
    from .job import JobSettings, run_job

    manifest = run_job(
        CandidateGenerator.load(bundle),
        out,
        histories=histories,
        settings=JobSettings(k=k, shards=shards),
        exclude=None if exclude is None else _read(exclude),
        progress=track,
    )
    told = ", ".join(f"{count} {status}" for status, count in manifest.statuses.items())
    click.echo(
        f"{manifest.candidates} candidates for {manifest.users} users ({told}); "
        f"fill rate {manifest.fill_rate:.3f} -> {out}"
    )


@recsys.command()
@click.argument("exported", type=ANY)
@click.option("--train", type=FILE, required=True, help="Events that were known.")
@click.option("--test", type=FILE, required=True, help="Events to be found.")
@click.option(
    "-k", "ks", type=click.IntRange(min=1), multiple=True, default=(20, 100), show_default=True
)
@click.option(
    "--most-bestsellers",
    type=click.FloatRange(0, 1),
    help="Fail when lists hold a larger share of best sellers.",
)
def evaluate(
    exported: Path, train: Path, test: Path, ks: tuple[int, ...], most_bestsellers: float | None
) -> None:
    """Judge EXPORTED candidates (file or folder of a job) by what users took next."""
    from ..core import Table
    from .evaluation import evaluate as judge
    from .exposure import LIMITS, sensitivity_curve

    known, wanted = _read(train), _read(test)
    judged = [judge(exported, wanted, train=known, k=k) for k in ks]
    names = list(judged[0].summary)
    rows = [[name, *(one.summary[name] for one in judged)] for name in names]
    rows.append(["recall, low", *(one.interval().low for one in judged)])
    rows.append(["recall, high", *(one.interval().high for one in judged)])
    click.echo(Table(["measure", *(f"at {k}" for k in ks)], rows).as_text())
    curve = sensitivity_curve(exported, wanted, train=known, k=max(ks))
    click.echo("\nrecall had exposure been equal, for propensities users^exponent")
    shown = [[point.exponent, point.recall, round(point.effective)] for point in curve]
    click.echo(Table(["exponent", f"recall at {max(ks)}", "effective events"], shown).as_text())
    click.echo(LIMITS)
    if most_bestsellers is not None:
        judged[-1].spread.require_own_taste(most_bestsellers)


@recsys.command()
@click.argument("bundle", type=ANY)
@click.argument("items", nargs=-1, required=True)
@click.option("-k", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--together", is_flag=True, help="Items taken together instead of items alike.")
def related(bundle: Path, items: tuple[str, ...], k: int, together: bool) -> None:
    """Print the items of BUNDLE related to ITEMS."""
    from ..core import Table
    from .events import to_polars
    from .generator import CandidateGenerator

    generator = CandidateGenerator.load(bundle)
    text = (
        generator.interactions_.items.ids.dtype == generator.interactions_.items.ids.cast(str).dtype
    )
    asked: list[Any] = list(items) if text else [int(one) for one in items]
    frame = generator.complementary(asked, k) if together else generator.related(asked, k)
    table = to_polars(frame)
    click.echo(Table(table.columns, table.rows()).as_text())


def _read(path: Path) -> pl.DataFrame:
    import polars as pl

    from ..core import InputError

    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return pl.read_parquet(path)
    if suffix in {".csv", ".gz"}:
        return pl.read_csv(path, try_parse_dates=True)
    raise InputError(f"{path} is neither .parquet nor .csv; convert it to one of them")
