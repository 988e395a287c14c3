"""The register: what is blind on purpose comes out blind, and nothing is seen unmeasured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from likewise.anomaly import (
    WINDOW_FAULTS,
    Injection,
    Invariance,
    NeighbourDetector,
    SeriesDetector,
    WindowLearning,
    measure_register,
    measure_row_register,
    measure_window_register,
)
from likewise.anomaly.blindspots import judge, wilson
from likewise.anomaly.corruption import NEGATIVES, ROW_FAULTS, Population
from likewise.anomaly.injection import draw_faults
from likewise.anomaly.matrix import draw_register, register_blocks, register_table
from likewise.core import Page, Reversal, Scaling

from tests.anomaly.planted import correlated_rows, long_frame, saw


@pytest.fixture(scope="module")
def rows() -> NeighbourDetector:
    detector = NeighbourDetector(0.05, learned=False).fit(correlated_rows(300))
    measure_row_register(detector)
    return detector


def test_every_kind_and_severity_gets_200_injections(rows: NeighbourDetector) -> None:
    register = rows.register_
    assert register is not None
    assert register.kinds == tuple(fault.name for fault in ROW_FAULTS)
    for cell in register.measurements:
        assert cell.injections == 200
        assert set(cell.rivals) == {"raw nearest neighbours"}
        assert cell.interval[0] <= cell.recall <= cell.interval[1]
    assert register.status("far cluster") == "seen"


def test_raw_neighbours_alone_are_their_own_rival(rows: NeighbourDetector) -> None:
    register = rows.register_
    assert register is not None
    assert all(cell.found == next(iter(cell.rivals.values())) for cell in register.measurements)


def test_the_register_travels_with_the_bundle(rows: NeighbourDetector, tmp_path: Path) -> None:
    rows.save(tmp_path / "bundle")
    assert NeighbourDetector.load(tmp_path / "bundle").register_ == rows.register_


def test_fitting_again_forgets_the_register() -> None:
    detector = NeighbourDetector(0.1, learned=False).fit(correlated_rows(100))
    measure_row_register(detector)
    assert detector.fit(correlated_rows(100, seed=2)).register_ is None


def test_unmeasured_is_a_status() -> None:
    register = measure_register(
        lambda samples: samples[:, 0],
        {},
        np.random.default_rng(0).normal(size=(200, 1)),
        [Injection("shift", (9.0,), lambda samples, size, _: samples + size)],
        budget=0.05,
        invariances=[Invariance("sphere", "length", ("amplitude", "shift"))],
    )
    assert register.status("shift") == "seen"
    assert register.status("amplitude") == "unmeasured"
    assert register.status("never heard of") == "unmeasured"
    assert "not measured on amplitude" in register.sentence()


def test_statuses_follow_their_intervals() -> None:
    assert judge(200, 200) == "seen"
    assert judge(0, 200) == "blind"
    assert judge(130, 200, [199]) == "weakened"
    assert judge(60, 200) == "weakened"
    assert judge(199, 199) == "unmeasured"
    assert wilson(0, 0) == (0.0, 1.0)
    assert (
        np.mean(
            [
                wilson(hits, 200)[0] <= 0.3 <= wilson(hits, 200)[1]
                for hits in np.random.default_rng(0).binomial(200, 0.3, 400)
            ]
        )
        > 0.9
    )


def test_every_window_fault_changes_finite_windows_and_keeps_their_shape() -> None:
    windows = np.stack([saw(24, seed, 2) for seed in range(40)])
    for fault in WINDOW_FAULTS:
        for severity in fault.severities:
            spoilt = fault.inject(windows.copy(), severity, np.random.default_rng(1))
            assert spoilt.shape == windows.shape
            assert np.isfinite(spoilt).all()
            changed = (spoilt != windows).any(axis=(1, 2))
            assert changed.mean() > 0.7, fault.name
    drawn = draw_faults(windows, 100, np.random.default_rng(0))
    assert drawn.shape == (100, 24, 2)
    assert np.isfinite(drawn).all()


def test_every_row_fault_changes_finite_rows_and_negatives_differ_each_time() -> None:
    rows = correlated_rows(80)
    for fault in ROW_FAULTS:
        spoilt = fault.inject(rows, Population(rows), 0.8, np.random.default_rng(1))
        assert spoilt.shape == rows.shape
        assert np.isfinite(spoilt).all()
        assert (spoilt != rows).any(axis=1).mean() > 0.5, fault.name
    draw = np.random.default_rng(0)
    assert not np.array_equal(*(NEGATIVES.draw(Population(rows), 50, draw) for _ in range(2)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("augmentation", "hidden", "seen"),
    [(Reversal(), "reversal", "spike"), (Scaling(1.0), "amplitude", "foreign pattern")],
)
def test_a_policy_that_blinds_on_purpose_is_blind_to_just_that(
    augmentation: Reversal | Scaling, hidden: str, seen: str
) -> None:
    frame = long_frame(saw(3000))
    detector = SeriesDetector(
        0.02,
        lookback=48,
        parts=("learned",),
        augmentations=(augmentation,),
        learning=WindowLearning(steps=300),
    ).fit(frame)
    register = measure_window_register(detector)
    assert register.status(hidden) == "blind"
    assert register.of(seen)[-1].recall > 0.75
    assert any(hidden in one.may_hide for one in register.invariances)
    strongest = register.of(hidden)[-1]
    assert strongest.rivals["raw-window neighbours"] == 200
    assert "raw-window neighbours" in strongest.rivals
    assert f"without {augmentation.name}" in strongest.rivals


@pytest.mark.slow
def test_raw_windows_beside_the_embedding_see_amplitudes_it_is_blind_to() -> None:
    frame = long_frame(saw(3000))
    alone = SeriesDetector(0.02, lookback=48, parts=("learned",)).fit(frame)
    both = SeriesDetector(0.02, lookback=48, parts=("window", "learned")).fit(frame)
    few, more = measure_window_register(alone), measure_window_register(both)
    for kind in ("spike", "level shift", "amplitude"):
        for seen, seen_alone in zip(more.of(kind), few.of(kind), strict=True):
            assert seen.recall >= seen_alone.recall
    assert more.of("spike")[0].recall > few.of("spike")[0].recall + 0.5


def test_a_register_is_drawn_and_laid_out(rows: NeighbourDetector) -> None:
    register = rows.register_
    assert register is not None
    svg = draw_register(register)
    assert svg.startswith("<svg")
    assert "broken dependency" in svg
    assert "status" in register_table(register).as_text()
    page = Page("Blind spots").add(*register_blocks(register)).html()
    assert "Declared invariances" in page
