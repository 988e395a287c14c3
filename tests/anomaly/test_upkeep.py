"""The reference set changes while others read from it, and no answer is ever half old."""

from __future__ import annotations

import threading

import numpy as np
from likewise.anomaly import NeighbourDetector

from tests.anomaly.planted import correlated_rows


def test_rows_are_scored_while_others_are_appended() -> None:
    detector = NeighbourDetector(0.05, learned=False).fit(correlated_rows(300))
    queries = correlated_rows(40, seed=3)
    batches = [correlated_rows(20, seed=10 + i) for i in range(15)]
    valid = [detector.decision_function(queries)]
    twin = NeighbourDetector(0.05, learned=False).fit(correlated_rows(300))
    valid += [twin.append(batch).decision_function(queries) for batch in batches]
    seen: list[np.ndarray] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.append(detector.decision_function(queries))

    reader = threading.Thread(target=read)
    reader.start()
    for batch in batches:
        detector.append(batch)
    done.set()
    reader.join()
    assert seen
    for answer in seen:
        assert any(np.array_equal(answer, one) for one in valid)


def test_old_rows_are_retired_by_the_number_of_their_addition() -> None:
    detector = NeighbourDetector(0.05, learned=False).fit(correlated_rows(100))
    detector.append(correlated_rows(30, seed=1)).append(correlated_rows(20, seed=2))
    assert np.bincount(detector.reference_.batch).tolist() == [100, 30, 20]
    detector.retire(before=1).recalibrate()
    assert np.bincount(detector.reference_.batch).tolist() == [0, 30, 20]
    assert detector.calibration_.calibrated_on == 50
