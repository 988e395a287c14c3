"""Leaks: whatever happens behind a cutoff, nothing said at it may change by a bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from likewise.core import LeakError
from likewise.forecasting import (
    Backtest,
    Blend,
    DirectRidge,
    Forecaster,
    Normaliser,
    Repeat,
    RetrievalForecaster,
    SeasonalNaive,
    TowerSettings,
    WindowNeighbours,
    backtest,
    read_frame,
)
from likewise.forecasting.episodes import explain_origin
from likewise.forecasting.frames import Panel
from likewise.forecasting.holdout import hold_out
from likewise.forecasting.levels import LEVELS
from likewise.forecasting.origins import Origins, futures
from likewise.forecasting.panel import Values
from likewise.forecasting.units import Steps
from likewise.forecasting.windows import Windows

from tests.forecasting.planted import (
    HORIZON,
    LOOKBACK,
    learned_model,
    long_frame,
    two_waves,
    wave,
)

ROWS = 160
FIRST, CUTOFF = 132, 140
# How well they are trained does not matter here.
BRIEF = TowerSettings(steps=6, width=8, hidden=(16,), batch_size=128)
KINDS: list[Any] = ["mean", "last", "z", "none"]
MODELS: dict[str, Callable[[], Forecaster]] = {
    "repeat": lambda: Repeat(HORIZON),
    "seasonal": lambda: SeasonalNaive(HORIZON, 12),
    "ridge": lambda: DirectRidge(HORIZON, LOOKBACK),
    **{
        f"neighbours {kind}": partial(
            WindowNeighbours, HORIZON, LOOKBACK, k=5, normaliser=Normaliser(kind)
        )
        for kind in KINDS
    },
    **{
        f"raw {kind}": partial(
            RetrievalForecaster, HORIZON, LOOKBACK, embedding="raw", normaliser=Normaliser(kind)
        )
        for kind in KINDS
    },
    **{
        f"raw {level}": partial(
            RetrievalForecaster, HORIZON, LOOKBACK, embedding="raw", level=level
        )
        for level in LEVELS
    },
    "corrected": partial(
        RetrievalForecaster,
        HORIZON,
        LOOKBACK,
        embedding="raw",
        level=DirectRidge(HORIZON, LOOKBACK),
    ),
    "matched": partial(RetrievalForecaster, HORIZON, LOOKBACK, embedding="raw", match=[3]),
    "joint": partial(RetrievalForecaster, HORIZON, LOOKBACK, embedding="raw", channels="joint"),
    "learned joint": partial(learned_model, towers=BRIEF, channels="joint"),
    "raw nearest": partial(
        RetrievalForecaster, HORIZON, LOOKBACK, embedding="raw", neighbours=5, stride=2
    ),
    **{
        f"learned {kind}": partial(learned_model, towers=BRIEF, normaliser=Normaliser(kind))
        for kind in KINDS
    },
    "learned nearest": partial(learned_model, towers=BRIEF, neighbours=5),
    "augmentation": partial(learned_model, towers=BRIEF, pairs="augmentation"),
    "blend": lambda: Blend(
        [
            DirectRidge(HORIZON, LOOKBACK),
            SeasonalNaive(HORIZON, 12),
            RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw"),
        ]
    ),
}
UNTRAINED = [name for name in MODELS if not name.startswith(("learned", "augment"))]


def late_frame() -> pl.DataFrame:
    """Two series, and a third that begins between the fit and the cutoff and sorts first."""
    return pl.concat([long_frame({"A": (115, 9 + 2 * wave(45, 7))}), two_waves(ROWS)])


def noise(frame: pl.DataFrame) -> pl.Series:
    return pl.Series(np.random.default_rng(9).normal(0, 40, size=len(frame)))


# What the future is changed into.
FUTURES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "noise": noise,
    "1e9": lambda frame: pl.lit(1e9),
    "tiny": lambda frame: pl.lit(1e-9),
}


def changed(frame: pl.DataFrame, after: int, what: str) -> pl.DataFrame:
    later = pl.when(pl.col("ds") > after).then(FUTURES[what](frame)).otherwise(pl.col("y"))
    return frame.with_columns(y=later)


def said_until(result: Backtest, cutoff: int) -> pl.DataFrame:
    table: pl.DataFrame = result.to_frame()
    return table.filter(pl.col("cutoff") <= cutoff).drop("y")


def run(frame: pl.DataFrame, model: Forecaster, **settings: Any) -> Backtest:
    chosen = {"step_size": 1, "start": FIRST, "level": [80]} | settings
    return backtest(frame, [model], horizon=model.horizon, **chosen)


def assert_blind(model: Callable[[], Forecaster], what: str, **settings: Any) -> None:
    """Nothing said at or before the cutoff differs in a bit between two futures."""
    frame = late_frame()
    one = run(frame, model(), **settings)
    other = run(changed(frame, CUTOFF, what), model(), **settings)
    before = said_until(one, CUTOFF)
    assert before["unique_id"].unique().sort().to_list() == ["A", "a", "b"]
    assert before["cutoff"].max() == CUTOFF
    assert before.equals(said_until(other, CUTOFF))
    for result in (one, other):
        seen = result.manifest.filter(pl.col("cutoff") <= CUTOFF)
        assert (seen["fitted_until"] <= seen["cutoff"]).all()
        assert (seen["index_until"].drop_nulls() <= CUTOFF).all()


@pytest.mark.parametrize("name", MODELS)
def test_what_happens_after_a_cutoff_changes_nothing_said_at_it(name: str) -> None:
    # cases forecasting#1 and #50
    assert_blind(MODELS[name], "1e9")


@pytest.mark.parametrize("what", FUTURES)
@pytest.mark.parametrize("name", ["ridge", "neighbours z", "raw mean", "raw nearest"])
@pytest.mark.parametrize("settings", [{"refit_every": 4}, {"input_size": 80}])
def test_neither_does_it_when_models_are_refitted_or_history_slides(
    name: str, what: str, settings: dict[str, int]
) -> None:
    assert_blind(MODELS[name], what, **settings)


@pytest.mark.parametrize("name", [*UNTRAINED, "learned mean"])
def test_a_future_that_goes_missing_changes_no_more_than_the_order_of_sums(name: str) -> None:
    # Other origins share the batch then, and a matrix product may add in another order.
    frame = two_waves(ROWS)
    holed = frame.with_columns(
        y=pl.when(pl.col("ds").is_between(CUTOFF + 1, ROWS - 2)).then(None).otherwise(pl.col("y"))
    )
    one = run(frame, MODELS[name]())
    other = run(holed, MODELS[name](), gaps="missing")
    judged = said_until(other, CUTOFF)
    kept = said_until(one, CUTOFF - HORIZON)
    assert judged["cutoff"].max() == CUTOFF - HORIZON
    assert judged.select("unique_id", "ds", "cutoff").equals(
        kept.select("unique_id", "ds", "cutoff")
    )
    tolerance = 1e-5 if name.startswith("learned") else 1e-12
    for column in judged.columns[3:]:
        np.testing.assert_allclose(judged[column], kept[column], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["ridge", "neighbours mean", "raw mean", "raw nearest"])
@pytest.mark.parametrize("gap", [(CUTOFF - 3, CUTOFF + 3), (CUTOFF + 1, CUTOFF + 6), (110, 113)])
def test_values_drawn_towards_the_future_are_never_used(name: str, gap: tuple[int, int]) -> None:
    frame = two_waves(ROWS).filter(~pl.col("ds").is_between(*gap))
    one = run(frame, MODELS[name](), gaps="interpolate")
    other = run(changed(frame, CUTOFF, "1e9"), MODELS[name](), gaps="interpolate")
    before = said_until(one, CUTOFF)
    assert before.equals(said_until(other, CUTOFF))
    inside = before.filter(pl.col("cutoff").is_between(*gap))
    assert inside.is_empty()
    if gap[0] <= CUTOFF:
        skipped = one.skipped.filter(
            pl.col("cutoff").is_between(*gap) & (pl.col("cutoff") >= FIRST)
        )
        assert len(skipped) == 2 * sum(step >= FIRST for step in range(gap[0], gap[1] + 1))


@pytest.mark.parametrize("name", ["raw mean", "raw z", "raw nearest", "learned mean"])
def test_an_explanation_knows_nothing_from_after_its_cutoff(name: str) -> None:
    frame = late_frame()
    told = []
    for panel in (read_frame(frame), read_frame(changed(frame, CUTOFF, "1e9"))):
        result = backtest(panel, [MODELS[name]()], horizon=HORIZON, step_size=1, start=FIRST)
        (model,) = result.models.values()
        assert isinstance(model, RetrievalForecaster)
        for series in range(len(panel)):
            origin = Origins(np.array([series]), np.array([CUTOFF]))
            told.append(
                explain_origin(
                    model.index_, model.level_, panel, origin, episodes=6, min_gap=HORIZON
                )
            )
    for one, other in zip(told[:3], told[3:], strict=True):
        assert one.to_frame().equals(other.to_frame())
        assert one.forecast.tolist() == other.forecast.tolist()
        assert (one.rest_weight, one.rest_windows) == (other.rest_weight, other.rest_windows)
        assert one.to_frame()["end"].max() + HORIZON <= CUTOFF


@pytest.mark.parametrize("name", [*UNTRAINED, "learned nearest"])
def test_the_manifest_never_passes_the_cutoff(name: str) -> None:
    # case forecasting#3
    model = MODELS[name]()
    manifest = run(two_waves(ROWS), model, refit_every=9).manifest
    cutoffs = manifest["cutoff"].to_list()
    assert cutoffs == list(range(FIRST, ROWS - HORIZON))
    assert manifest["fitted_until"].to_list() == [FIRST + (c - FIRST) // 9 * 9 for c in cutoffs]
    if isinstance(model, WindowNeighbours | RetrievalForecaster | Blend):
        stride = getattr(model, "stride", 1)
        assert manifest["index_until"].to_list() == [c - c % stride for c in cutoffs]
    else:
        assert manifest["index_until"].null_count() == len(cutoffs)


def test_no_window_learned_from_shares_a_row_with_a_judged_continuation() -> None:
    # case forecasting#5
    panel = read_frame(late_frame())
    result = backtest(panel, [MODELS["raw mean"]()], horizon=HORIZON, step_size=1, start=FIRST)
    learned_from = Windows(
        hold_out(panel.until(FIRST), LOOKBACK, HORIZON).before, LOOKBACK, HORIZON
    )
    assert learned_from.end_steps.max() <= FIRST < (result.origins.steps + 1).min()
    (model,) = result.models.values()
    assert isinstance(model, RetrievalForecaster)
    for cutoff in np.unique(result.origins.steps):
        known = int(model.index_.windows.upto(np.array([cutoff]))[0])
        assert model.index_.windows.end_steps[:known].max() <= cutoff
        assert known == len(model.index_) or model.index_.windows.end_steps[known] > cutoff


class Clairvoyant(Repeat):
    """Says what will happen, and says that it has no index."""

    def expect(self, panel: Panel, origins: Origins) -> Values:
        return np.nan_to_num(futures(panel, origins, self.horizon))


class Unmasked(WindowNeighbours):
    """Searches the whole index at every cutoff, and admits it."""

    def latest_candidates(self, steps: Steps) -> list[int | None]:
        return [int(self.windows_.end_steps[-1])] * len(steps)


class Scaled(Repeat):
    """Looks at nothing from the future but the size of it."""

    def expect(self, panel: Panel, origins: Origins) -> Values:
        return super().expect(panel, origins) + 1e-9 * np.nanmax(panel.values)


@pytest.mark.parametrize("cheat", [Clairvoyant, Scaled])
def test_a_model_that_looks_ahead_is_caught_by_another_future(cheat: type[Repeat]) -> None:
    with pytest.raises(AssertionError):
        assert_blind(lambda: cheat(HORIZON), "noise")


def test_a_model_whose_index_shows_what_came_later_is_refused() -> None:
    with pytest.raises(LeakError, match=r"Unmasked could see step 155 at cutoff 132"):
        run(two_waves(ROWS), Unmasked(HORIZON, LOOKBACK))


def test_a_cheat_that_asks_again_each_cutoff_sees_nothing() -> None:
    # refitted at every cutoff, a model is never handed a row behind it
    result = run(two_waves(ROWS), Clairvoyant(HORIZON), refit_every=1, level=[])
    assert (result.forecasts["Clairvoyant"].mean == 0).all()


@pytest.mark.parametrize("cut", [CUTOFF, CUTOFF + 1, ROWS - 1])
def test_a_fit_sees_the_rows_up_to_its_cutoff_and_no_others(cut: int) -> None:
    frame = late_frame()
    whole = run(frame, MODELS["raw mean"](), start=cut - HORIZON, n_windows=None).to_frame()
    part = run(frame.filter(pl.col("ds") <= cut), MODELS["raw mean"](), start=cut - HORIZON)
    first = pl.col("cutoff") == cut - HORIZON
    for column in ("RetrievalForecaster", "RetrievalForecaster-lo-80"):
        np.testing.assert_allclose(
            whole.filter(first)[column], part.to_frame().filter(first)[column], rtol=1e-12
        )
