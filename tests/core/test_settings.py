"""A settings file is checked to the last key, and every fault is told at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
import pytest
from click.testing import CliRunner
from likewise.core import SettingError, config_option, read_settings


class Search(msgspec.Struct, frozen=True):
    neighbours: int = 10
    metric: Literal["cosine", "dot"] = "cosine"


class Run(msgspec.Struct, frozen=True):
    horizon: int
    search: Search = Search()
    level: tuple[float, ...] = ()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.toml"


def refused(file: Path, content: str, table: tuple[str, ...] = ()) -> str:
    file.write_text(content)
    with pytest.raises(SettingError) as caught:
        read_settings(file, Run, table=table)
    return str(caught.value)


def test_a_file_fills_the_struct_and_leaves_its_defaults(file: Path) -> None:
    file.write_text("horizon = 24\nlevel = [80]\n[search]\nmetric = 'dot'\n")
    expected = Run(horizon=24, search=Search(metric="dot"), level=(80.0,))
    assert read_settings(file, Run) == expected


def test_one_table_of_a_file_is_read_and_the_others_are_left_alone(file: Path) -> None:
    file.write_text("[a]\nanything = 1\n[forecast.run]\nhorizon = 3\n")
    assert read_settings(file, Run, table=("forecast", "run")) == Run(horizon=3)


def test_every_fault_is_told_at_once_with_its_path(file: Path) -> None:
    shown = refused(
        file,
        "[run]\nhorizn = 1\nlevel = 'x'\n[run.search]\nneighbors = 3\nmetric = 'euclid'\n",
        table=("run",),
    )
    assert shown == "\n".join(
        [
            f"{file}: 5 faults:",
            "  - run.horizn: unknown key, perhaps horizon was meant; "
            "allowed are horizon, level, search",
            "  - run.level: expected `array`, got `str`, found 'x'",
            "  - run.search.neighbors: unknown key, perhaps neighbours was meant; "
            "allowed are metric, neighbours",
            "  - run.search.metric: expected one of cosine, dot, found 'euclid'",
            "  - run.horizon: missing, and it has no default",
        ]
    )


def test_a_missing_table_is_named_with_what_was_found(file: Path) -> None:
    assert "no table [run], found fun" in refused(file, "[fun]\n", table=("run",))
    assert "no table [run.deep], found horizon" in refused(
        file, "[run]\nhorizon = 1\n", table=("run", "deep")
    )


def test_a_file_that_is_not_toml_is_named_with_the_place(file: Path) -> None:
    assert re.search(r"settings\.toml: not a TOML file .*line 1", refused(file, "horizon 24"))


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(SettingError, match="cannot be read"):
        read_settings(file, Run)


# What a command's options allow in its table.


@click.command("probe")
@config_option
@click.option("--rows", type=click.IntRange(min=1, max=9), required=True)
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=0.5)
@click.option("--metric", type=click.Choice(["cosine", "dot"]), default="cosine")
@click.option("--tag", multiple=True)
@click.option("--quick/--thorough", default=False)
@click.option("--out", type=click.Path(path_type=Path), default=Path("out"))
@click.pass_context
def probe(ctx: click.Context, /, **_: object) -> None:
    ctx.obj.update(ctx.params)


@click.group()
def shell() -> None:
    pass


shell.add_command(probe)

FILE = """
[probe]
rows = 3
rate = 1
metric = "dot"
tag = ["a", "b"]
quick = true
out = "there"
"""


def invoke(file: Path, content: str, *flags: str) -> dict[str, Any]:
    file.write_text(content)
    seen: dict[str, Any] = {}
    arguments = ["probe", "--config", str(file), *flags]
    CliRunner().invoke(shell, arguments, obj=seen, catch_exceptions=False)
    return seen


def test_each_kind_of_option_is_filled_from_the_file(file: Path) -> None:
    assert invoke(file, FILE) == {
        "rows": 3,
        "rate": 1.0,
        "metric": "dot",
        "tag": ("a", "b"),
        "quick": True,
        "out": Path("there"),
    }


def test_flags_win_over_the_file(file: Path) -> None:
    seen = invoke(file, FILE, "--rows", "5", "--thorough", "--tag", "c")
    assert (seen["rows"], seen["quick"], seen["tag"]) == (5, False, ("c",))
    assert seen["metric"] == "dot"


def test_a_value_out_of_an_options_range_is_refused_by_file_and_key(file: Path) -> None:
    with pytest.raises(SettingError, match=r"(?s)probe\.rows: .*found 12.*probe\.rate: .*found 0"):
        invoke(file, "[probe]\nrows = 12\nrate = 0\n")


def test_a_value_of_another_type_is_refused_rather_than_converted(file: Path) -> None:
    with pytest.raises(SettingError, match=r"probe\.rows: expected `int`.*found '3'"):
        invoke(file, "[probe]\nrows = '3'\n")


def test_the_file_cannot_name_another_file(file: Path) -> None:
    with pytest.raises(SettingError, match=r"probe\.config: unknown key"):
        invoke(file, "[probe]\nrows = 3\nconfig = 'other.toml'\n")
