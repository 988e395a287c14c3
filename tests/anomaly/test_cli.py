"""``likewise anomaly`` from files to a page."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result
from likewise.anomaly.cli import anomaly
from likewise.core import ColumnError, InputError

from tests.anomaly.planted import correlated_rows


@pytest.fixture
def files(tmp_path: Path) -> Path:
    names = ["a", "b", "c", "d"]
    rows = correlated_rows(150)
    normal = pl.DataFrame(rows, schema=names).with_row_index("id")
    normal.write_csv(tmp_path / "normal.csv")
    odd = pl.DataFrame([[0.1, 0.1, 0.1, 0.1], [40.0, 1.0, 1.0, 1.0]], schema=names, orient="row")
    odd.with_columns(id=pl.Series(["fine", "odd"])).write_parquet(tmp_path / "new.parquet")
    more = correlated_rows(30, seed=5) + 15
    pl.DataFrame(more, schema=names).with_row_index("id", offset=1000).write_csv(
        tmp_path / "more.csv"
    )
    run(tmp_path, "fit", "normal.csv", "bundle", "--id", "id", "--false-alarm-rate", "0.05",
        "--no-learned")  # fmt: skip
    return tmp_path


def run(folder: Path, command: str, *arguments: str) -> Result:
    placed = [
        str(folder / a) if a.endswith((".csv", ".parquet", ".html")) or a == "bundle" else a
        for a in arguments
    ]
    return CliRunner().invoke(anomaly, [command, *placed], catch_exceptions=False)


def test_scores_are_written_and_alerts_told_with_their_evidence(files: Path) -> None:
    done = run(files, "score", "bundle", "new.parquet", "--id", "id", "--out", "scores.csv")
    assert "1 of 2 rows alert" in done.output
    assert "a 40 (usual" in done.output
    assert "not a probability" in done.output
    assert "was not measured" in done.output
    scores = pl.read_csv(files / "scores.csv")
    assert scores["row"].to_list() == ["fine", "odd"]
    assert scores["alert"].to_list() == [False, True]


def test_the_register_is_measured_kept_and_told_with_alerts(files: Path) -> None:
    first = run(files, "register", "bundle")
    assert "Blind spots at a budget of 5.00%" in first.output
    assert "broken dependency" in first.output
    assert run(files, "register", "bundle").output == first.output
    assert "Blind spots" in run(files, "score", "bundle", "new.parquet", "--id", "id").output


def test_new_normals_are_appended_and_the_threshold_set_again(files: Path) -> None:
    done = run(files, "append", "bundle", "more.csv", "--id", "id")
    assert "30 rows appended, 180 in the reference set" in done.output
    rows = pl.read_csv(files / "more.csv").with_columns(pl.col("id") + 500)
    rows.write_csv(files / "again.csv")
    kept = run(files, "append", "bundle", "again.csv", "--id", "id", "--keep-threshold")
    assert "stale" in kept.output
    with pytest.raises(InputError, match="ids of one kind"):
        run(files, "append", "bundle", "new.parquet", "--id", "id")


def test_a_page_is_written(files: Path) -> None:
    done = run(files, "report", "bundle", "new.parquet", "--id", "id", "--out", "page.html")
    assert "written" in done.output
    page = (files / "page.html").read_text("utf-8")
    assert "No register was measured" in page
    assert "differs most" in page


def test_wrong_files_and_columns_are_named(files: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        run(files, "score", "bundle", "absent.csv")
    with pytest.raises(ColumnError, match="no column 'name'"):
        run(files, "score", "bundle", "more.csv", "--id", "name")
