"""``likewise anomaly`` from files to a page."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result
from likewise.anomaly import SeriesDetector
from likewise.anomaly.cli import anomaly
from likewise.anomaly.window_parts import PARTS, UNLEARNED
from likewise.core import ColumnError, InputError

from tests.anomaly.planted import correlated_rows, long_frame, saw


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


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """A bundle of two series, and files to judge and to append."""
    frames = [long_frame(saw(500, seed), name) for seed, name in enumerate(("a", "b"))]
    pl.concat(frames).rename({"unique_id": "machine"}).write_csv(tmp_path / "normal.csv")
    values = saw(200, 5)
    values[120] += 4
    judged = long_frame(values, "a").rename({"unique_id": "machine"})
    judged.write_parquet(tmp_path / "new.parquet")
    judged.head(60).write_csv(tmp_path / "more.csv")
    run(tmp_path, "fit", "normal.csv", "bundle", "--id", "machine", "--time", "ds",
        "--lookback", "24", "--false-alarm-rate", "0.05")  # fmt: skip
    return tmp_path


def test_a_bundle_of_series_is_scored_with_its_evidence(series: Path) -> None:
    done = run(series, "score", "bundle", "new.parquet", "--out", "scores.parquet")
    assert "stretches alert in 200 steps" in done.output
    assert "23 steps have no score" in done.output
    assert "not a probability" in done.output
    assert "c0" in done.output
    scores = pl.read_parquet(series / "scores.parquet")
    assert scores.height == 200
    assert scores["alert"][120]


def test_an_encoder_of_series_is_trained_where_it_is_asked_for(series: Path) -> None:
    assert SeriesDetector.load(series / "bundle").parts == UNLEARNED
    other = series / "other"
    run(series, "fit", "normal.csv", str(other), "--id", "machine", "--time", "ds", "--pooled",
        "--lookback", "24", "--false-alarm-rate", "0.05", "--learned")  # fmt: skip
    assert SeriesDetector.load(other).parts == PARTS


def test_a_bundle_of_series_is_measured_without_the_file_it_was_fitted_on(series: Path) -> None:
    (series / "normal.csv").unlink()
    first = run(series, "register", "bundle")
    assert "Blind spots at a budget of 5.00%" in first.output
    assert "level shift" in first.output
    assert run(series, "register", "bundle").output == first.output
    assert "Blind spots" in run(series, "score", "bundle", "new.parquet").output


def test_later_stretches_are_appended_to_a_bundle_of_series(series: Path) -> None:
    done = run(series, "append", "bundle", "more.csv")
    assert "60 steps appended, 991 windows to compare with" in done.output
    kept = run(series, "append", "bundle", "more.csv", "--keep-threshold")
    assert "the threshold is stale" in kept.output


def test_a_page_about_series_is_written(series: Path) -> None:
    run(series, "report", "bundle", "new.parquet", "--out", "page.html")
    page = (series / "page.html").read_text("utf-8")
    assert "nearest normal windows" in page
    assert "No register was measured" in page


def test_options_of_the_other_kind_are_refused(files: Path) -> None:
    for wrong in (["--lookback", "24"], ["--pooled"], ["--time", "a", "--suspected-share", "0.1"]):
        done = run(files, "fit", "normal.csv", "bundle", *wrong)
        assert done.exit_code == 2
        assert "cannot be used here" in done.output


def test_suspected_rows_are_set_aside_and_told(files: Path) -> None:
    done = run(files, "fit", "normal.csv", "bundle", "--id", "id", "--suspected-share", "0.1",
               "--false-alarm-rate", "0.05", "--no-learned")  # fmt: skip
    assert "45 rows were set aside and 15 of them are doubted" in done.output
    assert "105 normal rows" in done.output
