"""Help costs nothing heavy: no learning, frame or search library is imported to print it."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "faiss", "implicit", "jinja2", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "pyod",
    "scipy", "sklearn", "torch", "tsaug",
}  # fmt: skip
RUN = """
import sys
from likewise.core.cli import main
try:
    main({arguments!r}, prog_name="likewise")
except SystemExit as leave:
    assert leave.code in (0, None), leave.code
print("\\n".join(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["demo", "--help"], ["check", "--help"], ["forecast", "--help"]],
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(arguments=arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert HEAVY & set(done.stderr.split()) == set()
    assert done.stdout


@pytest.mark.parametrize("room", ["core", "forecasting", "anomaly", "recsys"])
def test_importing_a_room_imports_nothing_heavy(room: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, likewise.{room}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert HEAVY & set(done.stdout.split()) == set()
