"""Every example runs to its end, and prints what its docstring says it prints."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(example: Path, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(example)],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_numbers(text: str) -> list[str]:
    return re.sub(r"-?\d+(\.\d+)?%?", "#", text).split()


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_to_its_end(example: Path, tmp_path: Path) -> None:
    assert run(example, tmp_path)


@pytest.mark.slow
def test_the_core_alone_prints_what_it_says(tmp_path: Path) -> None:
    example = ROOT / "examples" / "core_digits.py"
    told = ast.get_docstring(ast.parse(example.read_text("utf-8")))
    assert told is not None
    expected = told.split("::\n\n")[1].split("\n\n")[0]
    assert without_numbers(run(example, tmp_path)) == without_numbers(expected)
