"""Metrics equal their slow twins and, where there is one, scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from likewise.anomaly.evaluation import (
    at_budget,
    average_precision,
    events_at_budget,
    judge_events,
    realised_rate,
    roc_area,
)
from likewise.anomaly.events import merge_events, stretches, within_budget
from likewise.anomaly.threshold import calibrate
from likewise.anomaly.vus import range_average_precision, soften, vus_pr
from likewise.core import NonFiniteError, ShapeError
from sklearn.metrics import average_precision_score, roc_auc_score

from tests.naive_anomaly import (
    naive_at_budget,
    naive_average_precision,
    naive_events,
    naive_range_average_precision,
    naive_roc_area,
    naive_soft_labels,
    naive_stretches,
    naive_vus_pr,
)

rows = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=40)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_areas_equal_twins_and_scikit_learn(pairs: list[tuple[bool, int]]) -> None:
    labels, scores = [int(a) for a, _ in pairs], [float(b) for _, b in pairs]
    assume(0 < sum(labels) < len(labels))
    ap, roc = average_precision(labels, scores), roc_area(labels, scores)
    assert ap == pytest.approx(naive_average_precision(labels, scores))
    assert ap == pytest.approx(average_precision_score(labels, scores))
    assert roc == pytest.approx(naive_roc_area(labels, scores))
    assert roc == pytest.approx(roc_auc_score(labels, scores))
    budget = max(1, len(labels) // 3)
    found = at_budget(labels, scores, budget)
    assert found.precision * budget == pytest.approx(naive_at_budget(labels, scores, budget))
    assert found.recall * sum(labels) == pytest.approx(found.precision * budget)


@settings(max_examples=60, deadline=None)
@given(rows, st.integers(0, 12))
def test_the_surface_equals_its_slow_twin(pairs: list[tuple[bool, int]], buffer: int) -> None:
    labels, scores = [int(a) for a, _ in pairs], [float(b) for _, b in pairs]
    assume(0 < sum(labels) < len(labels))
    assert soften(labels, buffer).tolist() == pytest.approx(naive_soft_labels(labels, buffer))
    assert range_average_precision(labels, scores, buffer) == pytest.approx(
        naive_range_average_precision(labels, scores, buffer)
    )
    assert vus_pr(labels, scores, longest=buffer) == pytest.approx(
        naive_vus_pr(labels, scores, buffer)
    )


def test_the_surface_twins_agree_on_a_long_dense_series() -> None:
    draw = np.random.default_rng(0)
    labels = np.zeros(900, dtype=int)
    labels[200:230] = labels[600:602] = 1
    scores = draw.normal(size=900) + 2 * labels
    assert vus_pr(labels, scores, longest=32) == pytest.approx(
        naive_vus_pr(labels.tolist(), scores.tolist(), 32)
    )
    perfect = vus_pr(labels, soften(labels, 32), longest=0)
    assert perfect > 0.95


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 4))
def test_events_equal_their_slow_twin(scores: list[int], spacing: int) -> None:
    merged = merge_events(scores, 1.0, spacing=spacing)
    assert [(e.start, e.stop) for e in merged] == naive_events(scores, 1.0, spacing)
    assert stretches([s > 1 for s in scores]) == naive_stretches([s > 1 for s in scores])
    for event in merged:
        assert event.score == max(scores[event.start : event.stop])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1, width=32), min_size=5, max_size=40, unique=True), st.integers(1, 4))
def test_a_budget_of_events_is_kept_and_led_by_the_peak(scores: list[float], budget: int) -> None:
    events = within_budget(scores, budget, spacing=2)
    assert 1 <= len(events) <= budget
    assert events[0].score == max(scores)
    assert all(event.score == scores[event.peak] for event in events)


def test_events_are_judged_with_delay_and_false_alerts() -> None:
    labels = [0, 0, 1, 1, 1, 0, 0, 0, 1, 0]
    report = judge_events(labels, merge_events([0, 9, 0, 9, 9, 0, 0, 0, 0, 0], 1.0))
    assert (report.events, report.found, report.false_events, report.alerts) == (2, 1, 1, 2)
    assert report.delay == 1.0
    assert report.precision == 0.5
    best = events_at_budget(labels, [0, 0, 9, 0, 0, 0, 0, 0, 8, 0], 2)
    assert best.recall == 1.0


def test_realised_rates_lie_in_their_interval_mostly() -> None:
    draw = np.random.default_rng(3)
    holds = [
        realised_rate(calibrate(draw.normal(size=300), 0.05), draw.normal(size=300)).holds
        for _ in range(200)
    ]
    assert np.mean(holds) > 0.9


def test_unusable_labels_and_scores_are_refused() -> None:
    with pytest.raises(ShapeError):
        average_precision([0, 0], [0.1, 0.2])
    with pytest.raises(ShapeError):
        average_precision([0, 1], [0.1])
    with pytest.raises(NonFiniteError):
        average_precision([0, 1], [0.1, np.nan])
