"""Columns that are known ahead: read with their faults, learned from, put on what is coming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from likewise.core import ColumnError, InputError, SettingError, TooFewRows
from likewise.forecasting import (
    Blend,
    DirectRidge,
    Forecaster,
    InLogs,
    Repeat,
    RetrievalForecaster,
    WithCovariates,
    backtest,
    cli,
    extend,
    read_frame,
    series_labels,
)
from likewise.forecasting.effects import choose_effects
from likewise.forecasting.holdout import hold_out
from likewise.forecasting.origins import latest_origins
from likewise.forecasting.retail import load_promoted

from tests.forecasting.planted import HORIZON, LOOKBACK, as_pandas, forecasts_at, wave

ROWS = 260
EFFECT = {"a": 2.0, "b": 90.0}


def promoted(rows: int = ROWS, ahead: int = HORIZON, seed: int = 0) -> pl.DataFrame:
    """Two waves with promotions that add twice, and three times, their unit; known ahead."""
    generator = np.random.default_rng(seed)
    parts = []
    for place, (name, unit) in enumerate({"a": 1.0, "b": 30.0}.items()):
        promo = (generator.random(rows + ahead) < 0.2).astype(float)
        y = unit * wave(rows + ahead, place, noise=0.2) + EFFECT[name] * promo
        parts.append(
            pl.DataFrame(
                {
                    "unique_id": [name] * (rows + ahead),
                    "ds": np.arange(rows + ahead),
                    "y": pl.Series(y).scatter(np.arange(rows, rows + ahead), None),
                    "promo": promo,
                    "quiet": generator.normal(size=rows + ahead),
                }
            )
        )
    return pl.concat(parts)


def raw(**settings: Any) -> RetrievalForecaster:
    return RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", **settings)


MODELS = {
    "retrieval": lambda: WithCovariates(raw(), ["promo"], alias="M"),
    "ridge": lambda: WithCovariates(DirectRidge(HORIZON, LOOKBACK), ["promo"], alias="M"),
    "blend": lambda: Blend([WithCovariates(raw(), ["promo"]), DirectRidge(HORIZON, 8)], alias="M"),
    "level": lambda: raw(
        level=WithCovariates(DirectRidge(HORIZON, LOOKBACK), ["promo"]), alias="M"
    ),
}


def test_the_effect_that_was_planted_is_found_and_noise_has_none() -> None:
    panel = read_frame(promoted(600), covariates=["promo", "quiet"])
    model = WithCovariates(DirectRidge(HORIZON, LOOKBACK), ["promo", "quiet"]).fit(panel)
    told = dict(model.tell_effects().filter(covariate="promo").select("unique_id", "effect").rows())
    assert told == pytest.approx(EFFECT, rel=0.05)
    units = {"a": 1.0, "b": 30.0}
    for name, effect in model.tell_effects().filter(covariate="quiet").drop("covariate").rows():
        assert abs(effect) < 0.05 * units[name]


def test_a_season_that_goes_along_with_a_column_is_not_taken_for_its_effect() -> None:
    """On where the wave is high: a plain regression sees an effect of half the wave."""
    rows = 600
    high = np.sin(2 * np.pi * np.arange(rows) / 12) > 0.5
    on = high & (np.random.default_rng(3).random(rows) < 0.7)
    frame = pl.DataFrame(
        {"unique_id": "a", "ds": np.arange(rows), "y": 3 * wave(rows) + 1.0 * on, "on": on}
    )
    panel = read_frame(frame, covariates=["on"])
    held = hold_out(panel, 24, HORIZON)
    found = choose_effects(held.before, panel, ["on"], 24).rates(panel)[0, 0]
    plain = frame.filter("on")["y"].mean() - frame.filter(~pl.col("on"))["y"].mean()  # type: ignore[operator]
    assert abs(found - 1.0) < 0.25
    assert plain > 3.5


def test_columns_that_carry_nothing_are_left_alone() -> None:
    frame = promoted()
    plain = raw(alias="M").fit(frame)
    knowing = WithCovariates(raw(), ["quiet"], alias="M")
    knowing.fit(frame.filter(pl.col("y").is_not_null()).with_columns(quiet=pl.lit(1.0)))
    ahead = frame.filter(pl.col("y").is_null()).select("unique_id", "ds").with_columns(quiet=1.0)
    assert knowing.predict(covariates=ahead).equals(plain.predict())


@pytest.mark.parametrize("name", MODELS)
def test_what_is_coming_is_in_the_forecast(name: str) -> None:
    frame = promoted()
    model = MODELS[name]().fit(frame)
    with_promo = frame.filter(pl.col("y").is_null()).select("unique_id", "ds", promo=pl.lit(1.0))
    without = with_promo.with_columns(promo=pl.lit(0.0))
    high, low = model.predict(covariates=with_promo), model.predict(covariates=without)
    share = 0.3 if name == "blend" else 0.85
    for series, effect in EFFECT.items():
        gain = np.array(forecasts_at(high, series, "M")) - forecasts_at(low, series, "M")
        assert (gain > share * effect).all()
        assert (gain < 1.15 * effect).all()


@pytest.mark.parametrize("name", MODELS)
def test_rows_behind_the_last_target_say_what_is_known_ahead(name: str) -> None:
    frame = promoted()
    ahead = frame.filter(pl.col("y").is_null()).drop("y", "quiet")
    whole = MODELS[name]().fit(frame).predict(level=[80])
    later = MODELS[name]().fit(frame.filter(pl.col("y").is_not_null()))
    assert later.predict(level=[80], covariates=ahead).equals(whole)
    if name != "blend":
        again = MODELS[name]().fit(as_pandas(frame.drop("quiet")))
        table = again.predict(level=[80], covariates=as_pandas(ahead))
        assert type(table).__module__.startswith("pandas")
        np.testing.assert_allclose(table["M"], whole["M"], rtol=1e-12)


def test_knowing_betters_the_backtest() -> None:
    frame = promoted(400, 0)
    models: list[Forecaster] = [
        raw(alias="plain"),
        WithCovariates(raw(), ["promo"], alias="knowing"),
        InLogs(WithCovariates(Repeat(HORIZON), ["promo"]), alias="logs"),
    ]
    high = frame.with_columns(pl.col("y") + 300)
    result = backtest(high, models, horizon=HORIZON, n_windows=20, level=[80])
    scores = {row["model"]: row for row in result.scores().iter_rows(named=True)}
    assert scores["knowing"]["mae"] < 0.5 * scores["plain"]["mae"]
    assert 0.6 < scores["knowing"]["coverage-80"] < 0.95


@pytest.mark.parametrize("name", MODELS)
def test_nothing_behind_the_steps_that_are_forecast_is_looked_at(name: str) -> None:
    # case forecasting#50
    frame, cutoff = promoted(), 200
    later = pl.col("ds") > cutoff
    noise = pl.lit(np.random.default_rng(4).normal(size=len(frame)))

    def said(changed: pl.DataFrame) -> Any:
        panel = read_frame(changed, covariates=["promo", "quiet"])
        model = MODELS[name]().fit_panel(panel.until(180))
        known = panel.until(cutoff)
        model.attach(known)
        return model.forecast(known, latest_origins(known), [80])

    before = said(frame)
    known_ahead = pl.col("ds") > cutoff + HORIZON
    changes = {
        "target": {"y": pl.when(later & pl.col("y").is_not_null()).then(noise).otherwise("y")},
        "known too far ahead": {"promo": pl.when(known_ahead).then(noise).otherwise("promo")},
    }
    for change in changes.values():
        after = said(frame.with_columns(**change))
        np.testing.assert_array_equal(after.mean, before.mean)
        np.testing.assert_array_equal(after.bands[80], before.bands[80])
    coming = said(frame.with_columns(promo=pl.when(later).then(noise).otherwise("promo")))
    assert not np.array_equal(coming.mean, before.mean)


def test_effects_and_episodes_add_up_to_the_forecast() -> None:
    model = WithCovariates(raw(), ["promo", "quiet"], alias="M").fit(promoted())
    told = model.explain("b")
    effects = model.explain_effects("b")
    assert effects.columns == ["ds", "promo", "quiet"]
    assert effects["ds"].to_list() == list(range(ROWS, ROWS + HORIZON))
    added = effects.select("promo", "quiet").to_numpy().sum(axis=1)
    np.testing.assert_allclose(
        told.total() + added, forecasts_at(model.predict(), "b", "M"), rtol=1e-9
    )
    with pytest.raises(SettingError, match="has no index"):
        WithCovariates(Repeat(HORIZON), ["promo"]).fit(promoted()).explain()


@pytest.mark.parametrize(
    "member",
    [
        WithCovariates(raw(), ["promo"]),
        InLogs(WithCovariates(raw(), ["promo"])),
        raw(level=WithCovariates(DirectRidge(HORIZON, LOOKBACK), ["promo"])),
        WithCovariates(DirectRidge(HORIZON, LOOKBACK), ["promo"]),
    ],
    ids=["retrieval", "in logs", "as a level", "direct"],
)
def test_a_stored_blend_with_it_answers_to_the_bit(member: Forecaster, tmp_path: Path) -> None:
    frame = promoted().with_columns(pl.col("y") + 300)
    blend = Blend([member, DirectRidge(HORIZON, LOOKBACK, alias="plain")]).fit(frame)
    blend.save(tmp_path / "bundle")
    again = Blend.load(tmp_path / "bundle")
    assert again.predict(level=[80]).equals(blend.predict(level=[80]))
    ahead = frame.filter(pl.col("y").is_null()).select("unique_id", "ds", promo=pl.lit(1.0))
    assert again.predict(covariates=ahead).equals(blend.predict(covariates=ahead))


def test_a_stored_forecaster_on_its_level_answers_to_the_bit(tmp_path: Path) -> None:
    model = MODELS["level"]().fit(promoted())
    assert isinstance(model, RetrievalForecaster)
    model.save(tmp_path / "bundle")
    again = RetrievalForecaster.load(tmp_path / "bundle")
    assert again.predict(level=[80]).equals(model.predict(level=[80]))
    more = promoted(ROWS + 20).filter(pl.col("ds") >= ROWS)
    grown = extend(again, more)
    whole = read_frame(
        pl.concat([promoted().filter(pl.col("ds") < ROWS), more]), covariates=["promo"]
    )
    np.testing.assert_array_equal(grown.panel_.known(), whole.known())
    assert len(grown.predict()) == 2 * HORIZON


def test_in_logs_effects_are_shares() -> None:
    rows = 400
    promo = (np.random.default_rng(1).random(rows + HORIZON) < 0.2).astype(float)
    level = np.exp(0.3 * wave(rows + HORIZON) + 0.004 * np.arange(rows + HORIZON))
    frame = pl.DataFrame(
        {
            "unique_id": "a",
            "ds": np.arange(rows + HORIZON),
            "y": pl.Series(level * 1.5**promo).scatter(np.arange(rows, rows + HORIZON), None),
            "promo": promo,
        }
    )
    model = InLogs(WithCovariates(raw(), ["promo"]), alias="M").fit(frame)
    ahead = frame.tail(HORIZON).select("unique_id", "ds", promo=pl.lit(1.0))
    high = model.predict(covariates=ahead)["M"].to_numpy()
    low = model.predict(covariates=ahead.with_columns(promo=pl.lit(0.0)))["M"].to_numpy()
    np.testing.assert_allclose(high / low, 1.5, rtol=0.1)


def test_a_new_series_takes_the_shared_effect() -> None:
    frame = promoted()
    new = frame.filter(unique_id="a").tail(40).with_columns(unique_id=pl.lit("new"))
    model = WithCovariates(raw(), ["promo"], alias="M").fit(frame)
    rates = model.effects_.rates(read_frame(pl.concat([frame, new]), covariates=["promo"]))
    assert rates[2, 0] > 0


@pytest.mark.parametrize("gaps", ["missing", "interpolate"])
def test_holes_in_the_target_do_not_stop_it(gaps: Any) -> None:
    frame = promoted().filter(~pl.col("ds").is_between(50, 60))
    model = WithCovariates(raw(gaps=gaps), ["promo"], alias="M").fit(frame)
    told = dict(model.tell_effects().select("unique_id", "effect").rows())
    assert told == pytest.approx(EFFECT, rel=0.15)


def test_a_hole_that_means_zero_needs_its_covariates() -> None:
    frame = promoted().filter(~pl.col("ds").is_between(50, 60))
    with pytest.raises(
        InputError, match=r"have no 'promo' beside them, the first of series 'a' at 50"
    ):
        WithCovariates(Repeat(HORIZON, gaps="zero"), ["promo"]).fit(frame)


def test_series_whose_covariates_end_too_early_are_named() -> None:
    frame = promoted().filter(~((pl.col("unique_id") == "b") & (pl.col("ds") >= ROWS + 2)))
    model = WithCovariates(raw(), ["promo"], alias="M").fit(frame)
    assert model.predict()["unique_id"].unique().to_list() == ["a"]
    assert model.skipped_ == {"b": f"promo must be known for {HORIZON} steps ahead"}
    with pytest.raises(TooFewRows, match="promo must be known for 4 steps ahead"):
        WithCovariates(raw(), ["promo"]).fit(frame.filter(pl.col("ds") < ROWS)).predict()


def test_faults_of_covariates_are_told_with_their_rows() -> None:
    frame = promoted()
    holes = frame.with_columns(
        promo=pl.when(pl.col("ds").is_in([3, ROWS + 1])).then(None).otherwise("promo"),
        quiet=pl.when(pl.col("ds") == 5).then(np.inf).otherwise("quiet"),
    )
    with pytest.raises(InputError) as told:
        read_frame(holes, covariates=["promo", "quiet"])
    assert "row 3 ('a' at 3) has no 'promo'; fill it in" in str(told.value)
    assert "row 5 ('a' at 5) has an infinite 'quiet'" in str(told.value)
    assert f"at {ROWS + 1})" not in str(told.value)
    with pytest.raises(
        ColumnError, match=r"no column 'prmo'.*did you mean covariates\[0\]='promo'"
    ):
        read_frame(frame, covariates=["prmo"])
    words = frame.with_columns(promo=pl.lit("yes"))
    with pytest.raises(ColumnError, match="covariate 'promo' holds String, not numbers"):
        read_frame(words, covariates=["promo"])
    far = pl.concat([frame, frame.tail(1).with_columns(ds=pl.lit(10**9, dtype=pl.Int64))])
    with pytest.raises(InputError, match="rows are absent from a frame"):
        read_frame(far, freq=1, covariates=["promo"])


def test_settings_and_frames_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SettingError, match="list of different names"):
        WithCovariates(Repeat(2), "promo")
    with pytest.raises(SettingError, match="list of different names"):
        WithCovariates(Repeat(2), ["promo", "promo"])
    panel = read_frame(promoted())
    with pytest.raises(ColumnError, match=r"carries no covariate 'promo' \(it carries none"):
        WithCovariates(Repeat(HORIZON), ["promo"]).fit(panel)
    plain = Repeat(HORIZON).fit(promoted())
    with pytest.raises(SettingError, match="looks at none; wrap it"):
        plain.predict(covariates=promoted().tail(HORIZON))


def test_what_is_read_ahead_is_checked_like_any_frame() -> None:
    model = WithCovariates(Repeat(HORIZON), ["promo"]).fit(promoted(ahead=0))
    ahead = promoted().filter(pl.col("ds") >= ROWS).drop("y", "quiet")
    with pytest.raises(InputError, match="has no 'promo'"):
        model.predict(covariates=ahead.with_columns(promo=None))
    with pytest.raises(ColumnError, match="no column 'promo'"):
        model.predict(covariates=ahead.drop("promo"))
    assert len(model.predict(covariates=ahead)) == 2 * HORIZON


def test_the_command_line_takes_covariates(tmp_path: Path) -> None:
    path = tmp_path / "promoted.csv"
    promoted().write_csv(path)
    command = ["backtest", str(path), "--horizon", "4", "--lookback", "16", "--model", "ridge"]
    plain = CliRunner().invoke(cli.forecast, command)
    knowing = CliRunner().invoke(cli.forecast, [*command, "--covariate", "promo"])
    assert knowing.exit_code == 0, knowing.output
    assert plain.output != knowing.output
    wide = tmp_path / "wide.csv"
    pl.DataFrame({"a": wave(80), "promo": np.ones(80)}).write_csv(wide)
    refused = CliRunner().invoke(
        cli.forecast, ["backtest", str(wide), *command[2:], "--covariate", "promo"]
    )
    assert isinstance(refused.exception, ColumnError)
    assert "is wide" in str(refused.exception)


def test_series_are_matched_by_a_column_of_theirs() -> None:
    frame = promoted().with_columns(
        kind=pl.when(unique_id="a").then(pl.lit("x")).otherwise(pl.lit("y"))
    )
    labels = series_labels(frame, "kind")
    assert labels == {"a": "x", "b": "y"}
    assert series_labels(as_pandas(frame.drop("y")), "kind") == labels
    told = raw(match=[labels]).fit(frame).explain("b")
    assert {episode.series_id for episode in told.episodes} == {"b"}
    changing = frame.with_columns(
        kind=pl.when(pl.col("ds") == 7).then(pl.lit("z")).otherwise("kind")
    )
    with pytest.raises(InputError, match="series 'a' is both 'x' and 'z' in 'kind'"):
        series_labels(changing, "kind")
    with pytest.raises(ColumnError, match="no column 'sort'"):
        series_labels(frame, "sort")


def test_real_promotions_are_worth_knowing() -> None:
    frame = load_promoted(60)
    assert frame.group_by("unique_id").len()["len"].unique().to_list() == [52]
    assert frame.select(pl.min_horizontal("y", "display", "mailer").min()).item() == 0
    ridge = DirectRidge(2, 12, alias="blind")
    models = [ridge, WithCovariates(ridge, ["display", "mailer"], alias="knowing")]
    result = backtest(frame, models, horizon=2, n_windows=10, step_size=1)
    mase = dict(result.scores().select("model", "mase").rows())
    assert mase["knowing"] < 0.95 * mase["blind"]
