"""The blend: weights from the tail, abstention on random walks, explanations, bundles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from likewise.core import ChecksumMismatch, SettingError, UnknownId
from likewise.forecasting import (
    Blend,
    DirectRidge,
    Forecaster,
    Repeat,
    RetrievalForecaster,
    SeasonalNaive,
    WindowNeighbours,
    backtest,
)
from likewise.forecasting.weighing import sure_gain, weigh

from tests.forecasting.planted import (
    HORIZON,
    LOOKBACK,
    SEASON,
    forecasts_at,
    long_frame,
    two_waves,
    wave,
)


def members(horizon: int = HORIZON, lookback: int = LOOKBACK) -> list[Forecaster]:
    return [
        RetrievalForecaster(horizon, lookback, embedding="raw"),
        DirectRidge(horizon, lookback),
        SeasonalNaive(horizon, SEASON),
    ]


def walks(seed: int, series: int, rows: int) -> pl.DataFrame:
    steps = np.random.default_rng(seed).normal(size=(series, rows))
    return long_frame({f"s{i}": (0, walk.cumsum()) for i, walk in enumerate(steps)})


@pytest.fixture(scope="module")
def blend() -> Blend:
    return Blend(members()).fit(two_waves(240))


def test_weights_are_shown_and_sum_to_one_in_every_block(blend: Blend) -> None:
    table = blend.weights_
    assert table.columns == ["first_step", "last_step", "member", "family", "weight"]
    sums = table.group_by("first_step").agg(pl.col("weight").sum())["weight"]
    np.testing.assert_allclose(sums, 1)
    assert table["weight"].min() >= 0
    last = table["last_step"].unique().sort().to_list()
    assert last == blend.gains_["last_step"].to_list()
    assert last[-1] == HORIZON
    families = dict(zip(table["member"], table["family"], strict=True))
    assert families == {
        "RetrievalForecaster": "retrieval",
        "DirectRidge": "direct",
        "SeasonalNaive": "naive",
        "Repeat": "naive",
    }


def test_the_forecast_is_the_weighted_sum_of_what_the_members_say(blend: Blend) -> None:
    story = blend.explain("b")
    forecast = forecasts_at(blend.predict(), "b", "Blend")
    np.testing.assert_allclose(story.total(), forecast, rtol=1e-9)
    np.testing.assert_allclose(story.forecast, forecast, rtol=1e-9)
    assert sum(story.shares().values()) == pytest.approx(1)
    assert set(story.shares()) == {"retrieval", "direct", "naive"}
    for alias, said in story.said.items():
        if alias != "Repeat":
            alone = next(m for m in members() if m.alias == alias).fit(two_waves(240))
            np.testing.assert_allclose(said, forecasts_at(alone.predict(), "b", alias), rtol=1e-6)
    history = story.episodes["RetrievalForecaster"]
    np.testing.assert_allclose(history.total(), story.said["RetrievalForecaster"], rtol=1e-6)
    frame = story.to_frame()
    assert frame["share"].sum() == pytest.approx(1)
    assert "retrieval" in str(story)


def test_it_beats_repeat_on_a_season_and_keeps_up_with_its_best_member() -> None:
    frame = long_frame({f"s{i}": (0, wave(400, i)) for i in range(4)})
    models = [Blend(members()), *members(), Repeat(HORIZON)]
    scores = backtest(frame, models, horizon=HORIZON, n_windows=60, step_size=1).scores()
    mse = dict(zip(scores["model"], scores["mse"], strict=True))
    assert mse["Blend"] < 0.5 * mse["Repeat"]
    assert mse["Blend"] < 1.03 * min(mse[m.alias] for m in members())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("series", "rows"), [(1, 500), (3, 400)])
def test_on_a_random_walk_it_falls_back_to_repeat(seed: int, series: int, rows: int) -> None:
    models = [Blend(members(12, 24)), Repeat(12)]
    result = backtest(
        walks(seed, series, rows), models, horizon=12, n_windows=20, step_size=4, freq=1
    )
    scores = result.scores()
    mse = dict(zip(scores["model"], scores["mse"], strict=True))
    assert mse["Blend"] <= 1.02 * mse["Repeat"]


def test_a_gain_counts_only_as_far_as_it_is_sure() -> None:
    steps, naive = np.arange(40), np.ones(40)
    assert sure_gain(np.full(40, 0.25), naive, steps, 10) == pytest.approx(0.75)
    lucky = np.where(steps < 10, -2.0, 1.0)  # all the gain in one stretch of four
    assert sure_gain(np.maximum(lucky, 0), naive, steps, 10) < 0
    assert sure_gain(np.zeros(40), naive, steps, 100) == 0.0  # one stretch is no evidence
    assert sure_gain(np.zeros(40), np.zeros(40), steps, 10) == 0.0


def test_a_constant_series_is_forecast_as_itself() -> None:
    # case forecasting#38
    frame = long_frame({"a": (0, np.full(120, 3.0))})
    table = Blend(members()).fit(frame).predict(level=[80])
    np.testing.assert_allclose(table.select(pl.exclude("unique_id", "ds")).to_numpy(), 3.0)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_unit_of_a_series_does_not_matter(blend: Blend, scale: float) -> None:
    # case forecasting#39
    scaled = Blend(members()).fit(two_waves(240).with_columns(pl.col("y") * scale))
    before, after = blend.predict()["Blend"], scaled.predict()["Blend"]
    np.testing.assert_allclose(after / scale, before, rtol=1e-4)


def test_the_prior_can_be_given_and_decides_without_evidence() -> None:
    one = Blend(members()[:2], prior=[3, 1], shrinkage=1e9).fit(two_waves(240))
    kept = one.gains_["kept"][-1]
    assert kept > 0
    weights = one.weights_.filter(pl.col("last_step") == HORIZON)["weight"].to_list()
    np.testing.assert_allclose(weights, [0.75 * kept, 0.25 * kept, 1 - kept], atol=1e-6)


def test_members_that_cannot_be_mixed_are_refused() -> None:
    with pytest.raises(SettingError, match="1 to 12 members"):
        Blend([])
    with pytest.raises(SettingError, match="one horizon"):
        Blend([DirectRidge(3, 8), Repeat(4, alias="r")])
    with pytest.raises(SettingError, match="are called DirectRidge"):
        Blend([DirectRidge(3, 8), DirectRidge(3, 9)])
    with pytest.raises(SettingError, match="are called Repeat"):
        Blend([Repeat(3)])
    for prior in ([1.0], [1.0, -1.0], [0.0, 0.0]):
        with pytest.raises(SettingError, match="one weight"):
            Blend(members()[:2], prior=prior)
    with pytest.raises(SettingError, match="shrinkage"):
        Blend(members(), shrinkage=-1)


def test_fitting_leaves_the_members_that_were_given_as_they_were() -> None:
    given = members()
    Blend(given).fit(two_waves(240))
    assert not hasattr(given[1], "weights_")


def test_a_loaded_blend_answers_to_the_bit(blend: Blend, tmp_path: Path) -> None:
    blend.save(tmp_path / "m")
    loaded = Blend.load(tmp_path / "m")
    asked = {"level": [50, 80], "quantiles": [0.1, 0.5]}
    assert blend.predict(**asked).equals(loaded.predict(**asked))
    assert loaded.weights_.equals(blend.weights_)
    assert loaded.gains_.equals(blend.gains_)
    assert loaded.explain("a").to_frame().equals(blend.explain("a").to_frame())
    loaded.save(tmp_path / "again")
    assert Blend.load(tmp_path / "again").predict().equals(blend.predict())
    path = next((tmp_path / "m").rglob("*.safetensors"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ChecksumMismatch):
        Blend.load(tmp_path / "m")


def test_a_member_that_cannot_be_stored_is_named(tmp_path: Path) -> None:
    model = Blend([WindowNeighbours(HORIZON, LOOKBACK, k=5)]).fit(two_waves())
    with pytest.raises(SettingError, match="WindowNeighbours"):
        model.save(tmp_path / "m")


def test_an_unknown_series_is_named(blend: Blend) -> None:
    with pytest.raises(UnknownId, match="closest"):
        blend.explain("aa")


def test_the_future_changes_no_forecast() -> None:
    # case forecasting#1
    frame = two_waves(240)
    changed = frame.with_columns(
        y=pl.when(pl.col("ds") > 200).then(pl.col("y") * -7 + 3).otherwise("y")
    )
    settings = {"horizon": HORIZON, "start": 190, "step_size": 5, "level": [80], "freq": 1}
    tables = [
        backtest(one, [Blend(members())], **settings)
        .to_frame()
        .filter(pl.col("cutoff") <= 200)
        .drop("y")
        for one in (frame, changed)
    ]
    assert tables[0].equals(tables[1])
    assert len(tables[0])


def test_its_index_shows_nothing_from_after_a_cutoff() -> None:
    models = [Blend(members()), Blend([DirectRidge(HORIZON, LOOKBACK)], alias="direct only")]
    result = backtest(two_waves(240), models, horizon=HORIZON, n_windows=3)
    manifest = result.manifest
    shown = manifest.filter(pl.col("model") == "Blend")
    assert (shown["index_until"] <= shown["cutoff"]).all()
    assert manifest.filter(pl.col("model") == "direct only")["index_until"].is_null().all()


@pytest.mark.parametrize(("near", "kept"), [(0.3, 1.0), (1.0, 0.0)])
def test_far_steps_are_taken_at_their_word_once_near_ones_are_sure(
    near: float, kept: float
) -> None:
    # two stretches of 80 steps, one three times as loud: never sure evidence of its own
    draw, steps = np.random.default_rng(0), np.arange(160)
    loud = np.where(steps < 80, 1.0, 3.0)[:, None]
    naive = loud * draw.normal(size=(160, 80))
    share = np.where(np.arange(80) < 10, near, 0.6)
    _, gains = weigh(np.stack([share * naive, naive]), steps, np.ones(1), 0.0)
    assert gains["kept"][0] == kept
    assert gains["kept"][-1] == kept
    assert sure_gain((0.36 * naive**2).mean(axis=1), (naive**2).mean(axis=1), steps, 80) < 0.1
