"""The commands: files in, files out, refusals in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from likewise.core.cli import main

from tests.recsys.planted import checkerboard, left_out


@pytest.fixture
def events(tmp_path: Path) -> Path:
    checkerboard().write_parquet(tmp_path / "events.parquet")
    return tmp_path / "events.parquet"


def run(*words: object) -> str:
    result = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_fit_candidates_evaluate_and_related_work_on_files(events: Path, tmp_path: Path) -> None:
    bundle, out = tmp_path / "bundle", tmp_path / "candidates"
    assert "chosen" in run("recsys", "fit", events, "--out", bundle, "--tower", "none")
    told = run("recsys", "candidates", bundle, "--out", out, "-k", 3, "--shards", 4)
    assert "40 users (40 ok)" in told
    frame = checkerboard()
    wanted = frame.unique("user_id", maintain_order=True).select("user_id").to_series()
    test = frame.head(len(wanted)).with_columns(
        user_id=wanted,
        item_id=wanted.str.slice(1)
        .cast(int)
        .map_elements(lambda user: f"i{left_out(user):02d}", return_dtype=str),
    )
    test.write_parquet(tmp_path / "test.parquet")
    told = run(
        "recsys",
        "evaluate",
        out / "candidates",
        "--train",
        events,
        "--test",
        tmp_path / "test.parquet",
        "-k",
        1,
    )
    assert "recall" in told
    assert "1.000" in told
    assert "never shown" in told
    assert "i02" in run("recsys", "related", bundle, "i00", "--together", "-k", 20)


def test_a_refusal_is_one_sentence_and_exit_code_2(events: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    run("recsys", "fit", events, "--out", bundle, "--tower", "none", "--no-choose")
    result = CliRunner().invoke(main, ["recsys", "related", str(bundle), "nothing"])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert "never seen" in result.output
