"""What a coreset remembers of the rows that went: near twins, and no row twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from likewise.anomaly import NeighbourDetector
from likewise.anomaly.coreset import choose_coreset
from likewise.anomaly.distances import Lengths
from likewise.anomaly.sketch import LEVELS, MOST, PROBED, Sketched, Sketches
from likewise.core import TooFewRows
from sklearn.metrics import roc_auc_score

from tests.anomaly.planted import correlated_rows
from tests.naive_anomaly import naive_sketched

UNNUMBERED = np.full(1000, -1)


def grouped(draw: np.random.Generator, centres: np.ndarray, each: int) -> np.ndarray:
    """Near twins around each centre."""
    rows = np.repeat(centres, each, axis=0)
    return rows + 0.02 * draw.normal(size=rows.shape)


@pytest.mark.parametrize(("size", "k"), [(8, 3), (60, 5)])
def test_neighbours_equal_plain_loops(size: int, k: int) -> None:
    rows, queries = correlated_rows(120), correlated_rows(25, seed=1)
    kept, gone = rows[:size], rows[size:]
    searcher = Sketched(Lengths(kept), kept, Sketches.of(kept, gone, UNNUMBERED[: len(gone)]))
    found = searcher.nearest(queries, k)
    for at, query in enumerate(queries):
        expected = naive_sketched(kept, gone, query, k, PROBED, MOST, LEVELS)
        assert found.distances[at] == pytest.approx([one for one, _ in expected], rel=1e-4)
        assert found.rows[at].tolist() == [row for _, row in expected]


def test_a_kept_row_remembers_the_farthest_of_many() -> None:
    kept, gone = np.zeros((1, 2)), np.linspace(0, 1, 2 * MOST)[:, None] * np.ones((1, 2))
    sketches = Sketches.of(kept, gone, np.arange(2 * MOST))
    assert sorted(sketches.number.tolist()) == list(range(MOST, 2 * MOST))
    assert sketches.restored(kept) == pytest.approx(gone[sketches.number], abs=0.5 / LEVELS)


def test_rows_are_left_out_by_number_and_still_tell_of_those_beside_them() -> None:
    kept = np.array([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0]])
    gone = np.array([[1.0, 0.0], [3.0, 0.0]])
    searcher = Sketched(Lengths(kept), kept, Sketches.of(kept, gone, np.array([0, 1])))

    def nearest(query: np.ndarray, out: int) -> float:
        return float(searcher.nearest(query[None], 1, leave_out=np.array([out])).distances[0, 0])

    assert nearest(kept[0], -1) == 0
    step = 3 / LEVELS
    assert nearest(kept[0], 0) == pytest.approx(1, abs=step)
    assert nearest(gone[0], 3) == pytest.approx(1, abs=step)
    assert nearest(gone[0], 4) == pytest.approx(0, abs=step)
    with pytest.raises(TooFewRows, match="3 rows kept"):
        searcher.nearest(kept, 3, leave_out=np.arange(3))


def test_near_twins_of_rows_that_went_are_told_from_rows_between_them() -> None:
    draw = np.random.default_rng(0)
    centres = draw.uniform(-1, 1, size=(400, 3))
    rows, fresh = grouped(draw, centres, 5), grouped(draw, centres, 1)
    odd = draw.uniform(-1, 1, size=(400, 3))
    queries, labels = np.concatenate([fresh, odd]), np.repeat([0, 1], 400)
    detector = NeighbourDetector(0.05, learned=False).fit(rows)

    def auroc(scores: np.ndarray) -> float:
        return float(roc_auc_score(labels, scores))

    whole = auroc(detector.decision_function(queries))
    scaled = detector.model_.standardiser.apply
    alone = Lengths(scaled(rows)[choose_coreset(scaled(rows), 200, np.random.default_rng(0))])
    assert auroc(alone.nearest(scaled(queries), 1).distances[:, 0]) < whole - 0.1
    assert auroc(detector.thin(200).decision_function(queries)) > whole - 0.02


@pytest.mark.parametrize("learned", [False, True])
def test_a_coreset_keeps_its_rate_its_file_and_its_batches(learned: bool, tmp_path: Path) -> None:
    detector = NeighbourDetector(0.05, learned=learned).fit(correlated_rows(1500))
    detector.thin(150).recalibrate()
    fresh = correlated_rows(2000, seed=5)
    scores = detector.decision_function(fresh)
    assert 0.025 < (scores > detector.threshold_).mean() < 0.085
    assert np.array_equal(detector.decision_function(fresh[:7]), scores[:7])
    detector.save(tmp_path / "bundle")
    loaded = NeighbourDetector.load(tmp_path / "bundle")
    assert np.array_equal(loaded.decision_function(fresh), scores)
    assert loaded.explain(fresh[:50], only_alerts=False) == detector.explain(
        fresh[:50], only_alerts=False
    )
    assert loaded.recalibrate().threshold_ == detector.threshold_


def test_a_coreset_is_thinned_again_grown_cut_and_undone() -> None:
    rows, fresh = correlated_rows(600), correlated_rows(200, seed=5)
    detector = NeighbourDetector(0.05, learned=False).fit(rows)
    whole = detector.decision_function(fresh)
    once = detector.thin(120).decision_function(fresh)
    twice = detector.thin(60).recalibrate().decision_function(fresh)
    assert detector.calibration_.calibrated_on == 600
    assert (once >= whole - 0.02).all()
    assert np.corrcoef(whole, once)[0, 1] > 0.97
    assert np.corrcoef(whole, twice)[0, 1] > 0.93
    far = np.full((6, 4), 30.0)
    assert detector.predict(far).all()
    assert (detector.append(far).decision_function(far) == 0).all()
    first = detector.reference_.ids[:1]
    around = detector.reference_.rows[:1]
    before = detector.decision_function(around)[0]
    detector.remove(first)
    assert detector.decision_function(around)[0] > before
    for _ in range(3):
        detector.undo()
    assert np.array_equal(detector.decision_function(fresh), once)
