"""The shell: what it finds, how it fails, and what it says when it does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.metadata import EntryPoint, version
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from likewise.core import (
    Chapter,
    ColumnError,
    ProcedureWarning,
    Progress,
    Table,
    Text,
    cli,
    config_option,
)

Run = Callable[..., Result]


@click.command()
@config_option
@click.option("--horizon", type=click.IntRange(min=1), default=1)
@click.option("--level", type=float, multiple=True)
def ahead(horizon: int, level: tuple[float, ...]) -> None:
    """Say what was asked."""
    click.echo(f"horizon {horizon}, level {level}")


@click.command()
@click.argument("how")
def fail(how: str) -> None:
    """Fail on request."""
    if how == "warned":
        warnings.warn("the last window is short", ProcedureWarning, stacklevel=1)
        return
    if how == "foreseen":
        raise ColumnError("frame: no column 'y', found 'Y'; rename it")
    raise ZeroDivisionError("by nought")


def tell(progress: Progress) -> Chapter:
    table = Table(["model", "error"], [[name, 0.5] for name in progress(["ours"], "telling")])
    return Chapter("A chapter", (Text("Its <first> block."), table), table.as_text())


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the shell with the entry points named as ``group/name=attribute``."""

    def call(*arguments: str, exits: int, points: tuple[str, ...] = ()) -> Result:
        found = []
        for line in points:
            where, _, attribute = line.partition("=")
            group, name = where.split("/")
            value = attribute if ":" in attribute else f"{__name__}:{attribute}"
            found.append(EntryPoint(name, value, f"likewise.{group}"))
        monkeypatch.setattr(
            cli, "entry_points", lambda group: [point for point in found if point.group == group]
        )
        result = CliRunner().invoke(cli.main, arguments, prog_name="likewise")
        assert result.exit_code == exits, result.output
        return result

    return call


FAIL = ("commands/fail=fail",)
AHEAD = ("commands/ahead=ahead",)


def test_help_lists_each_command_with_its_line(run: Run) -> None:
    shown = run("--help", exits=0, points=(*FAIL, *AHEAD)).stdout
    assert [line.split(maxsplit=1) for line in shown.split("Commands:\n")[1].splitlines()[:5]] == [
        ["check", "Verify a bundle's files, and its index against its frozen probes."],
        ["demo", "Show what each application does, on public data, in one page."],
        ["inspect", "Say what a bundle is, and list what it holds."],
        ["ahead", "Say what was asked."],
        ["fail", "Fail on request."],
    ]


def test_the_version_is_that_of_the_package(run: Run) -> None:
    assert run("--version", exits=0).stdout == f"likewise {version('likewise')}\n"


def test_a_broken_command_is_named_and_the_help_stands(run: Run) -> None:
    result = run("--help", exits=0, points=(*FAIL, "commands/broken=no.such.module:command"))
    assert "fail" in result.stdout
    assert "broken" not in result.stdout
    (line,) = result.stderr.splitlines()
    assert line.startswith("likewise: warning: likewise.commands 'broken'")
    assert "ModuleNotFoundError" in line


def test_a_command_that_is_not_one_is_named(run: Run) -> None:
    result = run("--help", exits=0, points=("commands/tale=tell",))
    assert "'tale'" in result.stderr
    assert "a function, not a command" in result.stderr


def test_no_package_can_take_the_name_of_our_own_command(run: Run) -> None:
    shown = run("--help", exits=0, points=("commands/demo=fail",)).stdout
    assert "Fail on request." not in shown
    assert shown.count("demo ") == 1


def test_a_foreseen_error_is_one_sentence_and_code_2(run: Run) -> None:
    result = run("fail", "foreseen", exits=2, points=FAIL)
    assert result.stderr == "likewise: error: frame: no column 'y', found 'Y'; rename it\n"
    assert result.stdout == ""


def test_another_error_is_its_type_and_message_and_code_1(run: Run) -> None:
    first, hint = run("fail", "otherwise", exits=1, points=FAIL).stderr.splitlines()
    assert first == "likewise: error: ZeroDivisionError: by nought"
    assert "--debug" in hint


@pytest.mark.parametrize(("how", "code"), [("foreseen", 2), ("otherwise", 1)])
def test_debug_shows_the_traceback_and_keeps_the_code(run: Run, how: str, code: int) -> None:
    shown = run("--debug", "fail", how, exits=code, points=FAIL).stderr
    assert shown.startswith("Traceback")
    assert "test_cli.py" in shown
    assert shown.splitlines()[-1].startswith("likewise: error: ")


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line_that_says_what_it_is(run: Run) -> None:
    shown = run("fail", "warned", exits=0, points=FAIL).stderr
    assert shown == "likewise: warning: the last window is short [ProcedureWarning]\n"


def test_an_unknown_command_is_a_usage_error(run: Run) -> None:
    assert "nope" in run("nope", exits=2).stderr


def test_a_settings_file_fills_what_the_flags_leave_open(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[ahead]\nhorizon = 24\nlevel = [80, 95]\n")
    plain = run("ahead", "--config", str(file), exits=0, points=AHEAD).stdout
    assert plain == "horizon 24, level (80.0, 95.0)\n"
    flagged = run("ahead", "--horizon", "3", "--config", str(file), exits=0, points=AHEAD).stdout
    assert flagged == "horizon 3, level (80.0, 95.0)\n"


def test_an_unknown_key_is_refused_with_file_key_and_what_is_allowed(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[ahead]\nhorizn = 24\n")
    shown = run("ahead", "--config", str(file), exits=2, points=AHEAD).stderr
    assert shown == (
        f"likewise: error: {file}: ahead.horizn: unknown key, perhaps horizon was meant; "
        "allowed are horizon, level\n"
    )


def test_the_demo_binds_the_chapters_into_one_page(run: Run, tmp_path: Path) -> None:
    points = ("chapters/b=tell", "chapters/a=no.such.module:tell")
    result = run("demo", "--out", str(tmp_path / "new"), exits=0, points=points)
    page = (tmp_path / "new" / "report.html").read_text("utf-8")
    assert "Its &lt;first&gt; block." in page
    assert "The chapter <code>a</code> could not be loaded." in page
    assert "ours   0.500" in result.stdout
    assert str(tmp_path / "new" / "report.html") in result.stdout.splitlines()[-1]
    assert "'a'" in result.stderr


def test_a_demo_without_chapters_is_an_error_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    result = run("demo", "--out", str(tmp_path / "new"), exits=2)
    assert "no chapter" in result.stderr
    assert not (tmp_path / "new").exists()
