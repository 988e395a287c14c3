from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from likewise.core import Page, ProcedureWarning, SettingError, TooFewRows
from likewise.forecasting import (
    DirectRidge,
    Origins,
    Repeat,
    RetrievalForecaster,
    TowerSettings,
    backtest,
    check_clock,
    find_regimes,
)
from likewise.forecasting.cli import forecast
from likewise.forecasting.inspection import clock_blocks, neighbour_blocks, regime_blocks
from likewise.forecasting.report import backtest_blocks
from sklearn.metrics import adjusted_rand_score

from tests.forecasting.planted import HORIZON, LOOKBACK, learned_model, long_frame, wave


def faint_hours(rows: int = 2400) -> pl.DataFrame:
    """What comes next hangs on a quick wave that breaks at any hour; the hour is a faint mark."""
    generator = np.random.default_rng(0)
    breaks = np.where(generator.random(rows) < 1 / 25, generator.uniform(0, 2 * np.pi, rows), 0.0)
    time = np.arange(rows)
    quick = np.sin(2 * np.pi * time / 5 + np.cumsum(breaks))
    values = quick + 0.25 * np.sin(2 * np.pi * time / 24) + 0.1 * generator.normal(size=rows)
    first = pl.datetime(2023, 1, 1)
    stamps = pl.datetime_range(first, first + pl.duration(hours=rows - 1), "1h", eager=True)
    return pl.DataFrame({"unique_id": "a", "ds": stamps, "y": values})


def trained_on(pairs: Any) -> RetrievalForecaster:
    towers = TowerSettings(steps=150, width=8, hidden=(32,))
    return RetrievalForecaster(10, 30, embedding="learned", pairs=pairs, towers=towers).fit(
        faint_hours()
    )


@pytest.fixture(scope="module")
def clocked() -> RetrievalForecaster:
    with pytest.warns(ProcedureWarning, match="what time it is"):
        return trained_on("adjacency")


def test_a_model_of_adjacent_windows_is_caught_reading_the_clock(
    clocked: RetrievalForecaster,
) -> None:
    check = check_clock(clocked)
    assert not check.ok
    assert "reads the clock: hour" in check.verdict
    row = check.table.row(by_predicate=pl.col("unit") == "hour", named=True)
    assert row["share"] > row["shape"] + 0.1 > row["chance"] + 0.1
    assert check.table.filter(unit="weekday")["clock"].item() is False


def test_a_model_of_continuations_is_not_accused_in_the_same_world() -> None:
    check = check_clock(trained_on("continuation"))
    assert check.ok
    assert check.verdict == "neighbours share the calendar no more than their shape explains"


def test_raw_windows_share_what_shape_explains() -> None:
    model = RetrievalForecaster(10, 30, embedding="raw").fit(faint_hours())
    check = check_clock(model, asked=100)
    assert check.ok
    assert check.table["excess"].abs().max() < 0.02


def test_counted_time_needs_a_period(learned: RetrievalForecaster) -> None:
    with pytest.raises(SettingError, match="pass periods="):
        check_clock(learned)
    with pytest.raises(SettingError, match="at least 2 rows"):
        check_clock(learned, periods={"day": 1})
    check = check_clock(learned, periods={"season": 12}, asked=60)
    assert check.table["unit"].to_list() == ["season"]
    assert check.table["chance"].item() == pytest.approx(1 / 12, abs=0.02)


def test_a_history_of_overlapping_windows_cannot_be_checked(learned: RetrievalForecaster) -> None:
    with pytest.raises(TooFewRows, match="needs a longer history"):
        check_clock(learned, periods={"season": 12}, neighbours=200)


def two_regimes(rows: int = 600) -> tuple[pl.DataFrame, np.ndarray]:
    """Up for 150 rows, then down for as many."""
    time = np.arange(rows)
    down = time // 150 % 2 == 1
    noise = 0.1 * np.random.default_rng(0).normal(size=rows)
    return long_frame({"a": (0, np.cumsum(np.where(down, -0.2, 0.2)) + noise)}), down


def test_planted_regimes_are_found_stable_and_become_a_column() -> None:
    frame, down = two_regimes()
    model = RetrievalForecaster(HORIZON, 8, embedding="raw").fit(frame)
    regimes = find_regimes(model, [2])
    assert regimes.stable
    table = regimes.to_frame()
    assert table.columns == ["unique_id", "ds", "regime"]
    pure = table.filter(pl.col("ds") % 150 >= 8)
    assert adjusted_rand_score(down[pure["ds"].to_numpy()], pure["regime"].to_numpy()) > 0.9
    counts = np.bincount(regimes.labels)
    assert (np.diff(counts) <= 0).all()


def test_labels_look_at_the_past_alone() -> None:
    # case forecasting#1
    frame, _ = two_regimes()
    model = RetrievalForecaster(HORIZON, 8, embedding="raw").fit(frame)
    regimes = find_regimes(model, [2, 3])
    windows = model.index_.windows
    rows = np.arange(0, len(windows), 7)
    origins = Origins(windows.series_of(rows), windows.origin_steps(rows))
    assert np.array_equal(regimes.label(model.panel_, origins), regimes.labels[rows])
    assert np.array_equal(
        regimes.label(model.panel_.until(300), origins[origins.steps <= 300]),
        regimes.labels[rows][origins.steps <= 300],
    )


def test_the_largest_stable_number_is_taken_and_trials_are_shown() -> None:
    frame, _ = two_regimes()
    model = RetrievalForecaster(HORIZON, 8, embedding="raw").fit(frame)
    regimes = find_regimes(model, [2, 3, 4], seeds=3)
    stable = regimes.trials.filter(pl.col("stability") >= 0.9)["regimes"]
    assert len(regimes.centres) == stable.max()
    assert regimes.trials["regimes"].to_list() == [2, 3, 4]
    again = find_regimes(model, [2, 3, 4], seeds=3)
    assert np.array_equal(again.labels, regimes.labels)


def test_regimes_that_cannot_be_are_refused(learned: RetrievalForecaster) -> None:
    with pytest.raises(SettingError, match="start at 2"):
        find_regimes(learned, [1])
    with pytest.raises(TooFewRows, match="too few for 90 regimes"):
        find_regimes(learned, [90])


def test_a_page_shows_the_clock_the_regimes_and_neighbours(
    clocked: RetrievalForecaster, tmp_path: Path
) -> None:
    blocks = [
        *clock_blocks(check_clock(clocked, asked=50)),
        *regime_blocks(find_regimes(clocked, [2, 3], seeds=2)),
        *neighbour_blocks(clocked, 2),
    ]
    text = Page("Inside").add(*blocks).write(tmp_path / "page.html").read_text()
    assert "Does the embedding read the clock?" in text
    assert "adjusted Rand index" in text
    assert text.count("was reminded of") >= 2


def test_the_report_of_a_backtest_prices_the_explanation() -> None:
    models = [
        RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", alias="Retrieval"),
        DirectRidge(HORIZON, LOOKBACK),
    ]
    frame = long_frame({"a": (0, wave(200)), "b": (0, wave(200, 1))})
    result = backtest(frame, models, horizon=HORIZON, n_windows=12)
    told = [getattr(block, "caption", "") for block in backtest_blocks(result, season=12)]
    assert any(
        "price of the explanation" in caption and "12 cutoffs" in caption for caption in told
    )
    few = backtest(frame, models, horizon=HORIZON, n_windows=2)
    told = [getattr(block, "caption", "") for block in backtest_blocks(few, season=12)]
    assert not any("price of the explanation" in caption for caption in told)
    alone = backtest(frame, [Repeat(HORIZON)], horizon=HORIZON, n_windows=12)
    assert len(backtest_blocks(alone, season=12)) == 1


def run(*arguments: Any, code: int = 0) -> str:
    result = CliRunner().invoke(forecast, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_a_bundle_is_inspected_extended_and_asked_whether_it_is_fresh(tmp_path: Path) -> None:
    frame = long_frame({f"s{seed}": (0, wave(600, seed)) for seed in range(4)})
    bundle, more = tmp_path / "bundle", tmp_path / "more.csv"
    learned_model().fit(frame.filter(pl.col("ds") < 460)).save(bundle)
    frame.filter(pl.col("ds") >= 460).write_csv(more)
    page = tmp_path / "page.html"
    told = run("inspect", bundle, "--period", 12, "--report", page)
    assert "12 rows" in told
    assert "regimes, adjusted Rand index" in told
    assert page.exists()
    assert "560 continuations more" in run("extend", bundle, more)
    assert "keep: every guard holds" in run("fresh", bundle)
    noise = np.random.default_rng(0).normal(size=4 * 200)
    later = long_frame({f"s{n}": (600, noise[n::4]) for n in range(4)})
    later.write_csv(more)
    run("extend", bundle, more)
    assert "retrain" in run("fresh", bundle, code=1)


def test_a_stretch_is_looked_for_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    long_frame({"x": (0, wave(90)), "y": (0, wave(90, 1))}).write_csv(path)
    told = run("similar", path, "--series", "x", "--start", 30, "--rows", 12, "-k", 3)
    first = told.splitlines()[2].split()
    assert (first[0], first[1], first[2]) == ("x", "30", "41")
    assert len(told.splitlines()) == 5
