from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from likewise.core import ColumnError, InputError, SettingError
from likewise.forecasting import (
    DirectRidge,
    Forecaster,
    NixtlaModel,
    Normaliser,
    Repeat,
    WindowRegressor,
    backtest,
    boosted_trees,
)
from likewise.forecasting.calendar import calendar_features, calendar_phase
from likewise.forecasting.frames import read_frame
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge

from tests.forecasting.planted import HORIZON, LOOKBACK, as_pandas, two_waves, wave


class Drifting:
    """A model of Nixtla's shape: the last value of every series and its mean step, in pandas."""

    def __init__(self) -> None:
        self.fitted = 0

    def fit(self, df: Any) -> Drifting:
        df = df if isinstance(df, pd.DataFrame) else as_pandas(df)
        self.fitted += 1
        self.last = df.groupby("unique_id").agg(ds=("ds", "max"), y=("y", "last"), n=("y", "size"))
        self.first = df.groupby("unique_id")["y"].first()
        return self

    def predict(self, h: int) -> pd.DataFrame:
        steps = np.arange(1, h + 1)
        rows = [
            pd.DataFrame(
                {
                    "unique_id": name,
                    "ds": row.ds + steps,
                    "Drift": row.y + steps * (row.y - self.first[name]) / max(row.n - 1, 1),
                    "Drift-lo-80": 0.0,
                }
            )
            for name, row in zip(self.last.index, self.last.itertuples(), strict=True)
        ]
        return pd.concat(rows, ignore_index=True)


class Fixed(Drifting):
    """Like neuralforecast of old: the horizon belongs to the model, and frames are polars."""

    def predict(self) -> Any:  # type: ignore[override]
        return pl.DataFrame(super().predict(HORIZON).to_dict("list"))


def adapted() -> list[Forecaster]:
    forest = RandomForestRegressor(n_estimators=3, random_state=0)
    return [
        WindowRegressor(HORIZON, LOOKBACK, Ridge(), outputs="joint", alias="joint"),
        WindowRegressor(HORIZON, LOOKBACK, Ridge(), alias="each"),
        WindowRegressor(HORIZON, LOOKBACK, forest, normaliser=Normaliser("z")),
        NixtlaModel(HORIZON, Drifting()),
        NixtlaModel(HORIZON, Fixed(), alias="fixed"),
    ]


def run(frame: Any, models: list[Forecaster], **settings: Any) -> Any:
    return backtest(frame, models, horizon=HORIZON, **({"n_windows": 4, "level": [50]} | settings))


def test_a_linear_regressor_on_windows_says_what_least_squares_says() -> None:
    model = WindowRegressor(HORIZON, LOOKBACK, LinearRegression(), outputs="joint")
    series = wave(200)
    frame = pl.DataFrame({"unique_id": ["a"] * 200, "ds": np.arange(200), "y": series})
    said = model.fit(frame).predict()["LinearRegression"].to_numpy()
    starts = range(200 - LOOKBACK - HORIZON + 1)
    past = np.array([series[s : s + LOOKBACK] - series[s + LOOKBACK - 1] for s in starts])
    future = np.array(
        [series[s + LOOKBACK : s + LOOKBACK + HORIZON] - series[s + LOOKBACK - 1] for s in starts]
    )
    design = np.column_stack([past, np.ones(len(past))])
    weights = np.linalg.lstsq(design, future, rcond=None)[0]
    asked = np.append(series[-LOOKBACK:] - series[-1], 1.0)
    assert np.allclose(said, series[-1] + asked @ weights, atol=1e-8)


def test_one_regressor_a_step_and_one_for_all_agree_where_the_map_is_linear() -> None:
    result = run(two_waves(), adapted()[:2])
    assert np.allclose(result.forecasts["joint"].mean, result.forecasts["each"].mean)


def test_adapted_models_stand_in_one_table_with_ours() -> None:
    result = run(two_waves(), [*adapted(), DirectRidge(HORIZON, LOOKBACK), Repeat(HORIZON)])
    scores = result.scores(season=12)
    assert set(scores["model"]) >= {"joint", "RandomForestRegressor", "Drifting", "DirectRidge"}
    assert scores["mase"].is_finite().all()
    assert scores["coverage-50"].is_between(0, 1).all()


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("settings", [{}, {"refit_every": 2}, {"input_size": 90}])
def test_nothing_behind_a_cutoff_reaches_an_adapted_model(
    place: int, settings: dict[str, Any]
) -> None:
    # case forecasting#1
    frame = two_waves()
    changed = frame.with_columns(y=pl.when(pl.col("ds") > 147).then(-7.0).otherwise("y"))
    results = [run(one, [adapted()[place]], **settings) for one in (frame, changed)]
    (alias,) = results[0].forecasts
    early = results[0].origins.steps <= 147
    assert 0 < early.sum() < len(early)
    one, other = (result.forecasts[alias] for result in results)
    assert np.array_equal(one.mean[early], other.mean[early])
    for edge, changed_edge in zip(one.bands[50], other.bands[50], strict=True):
        assert np.array_equal(edge[early], changed_edge[early])


def test_a_model_of_nixtlas_shape_says_what_it_says_alone() -> None:
    frame = two_waves()
    result = run(frame, [NixtlaModel(HORIZON, Drifting())], level=[])
    last = int(result.origins.steps.max())
    alone = Drifting().fit(as_pandas(frame.filter(pl.col("ds") <= last))).predict(HORIZON)
    mine = result.to_frame().filter(pl.col("cutoff") == last).sort("unique_id", "ds")
    assert mine["Drifting"].to_list() == alone["Drift"].to_list()


def test_a_model_of_nixtlas_shape_is_copied_and_never_fitted_itself() -> None:
    inner = Drifting()
    NixtlaModel(HORIZON, inner).fit(two_waves()).predict()
    assert inner.fitted == 0


def test_a_model_of_nixtlas_shape_gets_the_callers_kind_under_its_own_names() -> None:
    seen = []

    class Looking(Drifting):
        def fit(self, df: Any) -> Drifting:
            seen.append(df)
            return super().fit(df)

    frame = two_waves().rename({"unique_id": "shop", "y": "sold"})
    panel = read_frame(as_pandas(frame), id_col="shop", target_col="sold")
    model = NixtlaModel(HORIZON, Looking())
    model.panel_ = panel
    said = model.fit_panel(panel).predict()
    assert isinstance(seen[0], pd.DataFrame)
    assert list(seen[0].columns) == ["unique_id", "ds", "y"]
    assert list(said.columns) == ["shop", "ds", "Looking"]


def test_answers_that_cannot_be_read_are_refused_by_name() -> None:
    class Two(Drifting):
        def predict(self, h: int) -> pd.DataFrame:
            return super().predict(h).assign(Other=0.0)

    class Short(Drifting):
        def predict(self, h: int) -> pd.DataFrame:
            return super().predict(h - 1)

    class Unnamed(Drifting):
        def predict(self, h: int) -> pd.DataFrame:
            return super().predict(h).drop(columns="ds")

    frame = two_waves()
    with pytest.raises(ColumnError, match=r"Drift, Drift-lo-80, Other.*pass column="):
        NixtlaModel(HORIZON, Two()).fit(frame).predict()
    assert len(NixtlaModel(HORIZON, Two(), column="Other").fit(frame).predict()) == 2 * HORIZON
    with pytest.raises(InputError, match=r"did not forecast 2 of 8 steps, first 'a' at 163"):
        NixtlaModel(HORIZON, Short()).fit(frame).predict()
    with pytest.raises(ColumnError, match="answered without ds"):
        NixtlaModel(HORIZON, Unnamed()).fit(frame).predict()


def test_a_missing_answer_stays_nan_and_never_wins() -> None:
    # case forecasting#14
    class Silent(Drifting):
        def predict(self, h: int) -> pd.DataFrame:
            return super().predict(h).assign(Drift=np.nan)

    result = run(two_waves(), [NixtlaModel(HORIZON, Silent()), Repeat(HORIZON)], level=[])
    scores = result.scores()
    assert scores["model"].to_list() == ["Repeat", "Silent"]
    assert np.isnan(scores["mase"][1])


@pytest.mark.parametrize("make", [WindowRegressor, NixtlaModel])
def test_things_that_are_no_model_are_refused(make: Any) -> None:
    sizes = (HORIZON, LOOKBACK) if make is WindowRegressor else (HORIZON,)
    with pytest.raises(SettingError, match="lacks fit"):
        make(*sizes, object())
    if make is WindowRegressor:
        with pytest.raises(SettingError, match="pass an instance"):
            make(*sizes, Ridge)
        with pytest.raises(SettingError, match="outputs='all'"):
            make(*sizes, Ridge(), outputs="all")
        with pytest.raises(SettingError, match="'minute' is no calendar unit"):
            make(*sizes, Ridge(), calendar=["minute"])


def test_the_calendar_is_off_by_default_and_a_feature_when_asked_for() -> None:
    # case forecasting#50
    stamps = pl.datetime_range(
        pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 20), interval="1h", eager=True
    )
    spikes = (stamps.dt.hour() == 17).cast(pl.Float64) * 5
    noise = np.random.default_rng(0).normal(size=len(stamps))
    frame = pl.DataFrame({"unique_id": "a", "ds": stamps, "y": spikes + noise * 0.1})
    blind = WindowRegressor(1, 3, RandomForestRegressor(20, random_state=0), alias="blind")
    clocked = WindowRegressor(
        1, 3, RandomForestRegressor(20, random_state=0), calendar=["hour"], alias="clocked"
    )
    scores = backtest(frame, [blind, clocked], horizon=1, n_windows=72, step_size=1).scores()
    assert scores["model"][0] == "clocked"
    assert scores["mae"][0] < scores["mae"][1] / 3


def test_hours_are_read_from_the_clocks_of_the_zone() -> None:
    # case forecasting#23
    stamps = pl.datetime_range(
        pl.datetime(2024, 3, 30, 22),
        pl.datetime(2024, 3, 31, 4),
        interval="1h",
        eager=True,
        time_zone="UTC",
    ).dt.convert_time_zone("Europe/London")
    frame = pl.DataFrame({"unique_id": "a", "ds": stamps, "y": np.arange(7.0)})
    panel = read_frame(frame)
    steps = panel.starts[0] + np.arange(7)
    assert calendar_phase(panel, steps, "hour").tolist() == [22, 23, 0, 2, 3, 4, 5]
    assert calendar_features(panel, steps, ["hour", "weekday"]).shape == (7, 4)


def test_counted_time_has_no_hour() -> None:
    panel = read_frame(two_waves())
    with pytest.raises(SettingError, match="there is no hour"):
        calendar_phase(panel, panel.starts, "hour")


def test_boosted_trees_forecast_where_lightgbm_is_installed() -> None:
    pytest.importorskip("lightgbm")
    frames = [run(two_waves(), [boosted_trees(HORIZON, LOOKBACK)]) for _ in range(2)]
    one, other = (frame.forecasts["LightGBM"].mean for frame in frames)
    assert np.isfinite(one).all()
    assert np.array_equal(one, other)


def test_boosted_trees_say_how_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    with pytest.raises(SettingError, match=r"likewise\[baselines\]"):
        boosted_trees(HORIZON, LOOKBACK)
