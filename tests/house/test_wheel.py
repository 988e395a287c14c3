"""What a user installs is what lies in the rooms: every source, stub, marker and template."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("core", "forecasting", "anomaly", "recsys")
PACKAGING = ("pyproject.toml", "setup.cfg", "README.md", "LICENSE")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """A wheel built from a copy, so that nothing stale from an earlier build gets in."""
    source = tmp_path_factory.mktemp("source")
    for room in ROOMS:
        shutil.copytree(ROOT / room, source / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in PACKAGING:
        shutil.copy(ROOT / name, source / name)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", "."],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (source / "dist").glob("likewise-*-py3-none-any.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_every_file_of_the_rooms_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    on_disk = {
        f"likewise/{path.relative_to(ROOT).as_posix()}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    in_wheel = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert in_wheel == on_disk


def test_the_wheel_brings_the_command_and_its_chapters(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    text = wheel.read(name).decode()
    for expected in (
        "likewise = likewise.core.cli:main",
        "[likewise.commands]",
        "[likewise.chapters]",
    ):
        assert expected in text


def test_every_entry_point_of_the_wheel_names_a_module_it_holds(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    lines = [line for line in wheel.read(name).decode().splitlines() if "=" in line]
    modules = [line.split("=")[1].strip().partition(":")[0] for line in lines]
    paths = {f"{module.replace('.', '/')}.py" for module in modules}
    assert paths <= set(wheel.namelist())


def test_the_licence_travels_with_the_wheel(wheel: zipfile.ZipFile) -> None:
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
