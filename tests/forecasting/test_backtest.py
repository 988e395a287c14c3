"""The backtest: every window that can be judged, once, beside what happened."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import SettingError, TooFewRows
from likewise.forecasting import (
    DirectRidge,
    Repeat,
    RetrievalForecaster,
    SeasonalNaive,
    WindowNeighbours,
    backtest,
    cli,
    read_frame,
    rolling_cutoffs,
)
from utilsforecast import losses
from utilsforecast.evaluation import evaluate

from tests.forecasting.planted import (
    HORIZON,
    LOOKBACK,
    as_pandas,
    cheap_models,
    long_frame,
    two_waves,
    wave,
)
from tests.naive_forecasting import naive_cutoffs


@given(
    rows=st.integers(2, 60),
    horizon=st.integers(1, 12),
    step=st.integers(1, 70),
    count=st.integers(1, 8),
    begin=st.integers(0, 60),
)
@settings(deadline=None)
def test_cutoffs_are_those_of_the_slow_twin(
    rows: int, horizon: int, step: int, count: int, begin: int
) -> None:
    # case forecasting#29
    panel = read_frame(long_frame({"a": (100, np.arange(rows) + 1.0)}), freq=1)
    last = 99 + rows - horizon
    expected = naive_cutoffs(100, last, step, count)
    if len(expected) < count:
        with pytest.raises(SettingError, match=f"at most {len(expected)} fit"):
            rolling_cutoffs(panel, horizon, count, step)
    else:
        assert rolling_cutoffs(panel, horizon, count, step).tolist() == expected
    first = 100 + begin
    if not 100 <= first <= last:
        with pytest.raises(SettingError, match="leaves no cutoff"):
            rolling_cutoffs(panel, horizon, None, step, first)
    else:
        found = rolling_cutoffs(panel, horizon, None, step, first).tolist()
        assert found == naive_cutoffs(first, last, step, None)


def test_the_count_and_the_last_stamp_are_exact() -> None:
    # case forecasting#9
    frame = long_frame({"a": (0, wave(100))})
    table = backtest(frame, [Repeat(10)], horizon=10, step_size=1, start=50).to_frame()
    assert table["cutoff"].unique().sort().to_list() == list(range(50, 90))
    assert len(table) == 40 * 10
    assert table["ds"].max() == 99
    assert (table["ds"] - table["cutoff"]).unique().sort().to_list() == list(range(1, 11))


@pytest.mark.parametrize("step_size", [1, 7, 50, 89])
def test_any_step_gives_cutoffs_that_end_at_the_last_row(step_size: int) -> None:
    # case forecasting#29
    frame = long_frame({"a": (0, wave(100))})
    result = backtest(frame, [Repeat(2)], horizon=2, step_size=step_size, start=8)
    assert result.origins.steps.tolist() == naive_cutoffs(8, 97, step_size, None)
    assert result.to_frame()["ds"].max() == 99


def test_the_default_step_is_the_horizon() -> None:
    result = backtest(two_waves(), [Repeat(5)], horizon=5, n_windows=3)
    assert np.unique(result.origins.steps).tolist() == [144, 149, 154]


@pytest.mark.parametrize("batch", [1, 7, 128])
def test_numbers_do_not_depend_on_the_batch(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # cases forecasting#6 and #7
    run = partial(
        backtest,
        two_waves(),
        cheap_models(),
        horizon=HORIZON,
        n_windows=31,
        step_size=1,
        level=[80],
    )
    whole = run()
    # The front door shows the function of this name; the module is behind it.
    for module in ("backtest", "cutoffs"):
        monkeypatch.setattr(sys.modules[f"likewise.forecasting.{module}"], "_BATCH", batch)
    parts = run()
    assert len(parts.origins) == 62
    for alias, forecast in whole.forecasts.items():
        np.testing.assert_allclose(parts.forecasts[alias].mean, forecast.mean, rtol=1e-9)
        for edge in (0, 1):
            np.testing.assert_allclose(
                parts.forecasts[alias].bands[80][edge], forecast.bands[80][edge], rtol=1e-9
            )
    for column in whole.scores().columns[1:]:
        np.testing.assert_allclose(parts.scores()[column], whole.scores()[column], rtol=1e-9)


def test_origins_in_a_hole_are_named_and_the_others_scored() -> None:
    # case forecasting#10
    values = wave(160)
    values[120:123] = np.nan
    frame = pl.concat([long_frame({"a": (0, values)}), long_frame({"b": (0, wave(160, 1))})])
    result = backtest(frame, cheap_models(), horizon=HORIZON, n_windows=60, step_size=1)
    judged = set(zip(result.origins.series.tolist(), result.origins.steps.tolist(), strict=True))
    for cutoff in range(96, 156):
        past = any(120 <= row <= 122 for row in range(cutoff - LOOKBACK + 1, cutoff + 1))
        future = any(120 <= row <= 122 for row in range(cutoff + 1, cutoff + HORIZON + 1))
        assert ((0, cutoff) in judged) == (not past and not future)
        assert (1, cutoff) in judged
        told = result.skipped.filter(pl.col("cutoff") == cutoff)["reason"].to_list()
        expected = ["16 rows up to it are there"] if past else ["4 rows behind it are known"]
        assert [text[-len(expected[0]) :] for text in told] == (expected if past or future else [])
    assert result.scores()["mase"].is_finite().all()
    assert result.skipped["unique_id"].unique().to_list() == ["a"]


def test_a_short_series_is_named_and_the_others_done() -> None:
    # case forecasting#17
    frame = pl.concat(
        [two_waves(), long_frame({"gone": (0, wave(60)), "short": (130, wave(30)[:6])})]
    )
    result = backtest(frame, cheap_models(), horizon=HORIZON, n_windows=4)
    assert set(result.to_frame()["unique_id"]) == {"a", "b"}
    named = dict(result.skipped.group_by("unique_id").agg(pl.col("reason").first()).iter_rows())
    assert named == {
        "gone": "no cutoff falls inside this series",
        "short": "no cutoff falls inside this series",
    }


def test_no_origin_to_judge_is_an_error_that_says_why() -> None:
    values = wave(100)
    values[60::5] = np.nan
    with pytest.raises(TooFewRows, match="none of 3 origins has 16 complete rows before and 4"):
        backtest(long_frame({"a": (0, values)}), cheap_models(), horizon=HORIZON, n_windows=3)


def test_uneven_lengths_keep_every_value_at_its_id_and_time() -> None:
    # case forecasting#18
    frame = long_frame({"short": (449, wave(51)), "long": (0, wave(500, 1))})
    table = backtest(frame, cheap_models(), horizon=HORIZON, n_windows=5).to_frame()
    assert table.null_count().sum_horizontal()[0] == 0
    joined = table.join(frame, on=["unique_id", "ds"], suffix="_in", how="left")
    assert joined["y"].equals(joined["y_in"], check_names=False)
    assert table.group_by("unique_id").len()["len"].to_list() == [20, 20]


@pytest.mark.parametrize("sample", [1, 2, 3])
def test_the_order_of_rows_does_not_matter(sample: int) -> None:
    run = partial(backtest, models=[DirectRidge(3, 8)], horizon=3, n_windows=4)
    shuffled = two_waves().sample(fraction=1, shuffle=True, seed=sample)
    assert run(two_waves()).to_frame().equals(run(shuffled).to_frame())


def test_pandas_in_pandas_out() -> None:
    import pandas as pd

    run = partial(backtest, models=cheap_models(), horizon=HORIZON, n_windows=3, level=[80])
    ours, theirs = run(two_waves()).to_frame(), run(as_pandas(two_waves())).to_frame()
    assert isinstance(ours, pl.DataFrame)
    assert isinstance(theirs, pd.DataFrame)
    assert ours.columns == list(theirs.columns)
    assert ours.columns[:4] == ["unique_id", "ds", "cutoff", "y"]
    for name in ours.columns:
        assert ours[name].to_list() == theirs[name].to_list()


@pytest.mark.parametrize("shift", [1, 1000, -7])
def test_integer_times_shift_and_nothing_else_changes(shift: int) -> None:
    # case forecasting#27
    run = partial(backtest, models=cheap_models(), horizon=HORIZON, n_windows=5, level=[80])
    plain = run(two_waves()).to_frame()
    moved = run(two_waves().with_columns(pl.col("ds") + shift)).to_frame()
    assert plain.with_columns(pl.col("ds") + shift, pl.col("cutoff") + shift).equals(moved)


@pytest.mark.parametrize("minutes", [10, 15, 60])
def test_multiples_of_a_frequency_work_like_hours(minutes: int) -> None:
    # cases forecasting#19 and #26
    start = datetime(2024, 5, 3, 17, 34)
    stamps = [start + k * timedelta(minutes=minutes) for k in range(160)]
    frame = two_waves().with_columns(ds=pl.Series(stamps * 2))
    run = partial(backtest, models=cheap_models(), horizon=HORIZON, n_windows=5)
    table, plain = run(frame).to_frame(), run(two_waves()).to_frame()
    assert table.drop("ds", "cutoff").equals(plain.drop("ds", "cutoff"))
    assert table["ds"].to_list() == [stamps[step] for step in plain["ds"]]
    assert table["cutoff"].to_list() == [stamps[step] for step in plain["cutoff"]]


@pytest.mark.parametrize(("freq", "last"), [("MS", False), ("ME", True)])
def test_monthly_cutoffs_land_on_months(freq: str, last: bool) -> None:
    # case forecasting#25
    months = pl.datetime_range(datetime(2010, 1, 1), datetime(2019, 12, 1), "1mo", eager=True).cast(
        pl.Date
    )
    stamps = months.dt.month_end() if last else months
    frame = pl.DataFrame({"unique_id": "a", "ds": stamps, "y": wave(120)})
    result = backtest(frame, [SeasonalNaive(3, 12)], horizon=3, n_windows=9, step_size=1)
    table = result.to_frame()
    assert str(result.panel.freq) == freq
    assert set(table["cutoff"]) == set(stamps[108:117])
    by_stamp = dict(zip(stamps, wave(120), strict=True))
    place = {stamp: number for number, stamp in enumerate(stamps)}
    for stamp, cutoff, y, found in table.select("ds", "cutoff", "y", "SeasonalNaive").iter_rows():
        assert y == by_stamp[stamp]
        assert found == by_stamp[stamps[place[stamp] - 12]]
        assert 1 <= place[stamp] - place[cutoff] <= 3


@pytest.mark.parametrize("day", [datetime(2024, 3, 25), datetime(2024, 10, 21)])
@pytest.mark.parametrize("native", ["polars", "pandas"])
def test_hours_in_london_run_on_when_the_clocks_change(day: datetime, native: str) -> None:
    # case forecasting#23
    stamps = pl.datetime_range(
        day, day + timedelta(hours=159), "1h", time_zone="UTC", eager=True
    ).dt.convert_time_zone("Europe/London")
    frame: Any = two_waves().with_columns(ds=pl.concat([stamps, stamps]))
    if native == "pandas":
        frame = as_pandas(frame)
    run = partial(backtest, models=[SeasonalNaive(6, 24)], horizon=6, n_windows=10, step_size=1)
    table, plain = run(frame).to_frame(), run(two_waves()).to_frame()
    assert list(table["ds"]) == [stamps[step] for step in plain["ds"]]
    assert list(table["SeasonalNaive"]) == plain["SeasonalNaive"].to_list()
    zone = table["ds"].dtype.time_zone if native == "polars" else str(table["ds"].dt.tz)
    assert zone == "Europe/London"


@pytest.mark.parametrize("native", ["polars", "pandas"])
def test_utilsforecast_takes_the_frame_unchanged_and_agrees(native: str) -> None:
    # case forecasting#15: one scale for every series and cutoff
    frame = two_waves() if native == "polars" else as_pandas(two_waves())
    models = cheap_models()
    result = backtest(frame, models, horizon=HORIZON, n_windows=6, level=[80])
    names = [model.alias for model in models]
    ours = {row["model"]: row for row in result.scores(season=12).iter_rows(named=True)}
    table = result.to_frame()
    plain = table[
        [column for column in table.columns if "-lo-" not in column and "-hi-" not in column]
    ]
    theirs = evaluate(plain, metrics=[losses.mae, losses.mse])
    theirs = pl.DataFrame({name: list(theirs[name]) for name in ["metric", *names]})
    for name in names:
        for metric in ("mae", "mse"):
            mean = theirs.filter(pl.col("metric") == metric)[name].mean()
            assert ours[name][metric] == pytest.approx(mean)
    cover = evaluate(table, metrics=[losses.coverage], models=names, level=[80])
    scaled = []
    for cutoff in sorted(set(table["cutoff"])):
        keep = pl.col("cutoff") == cutoff
        part = result.panel.to_frame() if native == "polars" else two_waves()
        here = pl.DataFrame({name: list(plain[name]) for name in plain.columns}).filter(keep)
        train = part.filter(pl.col("ds") <= cutoff)
        scaled.append(evaluate(here, [partial(losses.mase, seasonality=12)], train_df=train))
    for name in names:
        assert ours[name]["coverage-80"] == pytest.approx(np.mean(list(cover[name])))
        assert ours[name]["mase"] == pytest.approx(pl.concat(scaled)[name].mean())


def test_a_sliding_history_shows_no_neighbour_older_than_it() -> None:
    # case forecasting#30
    frame = long_frame({"a": (0, wave(200))})
    models = [
        RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw"),
        WindowNeighbours(HORIZON, LOOKBACK, k=3),
    ]
    run = partial(backtest, models=models, horizon=HORIZON, n_windows=20, step_size=1)
    slid = run(frame, input_size=60)
    last = slid.models["RetrievalForecaster"]
    assert isinstance(last, RetrievalForecaster)
    windows = last.index_.windows
    assert windows.origin_steps(slice(None)).min() - LOOKBACK + 1 == 195 - 60 + 1
    expanding = run(frame)
    # what lies further back than the size does not matter at any cutoff, whatever it was
    early = long_frame({"a": (0, np.where(np.arange(200) <= 176 - 60, 1e3, wave(200)))})
    forgetful = run(early, input_size=60)
    for model in models:
        mean = slid.forecasts[model.alias].mean
        np.testing.assert_array_equal(mean, forgetful.forecasts[model.alias].mean)
        assert not np.array_equal(mean, expanding.forecasts[model.alias].mean)
    assert (slid.manifest["index_until"] == slid.manifest["cutoff"]).all()


def test_a_sliding_history_refitted_at_each_cutoff_is_a_fit_on_that_history() -> None:
    frame = two_waves()
    result = backtest(
        frame,
        [DirectRidge(3, 8)],
        horizon=3,
        n_windows=4,
        refit_every=1,
        input_size=50,
        level=[50],
    )
    for cutoff in np.unique(result.origins.steps):
        part = frame.filter(pl.col("ds").is_between(int(cutoff) - 49, int(cutoff)))
        alone = DirectRidge(3, 8).fit(part).predict(level=[50])
        there = result.to_frame().filter(pl.col("cutoff") == int(cutoff))
        for column in ("DirectRidge", "DirectRidge-lo-50"):
            np.testing.assert_allclose(there[column], alone[column], rtol=1e-9)


@pytest.mark.parametrize("model", cheap_models(), ids=lambda model: model.alias)
def test_one_cutoff_is_what_predict_says_on_the_history_before_it(model: Repeat) -> None:
    frame = two_waves()
    table = backtest(frame, [model], horizon=HORIZON, n_windows=1, level=[80]).to_frame()
    alone = model.fit(frame.filter(pl.col("ds") < 156)).predict(level=[80])
    for column in alone.columns:
        if column == "unique_id":
            assert alone[column].equals(table[column])
        else:
            np.testing.assert_allclose(alone[column], table[column], rtol=1e-9)


def test_refits_are_told_in_the_manifest() -> None:
    result = backtest(two_waves(), [Repeat(2)], horizon=2, n_windows=7, refit_every=3)
    assert result.manifest["fitted_until"].to_list() == [145, 145, 145, 151, 151, 151, 157]
    assert result.manifest["index_until"].to_list() == [None] * 7
    assert result.manifest["cutoff"].to_list() == [145, 147, 149, 151, 153, 155, 157]


def test_models_are_copied_not_changed() -> None:
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw")
    before = dict(vars(model))
    backtest(two_waves(), [model], horizon=HORIZON)
    assert vars(model) == before


def test_what_cannot_be_compared_is_refused_at_the_call() -> None:
    frame = two_waves()
    faults: list[tuple[list[Any], dict[str, Any], str]] = [
        ([], {}, "at least one model"),
        ([Repeat(4), Repeat(4)], {}, "two models are called Repeat"),
        (
            [Repeat(4), Repeat(3, alias="other")],
            {},
            r"horizon is 4, but models have \{'other': 3\}",
        ),
        ([Repeat(4)], {"n_windows": 0}, "start at 1"),
        ([Repeat(4)], {"step_size": 0}, "start at 1"),
        ([Repeat(4)], {"n_windows": 2, "start": 100}, "not both"),
        ([Repeat(4)], {"start": 158}, "leaves no cutoff"),
        ([Repeat(4)], {"n_windows": 2, "refit_every": 0}, "refit_every starts at 1"),
        ([Repeat(4)], {"input_size": 0}, "input_size starts at 1"),
        ([Repeat(4)], {"level": [100]}, "whole percents"),
        ([Repeat(4)], {"n_windows": 1000}, "at most 39 fit"),
    ]
    for models, settings_, text in faults:
        with pytest.raises(SettingError, match=text):
            backtest(frame, models, horizon=4, **settings_)
    backtest(frame, [Repeat(4), Repeat(4, alias="again")], horizon=4)


def test_a_cutoff_with_nothing_to_judge_does_not_stop_a_sliding_history() -> None:
    values = wave(160)
    values[150:152] = np.nan
    run = partial(backtest, models=[Repeat(2)], horizon=2, n_windows=20, step_size=1)
    slid = run(long_frame({"a": (0, values)}), input_size=40)
    assert slid.origins.steps.tolist() == run(long_frame({"a": (0, values)})).origins.steps.tolist()


def test_the_command_line_matches_corrects_and_blends(tmp_path: Path) -> None:
    path = str(tmp_path / "waves.csv")
    two_waves(200).write_csv(path)
    command = ["backtest", path, "--horizon", "4", "--lookback", "16", "--n-windows", "5"]
    models = ["retrieval", "corrected", "blend", "ridge"]
    asked = [word for name in models for word in ("--model", name)]
    result = CliRunner().invoke(cli.forecast, [*command, "--match", "12", *asked])
    assert result.exit_code == 0, result.output
    for name in ("RetrievalForecaster", "Corrected", "Blend", "DirectRidge"):
        assert name in result.output
    refused = CliRunner().invoke(cli.forecast, [*command, "--match", "minute"])
    assert isinstance(refused.exception, SettingError)
    assert "'minute' is no calendar unit" in str(refused.exception)
