"""The detector of series, case by case."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from likewise.anomaly import SeriesDetector, Stream, explain_window, measure_window_register
from likewise.anomaly.series import GAP, TOO_EARLY
from likewise.anomaly.window_evidence import SHOWN_NEIGHBOURS
from likewise.anomaly.window_parts import PARTS
from likewise.anomaly.windows import cover
from likewise.core import (
    ColumnError,
    DuplicateRows,
    InputError,
    Jitter,
    ProcedureWarning,
    SettingError,
    ShapeError,
    TooFewRows,
    UnknownId,
)
from sklearn.exceptions import NotFittedError

from tests.anomaly.planted import QUICK, long_frame, saw
from tests.naive_anomaly import naive_cover


@pytest.fixture(scope="module")
def learned() -> SeriesDetector:
    detector = SeriesDetector(0.05, lookback=24, parts=PARTS, learning=QUICK)
    return detector.fit(long_frame(saw(900)))


@pytest.fixture(scope="module")
def fast() -> SeriesDetector:
    return SeriesDetector(0.05, lookback=24).fit(long_frame(saw(900)))


def spiked(count: int = 200, at: int = 120) -> np.ndarray:
    values = saw(count, seed=5)
    values[at] += 4
    return values


def test_every_stamp_gets_a_row_and_a_spike_peaks_where_it_is(learned: SeriesDetector) -> None:
    # case anomaly#25
    answer = learned.score(long_frame(spiked()))
    assert answer.height == 200
    assert answer.columns == ["ds", "score", "alert", "reason"]
    assert answer["score"].to_numpy()[23:].argmax() + 23 == 120
    assert answer["reason"][:23].unique().to_list() == [TOO_EARLY]
    assert answer["score"][:23].is_nan().all()
    assert answer["alert"][120]


@pytest.mark.parametrize("stride", [1, 10, 24])
def test_strides_cover_the_tail_too(stride: int) -> None:  # cases anomaly#25 anomaly#26
    detector = SeriesDetector(0.05, lookback=24, mode="covering")
    detector.fit(long_frame(saw(600)))
    answer = detector.score(long_frame(spiked(203, 100)), stride=stride)
    assert answer.height == 203
    scores = answer["score"].to_numpy()
    assert np.isfinite(scores).all()
    assert abs(int(scores.argmax()) - 100) < 24


def test_a_stride_is_refused_where_every_stamp_needs_its_window(fast: SeriesDetector) -> None:
    with pytest.raises(SettingError, match="causal"):
        fast.score(long_frame(saw(100)), stride=2)


def test_a_longer_range_changes_nothing_before(learned: SeriesDetector) -> None:
    # case anomaly#27
    values = spiked()
    whole, _ = learned.score_values(values)
    part, _ = learned.score_values(values[:150])
    assert np.array_equal(whole[:150], part, equal_nan=True)


def test_a_stream_equals_the_batch(learned: SeriesDetector) -> None:
    values = spiked(140)
    whole, _ = learned.score_values(values)
    stream = Stream(learned)
    streamed = [stream.push(step) for step in values]
    assert np.array_equal([one.score for one in streamed], whole, equal_nan=True)
    assert streamed[120].alert
    assert streamed[0].reason == TOO_EARLY
    later = Stream(learned, history=values[:100])
    assert later.push(values[100]).score == whole[100]
    with pytest.raises(ShapeError, match="1 channels"):
        stream.push([1.0, 2.0])


def test_a_gap_leaves_its_windows_unscored_with_a_reason(fast: SeriesDetector) -> None:
    values = spiked()
    values[60] = np.nan
    scores, reasons = fast.score_values(values)
    assert np.isnan(scores[60:84]).all()
    assert set(reasons[60:84]) == {GAP}
    assert np.isfinite(scores[84:]).all()


def test_covering_equals_its_slow_twin() -> None:
    draw = np.random.default_rng(0)
    at_end = draw.uniform(0.1, 3, 60)
    at_end[draw.integers(0, 60, 15)] = np.nan
    np.testing.assert_allclose(cover(at_end, 7), naive_cover(at_end.tolist(), 7), rtol=1e-9)


@pytest.mark.parametrize("pooling", ["series", "pooled"])
def test_several_series_and_channels(pooling: str) -> None:
    frames = [long_frame(saw(500, seed, 2), name) for seed, name in enumerate(("b", "a"))]
    detector = SeriesDetector(0.05, lookback=24, pooling=pooling)
    detector.fit(pl.concat(frames))
    values = saw(100, 9, 2)
    values[70, 1] = -3
    answer = detector.score(long_frame(values, "b"))
    assert answer["unique_id"].unique().to_list() == ["b"]
    assert answer["score"].to_numpy()[23:].argmax() + 23 == 70
    stranger = long_frame(values, "new")
    if pooling == "pooled":
        assert detector.score(stranger)["alert"][70]
    else:
        with pytest.raises(UnknownId, match="pooling='pooled'"):
            detector.score(stranger)


def test_the_answer_is_of_the_caller_s_kind(fast: SeriesDetector) -> None:
    values = spiked(60, 40)
    frame = pd.DataFrame({"ds": np.arange(60), "c0": values[:, 0]})
    answer = fast.score(frame)
    assert isinstance(answer, pd.DataFrame)
    assert list(answer.columns) == ["ds", "score", "alert", "reason"]


def test_faulty_frames_are_refused_with_every_fault(fast: SeriesDetector) -> None:
    frame = long_frame(saw(60))
    with pytest.raises(ColumnError, match=r"no column 'ds'[\s\S]*channel 'c0' is String"):
        SeriesDetector(0.05).fit(pl.DataFrame({"time": [1], "c0": ["x"]}))
    with pytest.raises(DuplicateRows):
        fast.score(pl.concat([frame, frame[:1]]))
    with pytest.raises(ColumnError, match="'c0' is missing"):
        fast.score(frame.rename({"c0": "other"}))
    with pytest.raises(InputError):
        fast.score([1, 2])
    with pytest.raises(TooFewRows):
        SeriesDetector(0.05, lookback=24).fit(frame[:30])
    for wrong in ({"parts": ("nose",)}, {"mode": "oracle"}, {"lookback": 1}):
        with pytest.raises(SettingError):
            SeriesDetector(0.05, **wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"jitter.*add 'learned' to parts"):
        SeriesDetector(0.05, augmentations=(Jitter(0.2),))


def test_thinned_references_are_told(fast: SeriesDetector) -> None:
    detector = SeriesDetector(0.05, lookback=24, reference_size=100)
    detector.fit(long_frame(saw(900)))
    assert any("100 of 877 normal windows" in note for note in detector.notes_)


def test_saved_detectors_answer_to_the_bit(tmp_path: Path) -> None:  # case anomaly#21
    detector = SeriesDetector(
        0.05, lookback=24, parts=PARTS, learning=QUICK, augmentations=(Jitter(0.2),)
    )
    detector.fit(long_frame(saw(600)))
    detector.save(tmp_path / "bundle")
    loaded = SeriesDetector.load(tmp_path / "bundle")
    values = spiked()
    assert np.array_equal(
        loaded.score_values(values)[0], detector.score_values(values)[0], equal_nan=True
    )
    assert loaded.augmentations == detector.augmentations
    assert loaded.threshold() == detector.threshold()


def test_later_normals_are_compared_with_until_undone(tmp_path: Path) -> None:
    detector = SeriesDetector(0.05, lookback=24).fit(long_frame(saw(900)))
    other = saw(300, seed=7) + 6.0
    before = detector.score(long_frame(other))["score"].to_numpy()
    assert np.nanmedian(before) > detector.threshold().value
    detector.append(long_frame(other[:200]))
    with pytest.warns(ProcedureWarning, match="stale"):
        after = detector.score(long_frame(other))["score"].to_numpy()
    assert (after[23:] <= before[23:] + 1e-9).all()
    assert np.nanmedian(after[200:]) < np.nanmedian(before[200:]) / 2
    detector.recalibrate()
    detector.save(tmp_path / "bundle")
    loaded = SeriesDetector.load(tmp_path / "bundle")
    assert loaded.threshold() == detector.threshold()
    assert len(loaded.fitted_["series"].stretches) == 2
    assert np.array_equal(detector.score(long_frame(other))["score"], after, equal_nan=True)
    detector.undo()
    assert np.array_equal(detector.score(long_frame(other))["score"], before, equal_nan=True)
    with pytest.raises(SettingError, match="nothing to undo"):
        detector.undo()
    with pytest.raises(TooFewRows, match="whole window of 24"):
        detector.append(long_frame(other[:10]))


def test_nothing_answers_before_the_fit(tmp_path: Path) -> None:
    frame = long_frame(saw(60))
    detector = SeriesDetector(0.05, lookback=24)
    for ask in (
        detector.score,
        detector.append,
        detector.score_values,
        lambda _: detector.threshold(),
        lambda _: detector.recalibrate(),
        lambda _: detector.undo(),
        lambda _: detector.save(tmp_path / "bundle"),
        lambda _: measure_window_register(detector),
        lambda _: Stream(detector),
    ):
        with pytest.raises(NotFittedError, match="SeriesDetector has no normal series"):
            ask(frame)


def test_the_evidence_of_a_window_names_the_step(learned: SeriesDetector) -> None:
    alert = explain_window(learned, spiked(), 120)
    assert alert.margin > 0
    assert alert.differences[0].steps_before == 0
    assert len(alert.neighbours) == SHOWN_NEIGHBOURS
    assert set(alert.parts) == set(PARTS)
    for neighbour in alert.neighbours:
        stored = saw(900)[neighbour.end - 23 : neighbour.end + 1]
        np.testing.assert_allclose(neighbour.values, stored, atol=1e-9)
    with pytest.raises(InputError, match="no window"):
        explain_window(learned, spiked(), 3)


def test_a_long_series_is_scored_in_bounded_memory(fast: SeriesDetector) -> None:
    # case anomaly#23
    import tracemalloc

    values = np.tile(saw(4_800), (12, 1))
    tracemalloc.start()
    scores, _ = fast.score_values(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(scores[23:]).all()
    assert peak < 80e6


@pytest.mark.slow
def test_a_year_of_minutes_is_scored_in_bounded_memory(fast: SeriesDetector) -> None:
    import tracemalloc

    values = np.tile(saw(4_380), (120, 1))
    tracemalloc.start()
    scores, _ = fast.score_values(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(scores) == 525_600
    assert peak < 200e6
