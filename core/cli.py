"""The ``likewise`` command: a shell with three commands of its own and room for more.

``demo`` binds the chapters of all applications; ``inspect`` and ``check`` look into any bundle. All
further commands are found through the entry-point group ``likewise.commands`` and chapters of the
demonstration through ``likewise.chapters``, so core imports no application and another package can
add to both. Help must stay quick: a command module imports click and nothing heavy at its top.
Errors raised on purpose end in one sentence and exit code 2, all others in one line and code 1; a
guard of ``check`` that fails gives code 3.
"""

from __future__ import annotations

import errno
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import IO, Any, TextIO

import click

from .errors import LikewiseError

COMMANDS = "likewise.commands"
CHAPTERS = "likewise.chapters"
GUARD_FAILED = 3


class Shell(click.Group):
    """A group whose commands are entry points, loaded when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, those of entry points after our own."""
        own = super().list_commands(ctx)
        return [*own, *(point.name for point in find(COMMANDS) if point.name not in own)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command by that name; None, with a warning on stderr, when it cannot be used."""
        if own := super().get_command(ctx, cmd_name):
            return own
        for point in find(COMMANDS):
            if point.name == cmd_name:
                command: click.Command | None = load(point, "command", _is_command)
                return command
        return None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn what it raises into a sentence and an exit code."""
        debug = ctx.params["debug"]
        try:
            with _warnings_as_lines(debug):
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except LikewiseError as error:
            raise Refusal(error, str(error), debug=debug) from error
        except Exception as error:
            # A reader that went away (`likewise … | head`) is click's to end quietly.
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            raise Surprise(error, f"{type(error).__name__}: {error}", debug=debug) from error


class Refusal(click.ClickException):
    """An error the library raised on purpose: its sentence is all a reader needs."""

    exit_code = 2

    def __init__(self, error: Exception, message: str, *, debug: bool) -> None:
        super().__init__(message)
        self.error, self.debug = error, debug

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the sentence; the traceback only when it was asked for."""
        if self.debug:
            traceback.print_exception(self.error, file=file)
        tell(f"error: {self.message}")


class Surprise(Refusal):
    """Any other exception: its type and message, and how to see where it happened."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Print type and message, and point to ``--debug``."""
        super().show(file)
        if not self.debug:
            tell("this was not foreseen; `likewise --debug …` shows where it happened")


@click.group(
    cls=Shell,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`likewise COMMAND --help` tells more about one command.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="likewise", prog_name="likewise", message="%(prog)s %(version)s")
def main(debug: bool) -> None:
    """Forecast, detect and recommend by what came before, and show it."""


@main.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("likewise-demo"),
    show_default=True,
    help="Folder for report.html.",
)
def demo(out: Path) -> None:
    """Show what each application does, on public data, in one page."""
    from .page.blocks import Heading, Note
    from .page.report import Page
    from .shell.progress import track

    started = time.perf_counter()
    page = Page("By what came before", "What likewise does on public data, and what it leans on")
    told = 0
    for point in find(CHAPTERS):
        teller = load(point, "function", callable)
        if teller is None:
            page.add(Note(f"The chapter `{point.name}` could not be loaded.", tone="warning"))
            continue
        chapter = teller(track)
        told += 1
        page.add(Heading(chapter.title, level=1), *chapter.blocks)
        click.echo(f"{chapter.title}\n\n{chapter.printed}\n")
    if not told:
        raise LikewiseError(
            f"demo: no chapter could be loaded from the entry-point group {CHAPTERS!r}; "
            "install likewise again with its demo extra"
        )
    path = page.write(out / "report.html")
    click.echo(f"{path} written in {time.perf_counter() - started:.0f} s")


_bundle = click.argument("bundle", type=click.Path(exists=True, file_okay=False, path_type=Path))


@main.command()
@_bundle
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page, with the audit of mined negatives where the bundle has one.",
)
def inspect(bundle: Path, report: Path | None) -> None:
    """Say what a bundle is, and list what it holds."""
    from .monitoring.inspection import inspect_bundle, inspection_page

    found = inspect_bundle(bundle)
    for name, value in found.facts().shown:
        click.echo(f"{name:<12}  {value}")
    click.echo(f"\n{found.table().as_text()}")
    if report:
        click.echo(f"\n{inspection_page(bundle, found).write(report)} written")


@main.command()
@_bundle
@click.option(
    "--queries",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Recent vectors of the encoder, a .npy file [Q, D]; without it the frozen probes.",
)
@click.pass_context
def check(context: click.Context, bundle: Path, queries: Path | None) -> None:
    """Verify a bundle's files, and its index against its frozen probes.

    Exits with 0 when every guard holds, with 3 when one fails, with 2 when the bundle is damaged.
    """
    from .monitoring.inspection import check_bundle, read_vectors
    from .page.blocks import Table

    recent = None if queries is None else read_vectors(queries)
    verdict = check_bundle(bundle, queries=recent)
    rows = [[one.name, "holds" if one.ok else "FAILS", one.finding] for one in verdict.checks]
    click.echo(Table(["guard", "verdict", "finding"], rows).as_text())
    if verdict.probes == 0:
        click.echo("\nno probe set in this bundle: only its files could be checked")
    if not verdict.ok:
        context.exit(GUARD_FAILED)


def find(group: str) -> list[EntryPoint]:
    """The entry points of a group, each name once, in a fixed order."""
    found = sorted(entry_points(group=group), key=lambda point: (point.name, point.value))
    return list({point.name: point for point in reversed(found)}.values())[::-1]


def load(point: EntryPoint, wanted: str, accept: Callable[[object], bool]) -> Any:
    """What an entry point refers to; None, with a warning on stderr, when it cannot be used."""
    try:
        loaded = point.load()
    except Exception as error:
        fault = f"{type(error).__name__}: {error}"
    else:
        if accept(loaded):
            return loaded
        fault = f"a {type(loaded).__name__}, not a {wanted}"
    origin = point.dist.name if point.dist else "an unknown package"
    tell(f"warning: {point.group} {point.name!r} of {origin} cannot be used ({fault})")
    return None


def _is_command(loaded: object) -> bool:
    return isinstance(loaded, click.Command)


def tell(line: str) -> None:
    """Print a line to stderr in the shell's name."""
    click.echo(f"likewise: {line}", err=True)


@contextmanager
def _warnings_as_lines(debug: bool) -> Iterator[None]:
    """Show a warning as what it says; where in the code it arose matters only to ``--debug``."""
    with warnings.catch_warnings():
        if not debug:
            warnings.showwarning = _tell_warning
        yield


def _tell_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,  # noqa: ARG001 - the signature is Python's
    lineno: int,  # noqa: ARG001
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    tell(f"warning: {message} [{category.__name__}]")


if __name__ == "__main__":
    sys.exit(main())
