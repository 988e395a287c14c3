"""What the README tells a newcomer to type is what the project itself types."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8").replace("$(bin)", ".venv/bin")
CI = (ROOT / ".ci" / "run").read_text("utf-8").replace('"$venv"', ".venv")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def commands(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines() if line.strip()}


def test_every_make_target_the_readme_names_exists() -> None:
    named = set(re.findall(r"^make (\w+)$|`make (\w+)`", README, flags=re.MULTILINE))
    names = {block or inline for block, inline in named}
    targets = set(re.findall(r"^(\w+):", MAKEFILE, flags=re.MULTILINE))
    assert {"demo", "test"} <= names <= targets


def test_the_spelled_out_commands_are_those_of_make() -> None:
    spelled = commands(blocks("console")[1])
    recipes = commands(MAKEFILE.replace("$(PYTHON)", "python3"))
    assert spelled <= recipes


@pytest.mark.parametrize("command", [".venv/bin/python -m pytest"])
def test_ci_runs_the_readmes_test_command(command: str) -> None:
    assert command in commands(README)
    assert command in commands(CI)


def test_ci_installs_what_the_readme_installs() -> None:
    (install,) = (line for line in commands(README) if "pip install" in line)
    assert install in commands(CI.replace(" --quiet", ""))


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks("python")
    exec(compile(example, "README.md", "exec"), {"__name__": "readme"})
    assert "roof" in capsys.readouterr().out


def test_every_folder_and_file_the_readme_names_is_there() -> None:
    folders = re.findall(r"^\| `([\w/]+/)`", README, flags=re.MULTILINE)
    files = re.findall(r"\]\(([\w./]+)\)", README)
    assert len(folders) >= 4
    assert [name for name in (*folders, *files) if not (ROOT / name).exists()] == []
