"""The retrieval forecaster: what it answers, what it chooses, and what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from likewise.core import NotFitted, SettingError, TooFewRows
from likewise.forecasting import (
    Blend,
    Normaliser,
    RetrievalForecaster,
    TowerSettings,
    backtest,
)
from likewise.forecasting.normalisers import Kind

from tests.forecasting.planted import (
    HORIZON,
    LOOKBACK,
    SMALL,
    answer_of,
    as_pandas,
    forecasts_at,
    learned_model,
    long_frame,
    two_waves,
    wave,
)

NAME = "RetrievalForecaster"


def raw_model(**settings: Any) -> RetrievalForecaster:
    return RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", **settings)


def scaled(factor: float, shift: float) -> pl.DataFrame:
    return two_waves().with_columns(y=pl.col("y") * factor + shift)


@pytest.mark.parametrize(("factor", "shift"), [(1e8, 0.0), (1e-8, 0.0), (1.0, 1e6)])
@pytest.mark.parametrize("kind", ["mean", "last", "z"])
def test_unit_and_level_of_the_data_change_no_neighbour(
    kind: Kind, factor: float, shift: float
) -> None:
    # case forecasting#39
    settings = {"normaliser": Normaliser(kind)}
    plain = raw_model(**settings).fit(two_waves())
    moved = raw_model(**settings).fit(scaled(factor, shift))
    keys = ["series", "start"]
    for series_id in ("a", "b"):
        one, other = (model.explain(series_id).to_frame() for model in (plain, moved))
        assert one.select(keys).equals(other.select(keys))
        np.testing.assert_allclose(one["weight"], other["weight"], rtol=1e-3)
    found = (moved.predict()[NAME] - shift) / factor
    np.testing.assert_allclose(found, plain.predict()[NAME], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("factor", "shift"), [(2.0**27, 0.0), (2.0**-27, 0.0), (1.0, 2.0**20)])
def test_towers_learn_the_same_from_data_in_other_units(
    learned: RetrievalForecaster, factor: float, shift: float
) -> None:
    # powers of two move the numbers without rounding them, so that training is comparable
    moved = learned_model().fit(scaled(factor, shift))
    found = (moved.predict()["Learned"] - shift) / factor
    np.testing.assert_allclose(found, learned.predict()["Learned"], rtol=1e-3, atol=1e-3)
    ends = [model.explain("a").to_frame()["end"][0] for model in (learned, moved)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("embedding", ["auto", "raw", "learned"])
@pytest.mark.parametrize("kind", ["mean", "last", "z", "none"])
def test_a_constant_series_goes_on(kind: Kind, embedding: Any) -> None:
    # case forecasting#38
    model = RetrievalForecaster(
        HORIZON, LOOKBACK, embedding=embedding, towers=SMALL, normaliser=Normaliser(kind)
    )
    for level in (0.0, 5.0):
        table = model.fit(long_frame({"a": (0, np.full(90, level))})).predict(level=[80])
        np.testing.assert_allclose(table[NAME], level, atol=1e-6)
        assert np.isfinite(table.select(pl.exclude("unique_id", "ds")).to_numpy()).all()


@pytest.mark.parametrize("place", [40, 139])
def test_a_flat_stretch_under_z_blows_nothing_up(place: int) -> None:
    # case forecasting#53: a continuation is stretched by at most the cap, here 10
    values = wave(140)
    values[place - 30 : place + 1] = values[place - 30] + 1e-9 * np.arange(31)
    model = raw_model(normaliser=Normaliser("z", cap=10.0), level="mean")
    table = model.fit(long_frame({"a": (0, values)})).predict()
    span = values.max() - values.min()
    assert np.abs(table[NAME].to_numpy() - values[-LOOKBACK:].mean()).max() <= 10 * span


@pytest.mark.parametrize("embedding", ["raw", "learned"])
def test_a_window_that_was_seen_before_is_answered_with_what_followed(embedding: Any) -> None:
    # case forecasting#47
    season = wave(24, noise=1.0)
    frame = long_frame({"a": (0, np.tile(season, 8))})
    settings = {"embedding": embedding, "towers": SMALL, "alias": "M"}
    table = RetrievalForecaster(4, 24, **settings).fit(frame).predict(level=[50])
    assert np.isfinite(table["M"].to_numpy()).all()
    if embedding == "raw":
        np.testing.assert_allclose(table["M"], season[:4], atol=1e-2)


def test_no_more_windows_than_there_are() -> None:
    # case forecasting#46
    model = raw_model(neighbours=10_000).fit(long_frame({"a": (0, wave(40))}))
    told = model.explain("a", episodes=10_000)
    assert sum(episode.windows for episode in told.episodes) <= len(model.index_)
    assert sum(episode.weight for episode in told.episodes) == pytest.approx(1, abs=1e-12)


def test_few_neighbours_make_a_forecast_that_can_be_read() -> None:
    model = raw_model(neighbours=3).fit(two_waves())
    told = model.explain("b", episodes=3, min_gap=1)
    assert told.rest_weight == 0
    unit = model.recipe_.deviations["b"]
    np.testing.assert_allclose(
        told.total(), forecasts_at(model.predict(), "b", NAME), atol=1e-6 * unit
    )


SCRIPT = """
from tests.forecasting.planted import answer_of, learned_model, two_waves
print(answer_of(learned_model().fit(two_waves())))
"""


def test_the_same_seed_gives_the_same_bytes_in_another_process(
    learned: RetrievalForecaster,
) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == answer_of(learned)


def test_another_seed_gives_another_model(learned: RetrievalForecaster) -> None:
    other = learned_model(seed=1).fit(two_waves())
    for one, another in zip(answer_of(learned).split(), answer_of(other).split(), strict=True):
        assert one != another


def test_the_same_seed_gives_the_same_model(learned: RetrievalForecaster) -> None:
    again = learned_model().fit(two_waves())
    assert again.embedding_.fingerprint == learned.embedding_.fingerprint
    assert again.predict(level=[80]).equals(learned.predict(level=[80]))


@pytest.mark.parametrize(
    "kind", ["Float32", "Int64", "nullable Int64", "Decimal", "pandas Decimal"]
)
def test_targets_of_any_kind_of_number_are_read(kind: str) -> None:
    # case forecasting#41
    whole = two_waves().with_columns(y=(pl.col("y") * 100).round())
    expected = raw_model().fit(whole).predict()[NAME].to_list()
    decimals = [Decimal(int(value)) for value in whole["y"]]
    if kind == "Float32":
        frame: Any = whole.with_columns(pl.col("y").cast(pl.Float32))
    elif kind == "Int64":
        frame = whole.with_columns(pl.col("y").cast(pl.Int64))
    elif kind == "Decimal":
        frame = whole.with_columns(y=pl.Series(decimals))
    else:
        frame = as_pandas(whole)
        frame["y"] = frame["y"].astype("Int64") if kind == "nullable Int64" else decimals
    found = raw_model().fit(frame).predict()
    assert type(found) is type(frame)
    assert list(found[NAME]) == expected


def test_short_series_are_named_and_the_others_done() -> None:
    # case forecasting#17
    shorts = long_frame({"s": (155, wave(5)), "exact": (160 - LOOKBACK, wave(LOOKBACK, 2))})
    frame = pl.concat([two_waves(), shorts])
    model = raw_model().fit(frame)
    table = model.predict(level=[80])
    assert table["unique_id"].unique().sort().to_list() == ["a", "b", "exact"]
    assert np.isfinite(table.select(pl.exclude("unique_id", "ds")).to_numpy()).all()
    assert model.skipped_ == {"s": f"its last {LOOKBACK} rows are not complete"}


@pytest.mark.parametrize("embedding", ["raw", "auto"])
def test_the_minimum_length_that_is_stated_works_exactly(embedding: Any) -> None:
    # case forecasting#17
    least = LOOKBACK + 3 * HORIZON
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding=embedding, towers=SMALL)
    assert len(model.fit(long_frame({"a": (0, wave(least))})).predict()) == HORIZON
    with pytest.raises(TooFewRows, match=f"needs {least}"):
        model.fit(long_frame({"a": (0, wave(least - 1))}))


def test_a_window_with_a_hole_is_forecast_from_what_is_there() -> None:
    values = wave(100)
    whole = raw_model().fit(long_frame({"a": (0, values)})).predict()
    values[-3] = np.nan
    holed = raw_model().fit(long_frame({"a": (0, values)})).predict()
    both = np.corrcoef(holed["RetrievalForecaster"], whole["RetrievalForecaster"])
    assert both[0, 1] > 0.9


def test_holes_before_the_tail_leave_nothing_to_learn_from() -> None:
    values = wave(200)
    values[15:160:15] = np.nan
    with pytest.raises(TooFewRows, match="complete rows before the validation tail"):
        raw_model().fit(long_frame({"a": (0, values)}))


def test_a_level_beyond_the_calibration_windows_fails_at_predict() -> None:
    # cases forecasting#31 and #33
    model = raw_model().fit(long_frame({"a": (0, wave(60))}))
    model.predict(level=[50])
    with pytest.raises(TooFewRows, match="at least 99 calibration windows"):
        model.predict(level=[99])


def test_settings_that_cannot_work_are_refused_at_the_call() -> None:
    for wrong in ({"embedding": "both"}, {"level": "median"}, {"neighbours": 0}):
        with pytest.raises(SettingError):
            RetrievalForecaster(4, 16, **wrong)  # type: ignore[arg-type]
    for horizon, lookback in ((0, 16), (4, 0)):
        with pytest.raises(SettingError, match="at least 1"):
            RetrievalForecaster(horizon, lookback)


def echo(rows: int, seed: int, lag: int = 20, share: float = 0.7) -> np.ndarray:
    """Noise that comes back once, weaker: most rows of a window say nothing about the future."""
    values = np.random.default_rng(seed).normal(size=rows)
    for step in range(lag, rows):
        values[step] = share * values[step - lag] + np.sqrt(1 - share**2) * values[step]
    return values


def test_learned_beats_raw_where_most_of_a_window_says_nothing() -> None:
    towers = TowerSettings(steps=60, width=16, hidden=(32,), batch_size=256, learning_rate=1e-2)
    frame = long_frame({"a": (0, echo(1000, 0)), "b": (0, echo(1000, 1))})
    models = [
        RetrievalForecaster(2, 48, embedding=kind, towers=towers, alias=kind)
        for kind in ("raw", "auto")
    ]
    result = backtest(frame, models, horizon=2, n_windows=60, step_size=3)
    error = dict(result.scores().select("model", "mse").iter_rows())
    assert error["auto"] < 0.9 * error["raw"]
    chosen = result.models["auto"]
    assert isinstance(chosen, RetrievalForecaster)
    assert chosen.embedding_.name == "learned"


def test_raw_serves_where_raw_wins() -> None:
    season = np.random.default_rng(4).normal(size=40)
    frame = long_frame({"a": (0, np.tile(season, 6))})
    model = RetrievalForecaster(4, 20, towers=SMALL).fit(frame)
    best = model.choices_["validation_mse"]
    assert model.embedding_.name == model.choices_["embedding"][0] == "raw"
    assert best.is_sorted()
    assert set(model.choices_["embedding"]) == {"raw", "learned"}


def test_a_fit_does_not_change_the_settings_and_can_be_repeated() -> None:
    model = raw_model()
    first = model.fit(two_waves()).predict()
    second = model.fit(two_waves(100)).predict()
    assert not first.equals(second)
    assert first.equals(model.fit(two_waves()).predict())


def test_a_stride_keeps_every_so_many_windows() -> None:
    whole, thin = raw_model().fit(two_waves()), raw_model(stride=4).fit(two_waves())
    assert len(thin.index_) == pytest.approx(len(whole.index_) / 4, abs=2)
    assert np.isfinite(thin.predict()[NAME].to_numpy()).all()


@pytest.mark.parametrize("ask", ["predict", "explain", "save"])
def test_a_model_that_was_not_fitted_says_so(ask: str, tmp_path: Path) -> None:
    for model in (raw_model(), Blend([raw_model()])):
        with pytest.raises(NotFitted, match=r"has no \w+_ yet; call fit\(frame\) first"):
            getattr(model, ask)(*([tmp_path / "bundle"] if ask == "save" else []))
    assert not hasattr(raw_model(), "panel_")
    with pytest.raises(AttributeError, match="no attribute 'forcast'"):
        raw_model().forcast  # noqa: B018
