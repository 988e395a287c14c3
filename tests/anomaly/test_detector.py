"""The detector of rows, case by case."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from likewise.anomaly import NeighbourDetector, NeighbourOutlier, ProbabilityError
from likewise.core import (
    ColumnError,
    InputError,
    LeakError,
    NonFiniteError,
    ProcedureWarning,
    SettingError,
    ShapeError,
    TooFewRows,
    UnknownId,
)
from scipy import stats

from tests.anomaly.planted import correlated_rows
from tests.naive_anomaly import naive_coreset


@pytest.fixture(scope="module")
def fitted() -> NeighbourDetector:
    """A detector with a learned part; tests that change it make their own."""
    return NeighbourDetector(0.05, seed=1).fit(correlated_rows(400))


@pytest.fixture
def plain() -> NeighbourDetector:
    return NeighbourDetector(0.05, learned=False).fit(correlated_rows(300))


def test_clean_rows_alert_at_about_the_rate_asked_for(fitted: NeighbourDetector) -> None:
    # case anomaly#3
    low, high = stats.binom(2000, 0.05).interval(0.999)
    slack = 2000 * (fitted.calibration_.interval[1] - 0.05)
    alerts = int(fitted.predict(correlated_rows(2000, seed=9)).sum())
    assert low - slack < alerts < high + slack
    assert not hasattr(fitted, "contamination_")


def test_a_far_row_is_stranger_than_every_normal_one(fitted: NeighbourDetector) -> None:
    # case anomaly#6
    far = np.full((1, 4), 30.0)
    assert fitted.decision_function(far)[0] > fitted._held_scores.max()
    assert fitted.decision_function(far)[0] > fitted.decision_scores_.max()
    outlier = NeighbourOutlier(0.05, learned=False).fit(correlated_rows(200))
    assert outlier.predict(far)[0] == -1
    assert outlier.score_samples(far)[0] < outlier.score_samples(correlated_rows(50)).min()


def test_a_broken_dependency_is_seen_though_every_cell_is_ordinary() -> None:
    rows = correlated_rows(600)
    detector = NeighbourDetector(0.05).fit(rows)
    broken = np.array([[1.5, 2.0, -2.5, 3.0], [-1.5, 2.0, 2.5, -3.0]])
    assert detector.trust_.weight > 0
    assert (detector.predict(broken) == 1).all()


def test_no_probability_is_given_and_the_p_value_is_pointed_to(fitted: NeighbourDetector) -> None:
    # case anomaly#5
    with pytest.raises(ProbabilityError, match="rank_among_normals"):
        fitted.predict_proba(correlated_rows(3))
    p = fitted.rank_among_normals(correlated_rows(400, seed=3))
    assert ((p > 0) & (p <= 1)).all()
    assert stats.kstest(p, "uniform").statistic < 0.15


def test_missing_values_are_refused_by_row_and_column_or_left_unscored() -> None:
    # case anomaly#7
    frame = pl.DataFrame(correlated_rows(150), schema=["a", "b", "c", "d"])
    detector = NeighbourDetector(0.05, learned=False).fit(frame)
    rows = correlated_rows(3, seed=2)
    whole = detector.decision_function(rows)
    rows[1, 2] = np.nan
    rows[2, 0] = np.inf
    with pytest.raises(NonFiniteError, match=r"2 faults[\s\S]*row 1, column 'c': NaN"):
        detector.decision_function(rows)
    detector.on_missing = "nan"
    scores = detector.decision_function(rows)
    assert scores[0] == whole[0]
    assert np.isnan(scores[1:]).all()
    assert detector.predict(rows).tolist()[1:] == [0, 0]
    with pytest.raises(NonFiniteError):
        NeighbourDetector(0.05, on_missing="nan").fit(np.full((50, 2), np.nan))


def test_another_number_of_columns_is_refused(plain: NeighbourDetector) -> None:
    # case anomaly#9
    for width in (3, 5):
        with pytest.raises(ShapeError, match=f"{width} features"):
            plain.decision_function(np.zeros((1, width)))


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame])
def test_frames_are_read_by_name_and_name_the_evidence(kind: type) -> None:
    # cases anomaly#9 anomaly#33
    rows = correlated_rows(150)
    frame = kind({name: rows[:, i] for i, name in enumerate("abcd")})
    detector = NeighbourDetector(0.05, learned=False).fit(frame)
    permuted = frame[["d", "b", "a", "c"]]
    assert (detector.decision_function(permuted) == detector.decision_function(frame)).all()
    odd = frame[:1].copy() if kind is pd.DataFrame else frame[:1].clone()
    odd = kind({name: [99.0 if name == "c" else 0.0] for name in "abcd"})
    assert detector.explain(odd)[0].differences[0].column == "c"
    with pytest.raises(ColumnError, match=r"'d' is missing[\s\S]*'e' was not fitted"):
        detector.decision_function(kind({name: [0.0] for name in "abce"}))


def test_ten_copies_keep_scores_finite_and_twins_at_zero() -> None:  # case anomaly#10
    rows = np.concatenate([np.tile([0.1, 0.7], (10, 1)), correlated_rows(40, width=2)])
    with pytest.warns(ProcedureWarning):
        detector = NeighbourDetector(0.5, learned=False).fit(np.tile(rows[:10], (3, 1)))
    assert (detector.decision_scores_ == 0).all()
    detector = NeighbourDetector(0.2, learned=False).fit(rows)
    assert (detector.decision_scores_[:10] == 0).all()
    assert np.isfinite(detector.decision_scores_).all()
    assert 0 < detector.decision_function([[0.1001, 0.7]])[0] < 0.01


def test_rows_that_repeat_make_a_degenerate_threshold(recwarn: pytest.WarningsRecorder) -> None:
    # case anomaly#11
    rows = np.concatenate([np.zeros((285, 2)), correlated_rows(15, width=2)])
    with pytest.warns(ProcedureWarning, match="degenerate"):
        detector = NeighbourDetector(0.1, learned=False).fit(rows)
    assert detector.calibration_.effective_rate == pytest.approx(0.05)


@pytest.mark.parametrize("kind", [np.float32, np.int16, np.uint8, "F"])
def test_number_types_and_memory_orders_agree(kind: object) -> None:  # case anomaly#13
    rows = np.round(np.abs(correlated_rows(120, width=3)) * 40).clip(0, 250)
    given = np.asfortranarray(rows) if kind == "F" else rows.astype(kind)  # type: ignore[call-overload]
    ours = NeighbourDetector(0.1, learned=False).fit(given).decision_function(given[:50] + 1)
    plain = NeighbourDetector(0.1, learned=False).fit(rows).decision_function(rows[:50] + 1)
    np.testing.assert_allclose(ours, plain, rtol=1e-5)


def test_a_score_does_not_depend_on_its_batch(fitted: NeighbourDetector) -> None:
    # case anomaly#15
    rows = correlated_rows(40, seed=5)
    whole = fitted.decision_function(rows)
    alone = np.concatenate([fitted.decision_function(rows[i : i + 1]) for i in range(40)])
    np.testing.assert_allclose(alone, whole, atol=1e-6)


def test_scores_are_distinct_on_continuous_rows(fitted: NeighbourDetector) -> None:
    # case anomaly#17
    scores = fitted.decision_function(correlated_rows(500, seed=6))
    assert len(np.unique(scores)) >= 450


def test_training_scores_leave_the_row_itself_out(plain: NeighbourDetector) -> None:
    # case anomaly#18
    rows = correlated_rows(300)
    keep = np.delete(np.arange(300), 17)
    assert plain._index.kept(keep).score(rows[17:18])[0] == plain.decision_scores_[17]


def test_detectors_share_nothing(plain: NeighbourDetector) -> None:  # case anomaly#18
    rows = correlated_rows(20, seed=4)
    before = plain.decision_function(rows)
    NeighbourDetector(0.05, learned=False).fit(correlated_rows(200, seed=8))
    assert (plain.decision_function(rows) == before).all()


def test_an_unknown_setting_is_refused() -> None:  # case anomaly#19
    with pytest.raises(TypeError):
        NeighbourDetector(contaminaton=0.1)  # type: ignore[call-arg]
    for wrong in ({"k": 0}, {"calibration_share": 1.0}, {"false_alarm_rate": 0.0}):
        with pytest.raises(SettingError):
            NeighbourDetector(**wrong).fit(correlated_rows(150))  # type: ignore[arg-type]


SCRIPT = """
import numpy as np
from likewise.anomaly import NeighbourDetector
rows = np.random.default_rng(0).normal(size=(120, 3))
print(NeighbourDetector(0.1, seed=3).fit(rows).decision_function(rows[:9] + 1).tobytes().hex())
"""


def test_the_same_seed_gives_the_same_scores_in_another_process() -> None:  # case anomaly#19
    runs = [
        subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout


def test_saved_detectors_answer_to_the_bit_and_nothing_is_pickled(
    fitted: NeighbourDetector, tmp_path: Path
) -> None:  # case anomaly#21
    fitted.save(tmp_path / "bundle")
    loaded = NeighbourDetector.load(tmp_path / "bundle")
    rows = correlated_rows(60, seed=7)
    assert (loaded.decision_function(rows) == fitted.decision_function(rows)).all()
    assert loaded.model_.fingerprint == fitted.model_.fingerprint
    assert loaded.calibration_ == fitted.calibration_
    assert loaded.explain(rows) == fitted.explain(rows)
    kinds = {path.suffix for path in (tmp_path / "bundle").rglob("*") if path.is_file()}
    assert kinds <= {".json", ".safetensors", ".parquet"}
    assert (loaded.recalibrate().threshold_) == fitted.threshold_


def test_new_normals_are_appended_without_training_and_can_be_undone() -> None:
    # case anomaly#22
    detector = NeighbourDetector(0.05).fit(correlated_rows(400))
    mode = correlated_rows(120, seed=2) * 0.3 + 12
    probe, far = mode[100:], np.full((5, 4), -40.0)
    hash_before, first = detector.model_.fingerprint, detector.decision_function(probe)
    far_before = detector.decision_function(far)
    assert (first > detector.threshold_).all()
    detector.append(mode[:100])
    assert detector.model_.fingerprint == hash_before
    assert (detector.decision_function(far) <= far_before).all()
    with pytest.warns(ProcedureWarning, match="stale.*100 rows were appended"):
        detector.predict(probe)
    detector.recalibrate()
    assert detector.stale_ == ""
    assert detector.predict(probe).mean() < 0.2
    detector.undo()
    assert (detector.decision_function(probe) == first).all()
    with pytest.raises(SettingError, match="undo"):
        detector.undo()


def test_rows_are_removed_by_id_and_evidence_still_points_at_the_right_ones() -> None:
    # case anomaly#29
    rows = correlated_rows(120)
    names = [f"row {i}" for i in range(120)]
    detector = NeighbourDetector(0.1, learned=False).fit(rows, ids=names)
    detector.remove(["row 3", "row 50"]).append(rows[:2] + 20, ids=["new a", "new b"])
    stored = dict(zip(detector.reference_.ids.tolist(), detector.reference_.rows, strict=True))
    for alert in detector.explain(rows[60:70], only_alerts=False):
        for neighbour in alert.neighbours:
            gap = (stored[neighbour.id] - rows[60 + alert.row]) / detector.model_.standardiser.scale
            assert neighbour.distance == pytest.approx(np.sqrt((gap**2).sum()))
    with pytest.raises(UnknownId, match="row 3"):
        detector.remove(["row 3"])
    detector.retire(before=1) if len(detector.reference_) > 130 else None
    with pytest.raises(TooFewRows):
        detector.retire(before=1)


def test_calibrating_on_the_training_rows_is_a_leak(plain: NeighbourDetector) -> None:
    # case anomaly#2
    with pytest.raises(LeakError, match="stands in the reference set"):
        plain.calibrate(correlated_rows(300))
    with pytest.warns(ProcedureWarning, match="stand in the reference set"):
        plain.calibrate(np.concatenate([correlated_rows(300)[:60], correlated_rows(30, seed=4)]))
    with pytest.raises(TooFewRows):
        plain.calibrate(correlated_rows(5, seed=4))


def test_a_coreset_covers_the_rest_and_equals_its_slow_twin(plain: NeighbourDetector) -> None:
    from likewise.anomaly.coreset import ROUNDS, TRIALS, choose_coreset

    rows = correlated_rows(60)
    drawn, again = np.random.default_rng(3), np.random.default_rng(3)
    expected = naive_coreset(rows, 9, again, TRIALS, ROUNDS)
    assert choose_coreset(rows, 9, drawn).tolist() == expected
    twins = np.repeat(rows[:4], 15, axis=0)
    assert len(set(choose_coreset(twins, 9, drawn).tolist())) == 9
    plain.thin(60).recalibrate()
    assert len(plain.reference_) == 60
    assert plain.calibration_.calibrated_on == 300
    assert plain.predict(np.full((1, 4), 30.0))[0] == 1


def test_fitted_anomalies_are_listed_for_review_and_cost_little() -> None:  # case anomaly#30
    rows = correlated_rows(400)
    planted = np.random.default_rng(3).normal(size=(20, 4)) * 8
    mixed = np.concatenate([rows, planted])
    clean = NeighbourDetector(0.05, learned=False).fit(rows)
    dirty = NeighbourDetector(0.05, learned=False).fit(mixed)
    suspects = {one.row for one in dirty.suspects_}
    assert len(suspects & set(range(400, 420))) >= 12
    assert len(suspects - set(range(400, 420))) <= 8
    fresh, odd = correlated_rows(400, seed=5), np.random.default_rng(4).normal(size=(20, 4)) * 8

    def precision(detector: NeighbourDetector) -> float:
        scores = np.concatenate(
            [detector.decision_function(fresh), detector.decision_function(odd)]
        )
        return float((np.argsort(-scores)[:20] >= 400).mean())

    assert precision(dirty) >= precision(clean) - 0.15


def test_every_alert_carries_its_evidence(fitted: NeighbourDetector) -> None:
    # case anomaly#34
    rows = np.concatenate([correlated_rows(5, seed=11) * 0.1, np.full((2, 4), 15.0)])
    alerts = fitted.explain(rows)
    assert [alert.row for alert in alerts] == [5, 6]
    for alert in alerts:
        assert alert.alerts
        assert alert.margin == pytest.approx(alert.score - fitted.threshold_)
        spaces = [neighbour.space for neighbour in alert.neighbours]
        assert spaces.count("raw") == fitted.k
        assert all(np.isfinite(neighbour.own_score) for neighbour in alert.neighbours)
        assert alert.differences


def test_sparse_complex_and_ragged_rows_are_refused() -> None:
    from scipy.sparse import csr_matrix

    for wrong in (csr_matrix(np.eye(3)), np.eye(3) * 1j, [[1.0], [1.0, 2.0]]):
        with pytest.raises(InputError):
            NeighbourDetector(0.5).fit(wrong)
