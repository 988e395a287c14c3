from __future__ import annotations

import copy
from typing import Any

import numpy as np
import polars as pl
import pytest
from likewise.core import ColumnError, InputError, SettingError, TooFewRows, UnsortedRows
from likewise.forecasting import (
    Normaliser,
    RetrainPolicy,
    RetrievalForecaster,
    check_freshness,
    extend,
    read_frame,
    refresh,
)
from likewise.forecasting.continuations import ContinuationIndex
from likewise.forecasting.growth import goes_on, join_panels, read_more

from tests.forecasting.planted import (
    HORIZON,
    LOOKBACK,
    as_pandas,
    learned_model,
    long_frame,
    two_waves,
    wave,
)

CUT = 160


def grown() -> pl.DataFrame:
    """Two series that go on, one that ends early and goes on later, and one that is new."""
    return long_frame(
        {
            "a": (0, wave(260)),
            "b": (0, 50 + 3 * wave(260, 1)),
            "c": (20, wave(240, 2)),
            "new": (CUT + 1, wave(80, 3)),
        }
    )


def known(frame: pl.DataFrame) -> pl.DataFrame:
    early = pl.col("ds") <= pl.when(pl.col("unique_id") == "c").then(CUT - 25).otherwise(CUT)
    return frame.filter(early)


def same_panel(one: Any, other: Any) -> bool:
    arrays = ("starts", "offsets", "values", "interpolated")
    return one.ids == other.ids and all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=name == "values")
        for name in arrays
    )


@pytest.fixture(params=["learned", "raw", "z"])
def model(request: pytest.FixtureRequest) -> RetrievalForecaster:
    frame = known(grown())
    if request.param == "learned":
        return learned_model().fit(frame)
    normaliser = Normaliser("z") if request.param == "z" else None
    return RetrievalForecaster(
        HORIZON, LOOKBACK, embedding="raw", normaliser=normaliser, stride=1
    ).fit(frame)


def rebuilt(model: RetrievalForecaster) -> ContinuationIndex:
    return ContinuationIndex(
        model.panel_, model.recipe_, model.embedding_, stride=model.stride, neighbours=None
    )


def same_index(one: ContinuationIndex, other: ContinuationIndex) -> bool:
    return np.array_equal(one.index.vectors, other.index.vectors) and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("summaries", "bases", "scales")
    )


def test_an_appended_index_equals_the_rebuilt_one_to_the_bit(model: RetrievalForecaster) -> None:
    whole = grown()
    before = len(model.index_)
    later = whole.join(known(whole), on=["unique_id", "ds"], how="anti")
    extend(model, later)
    assert same_panel(model.panel_, read_frame(whole, freq=1))
    assert len(model.index_) > before
    assert same_index(model.index_, rebuilt(model))


def test_rows_may_come_one_at_a_time(model: RetrievalForecaster) -> None:
    whole = grown()
    later = whole.join(known(whole), on=["unique_id", "ds"], how="anti").filter(pl.col("ds") < 190)
    for step in later["ds"].unique().sort():
        extend(model, later.filter(pl.col("ds") == step))
    assert same_panel(model.panel_, read_frame(whole.filter(pl.col("ds") < 190), freq=1))
    assert same_index(model.index_, rebuilt(model))


def test_old_windows_are_not_encoded_again() -> None:
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw").fit(known(grown()))
    counted = []
    hold = model.embedding_.hold

    def counting(pasts: Any, futures: Any) -> Any:
        counted.append(len(pasts))
        return hold(pasts, futures)

    before = len(model.index_)
    model.embedding_.hold = counting  # type: ignore[method-assign]
    whole = grown()
    extend(model, whole.join(known(whole), on=["unique_id", "ds"], how="anti"))
    # One more row tells how wide the vectors are.
    assert sum(counted) == len(model.index_) - before + 1


def test_a_forecast_after_extending_is_one_from_the_new_end(model: RetrievalForecaster) -> None:
    whole = grown()
    extend(model, whole.join(known(whole), on=["unique_id", "ds"], how="anti"))
    said = model.predict([80])
    assert said["ds"].min() == 241
    assert said["unique_id"].unique().sort().to_list() == ["a", "b", "c", "new"]
    explained = model.explain("new")
    column = model.alias
    forecast = said.filter(unique_id="new")[column].to_numpy()
    assert np.allclose(explained.total(), forecast, atol=1e-6)


def test_an_extended_forecaster_is_saved_and_loaded_to_the_bit(
    model: RetrievalForecaster, tmp_path: Any
) -> None:
    whole = grown()
    extend(model, whole.join(known(whole), on=["unique_id", "ds"], how="anti"))
    model.save(tmp_path / "bundle")
    loaded = RetrievalForecaster.load(tmp_path / "bundle")
    assert loaded.predict([80]).equals(model.predict([80]))
    assert loaded.learned_until_ == CUT
    more = long_frame({"a": (260, wave(20, 5))})
    extend(loaded, more)
    assert same_index(loaded.index_, rebuilt(loaded))


@pytest.mark.parametrize("gaps", ["missing", "zero", "interpolate"])
def test_what_lies_between_is_closed_as_the_reader_closes_it(gaps: Any) -> None:
    whole = grown().filter(~pl.col("ds").is_between(150, 170)).filter(pl.col("ds") != 200)
    early, late = whole.filter(pl.col("ds") < 180), whole.filter(pl.col("ds") >= 180)
    for first, more in ((early, late), (whole.filter(pl.col("ds") < 160), late)):
        panel = read_frame(first, freq=1, gaps=gaps)
        joined = join_panels(panel, read_more(panel, more, gaps), gaps)
        assert same_panel(joined, read_frame(pl.concat([first, more]), freq=1, gaps=gaps))


def test_a_gap_in_between_is_refused_where_gaps_are_errors() -> None:
    panel = read_frame(long_frame({"a": (0, wave(100))}))
    more = read_more(panel, long_frame({"a": (103, wave(9))}), "error")
    with pytest.raises(InputError, match="3 rows of series 'a' are absent before 103"):
        join_panels(panel, more, "error")


def test_what_is_known_is_never_rewritten() -> None:
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw").fit(known(grown()))
    before = model.panel_, model.index_
    with pytest.raises(UnsortedRows, match=r"series 'a' is known until 160.*begin at 160"):
        extend(model, grown().filter(pl.col("ds") >= 160))
    with pytest.raises(ColumnError, match="cast it"):
        extend(model, pl.DataFrame({"unique_id": [1], "ds": [161], "y": [0.0]}))
    assert (model.panel_, model.index_) == before


def test_pandas_rows_extend_a_model_of_pandas_rows() -> None:
    whole = grown()
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw")
    model.fit(as_pandas(known(whole)))
    later = whole.join(known(whole), on=["unique_id", "ds"], how="anti")
    assert type(extend(model, as_pandas(later)).predict()).__module__.startswith("pandas")


def test_hours_go_on_through_a_change_of_the_clocks() -> None:
    # case forecasting#23
    stamps = pl.datetime_range(
        pl.datetime(2024, 3, 20),
        pl.datetime(2024, 4, 5),
        interval="1h",
        eager=True,
        time_zone="UTC",
    ).dt.convert_time_zone("Europe/London")
    whole = pl.DataFrame({"unique_id": "a", "ds": stamps, "y": wave(len(stamps))})
    first, more = whole.head(260), whole.tail(-260)
    panel = read_frame(first)
    assert same_panel(
        join_panels(panel, read_more(panel, more, "error"), "error"), read_frame(whole)
    )


def long_history(rows: int, *, seeds: tuple[int, ...] = (0, 1, 2, 3)) -> pl.DataFrame:
    return long_frame({f"s{seed}": (0, wave(rows, seed)) for seed in seeds})


@pytest.fixture(scope="module")
def lasting() -> tuple[RetrievalForecaster, pl.DataFrame]:
    frame = long_history(600)
    return learned_model().fit(frame.filter(pl.col("ds") < 400)), frame


def lived(lasting: tuple[RetrievalForecaster, pl.DataFrame], **changed: Any) -> RetrievalForecaster:
    import copy

    model, frame = lasting
    later = frame.filter(pl.col("ds") >= 400).with_columns(**changed)
    return extend(copy.deepcopy(model), later)


def test_a_forecaster_whose_world_goes_on_stays_fresh(lasting: Any) -> None:
    found = check_freshness(lived(lasting), RetrainPolicy(grown=0.6))
    assert (found.advice, found.stale) == ("keep", False)
    assert found.grown == pytest.approx(0.5)
    assert found.verdict.table().height == 2


def test_a_world_of_another_shape_asks_for_retraining(lasting: Any) -> None:
    noise = pl.Series(np.random.default_rng(0).normal(size=800))
    found = check_freshness(lived(lasting, y=noise), RetrainPolicy(grown=0.6))
    assert found.advice == "retrain"
    assert "farther than before from their nearest memory" in found.reason


def test_a_noisier_world_no_longer_keeps_its_intervals(lasting: Any) -> None:
    noise = pl.Series(np.random.default_rng(0).normal(size=800, scale=0.6))
    model = lived(lasting, y=pl.col("y") + noise)
    found = check_freshness(model, RetrainPolicy(grown=0.6))
    assert found.stale
    assert not found.verdict.checks[0].ok
    refresh(model)
    again = check_freshness(model, RetrainPolicy(grown=0.6))
    assert again.verdict.checks[0].ok


def test_a_forecaster_that_has_grown_by_the_policys_share_asks_for_retraining(lasting: Any) -> None:
    found = check_freshness(lived(lasting), RetrainPolicy(grown=0.4))
    assert found.advice == "retrain"
    assert "50%" in found.reason


def test_too_short_a_life_gives_no_verdict(lasting: Any) -> None:
    model, _ = lasting
    with pytest.raises(TooFewRows, match="a verdict needs 8 and 20"):
        check_freshness(model)
    with pytest.raises(TooFewRows, match="intervals need 20"):
        refresh(model)
    with pytest.raises(SettingError, match="grown is positive"):
        RetrainPolicy(grown=0)


@pytest.mark.slow
def test_false_alarms_come_no_more_often_than_was_said() -> None:
    alarms = 0
    for run in range(40):
        seeds = tuple(range(4 * run, 4 * run + 4))
        frame = long_history(600, seeds=seeds)
        model = learned_model(seed=run).fit(frame.filter(pl.col("ds") < 400))
        extend(model, frame.filter(pl.col("ds") >= 400))
        alarms += check_freshness(model, RetrainPolicy(grown=9, false_alarm_rate=0.05)).stale
    assert alarms <= 6


def test_an_index_is_taken_over_only_where_the_past_is_as_it_was() -> None:
    frame = two_waves()
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw").fit(
        frame.filter(pl.col("ds") < 150)
    )
    whole = read_frame(frame, freq=1)
    held = model.index_
    model.attach(whole)
    fresh = copy.deepcopy(model)
    del fresh.index_
    fresh.attach(whole)
    np.testing.assert_array_equal(model.index_.index.vectors, fresh.index_.index.vectors)
    np.testing.assert_array_equal(model.index_.summaries, fresh.index_.summaries)
    corrected = read_frame(
        frame.with_columns(y=pl.when(pl.col("ds") == 70).then(99.0).otherwise("y")), freq=1
    )
    assert goes_on(whole, held.windows.panel)
    assert not goes_on(corrected, held.windows.panel)
    model.attach(corrected)
    del fresh.index_
    fresh.attach(corrected)
    np.testing.assert_array_equal(model.index_.index.vectors, fresh.index_.index.vectors)
