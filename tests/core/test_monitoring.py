"""Monitoring: a guard speaks when something changed, and only then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import (
    BundleFormatError,
    ExactIndex,
    Guards,
    Neighbours,
    ProbeSet,
    SettingError,
    StaleIndex,
    TooFewRows,
    Verdict,
    compare_samples,
    freeze_probes,
    load_bundle,
    monitor,
    save_bundle,
)

from ..naive import naive_ks


def draw(rows: int, width: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)


@pytest.fixture(scope="module")
def index() -> ExactIndex:
    return ExactIndex(draw(1000), fingerprint="encoder")


@pytest.fixture(scope="module")
def probes(index: ExactIndex) -> ProbeSet:
    return freeze_probes(index, draw(200, seed=1), fingerprint="encoder", scores=draw(200)[:, 0])


def failed(verdict: Verdict) -> set[str]:
    return {check.name for check in verdict.checks if not check.ok}


def test_the_same_encoder_on_new_data_holds_every_guard(
    index: ExactIndex, probes: ProbeSet
) -> None:
    verdict = monitor(
        index, probes, draw(300, seed=2), fingerprint="encoder", scores=draw(99, seed=3)[:, 0]
    )
    assert verdict.ok
    assert verdict.summary == "every guard holds"
    assert verdict.table()["name"].to_list() == [
        "stale rows",
        "mean pairwise cosine",
        "recall@10",
        "query norm drift",
        "neighbour distance drift",
        "score drift",
    ]


def test_the_very_probes_do_not_drift(index: ExactIndex, probes: ProbeSet) -> None:
    verdict = monitor(index, probes, probes.vectors, fingerprint="encoder")
    assert verdict.ok
    assert [c.value for c in verdict.checks if c.name.endswith("drift")] == [0.0, 0.0]


# The stated rate covers all tests of a call together.
def test_false_alarms_stay_at_the_stated_rate() -> None:
    index = ExactIndex(draw(100), fingerprint="encoder")
    alarms = 0
    for seed in range(150):
        then = freeze_probes(
            index, draw(40, seed=1000 + seed), fingerprint="encoder", scores=draw(40, seed=seed)
        )
        now = draw(40, seed=5000 + seed)
        verdict = monitor(
            index,
            then,
            now,
            fingerprint="encoder",
            scores=draw(40, seed=9000 + seed),
            guards=Guards(false_alarm_rate=0.1),
        )
        alarms += not verdict.ok
    assert alarms <= 27  # 15 expected; more than 27 has a chance of 0.1 % at the stated rate


@pytest.mark.parametrize(
    ("change", "guard"),
    [
        (lambda x: 1.5 * x, "query norm drift"),
        (lambda x: draw(1000)[: len(x)], "neighbour distance drift"),
        (lambda x: x + 12, "mean pairwise cosine"),
    ],
)
def test_a_change_of_the_space_is_named(
    index: ExactIndex, probes: ProbeSet, change: object, guard: str
) -> None:
    queries = change(draw(300, seed=2))  # type: ignore[operator]
    verdict = monitor(index, probes, queries, fingerprint="encoder")
    assert guard in failed(verdict)
    assert guard.removesuffix(" drift") in verdict.summary


def test_scores_that_moved_are_named(index: ExactIndex, probes: ProbeSet) -> None:
    scores = draw(300)[:, 0] + 1
    queries = draw(300, seed=2)
    verdict = monitor(index, probes, queries, fingerprint="encoder", scores=scores)
    assert failed(verdict) == {"score drift"}


def test_another_encoder_makes_every_row_stale(index: ExactIndex, probes: ProbeSet) -> None:
    verdict = monitor(index, probes, draw(300, seed=2), fingerprint="another")
    assert not verdict.ok
    assert [(check.name, check.value) for check in verdict.checks] == [("stale rows", 1.0)]
    with pytest.raises(StaleIndex):
        freeze_probes(index, draw(30), fingerprint="another")


class Forgetful(ExactIndex):
    """Answers with the farther half of what it finds."""

    def search(self, queries: object, k: int, **filters: object) -> Neighbours:
        found = super().search(queries, 2 * k, **filters)  # type: ignore[arg-type]
        kept = np.tile(np.repeat([False, True], k), len(found))
        offsets = np.arange(len(found) + 1) * k
        return Neighbours(found.ids[kept], found.rows[kept], found.similarity[kept], offsets)


def test_an_index_that_lost_its_recall_is_named(probes: ProbeSet) -> None:
    lossy = Forgetful(draw(1000), fingerprint="encoder")
    verdict = monitor(lossy, probes, draw(300, seed=2), fingerprint="encoder")
    assert "recall@10" in failed(verdict)


def test_lengths_that_differ_by_rounding_do_not_drift(index: ExactIndex) -> None:
    unit = draw(100, seed=1) / np.linalg.norm(draw(100, seed=1), axis=1, keepdims=True)
    then = freeze_probes(index, unit.astype(np.float32), fingerprint="encoder")
    verdict = monitor(index, then, unit.astype(np.float64) * (1 + 3e-7), fingerprint="encoder")
    assert verdict.ok


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 30), min_size=20, max_size=60),
    st.lists(st.integers(0, 30), min_size=20, max_size=60),
)
def test_the_statistic_equals_the_slow_twin(a: list[int], b: list[int]) -> None:
    check = compare_samples("x", np.array(a, dtype=float), np.array(b, dtype=float), 0.01)
    assert check.value == pytest.approx(naive_ks([float(x) for x in a], [float(x) for x in b]))


def test_probes_travel_in_a_bundle_and_stay_as_they_were(
    tmp_path: Path, index: ExactIndex, probes: ProbeSet
) -> None:
    packed = probes.pack()
    verdict = monitor(index, probes, draw(50, seed=2), fingerprint="encoder")
    save_bundle(
        tmp_path / "b",
        kind="model",
        config=packed.config,
        tensors=packed.tensors,
        reports={"monitor": verdict.to_dict()},
        fingerprint="encoder",
    )
    bundle = load_bundle(tmp_path / "b", kind="model")
    loaded = ProbeSet.unpack(bundle.config, bundle.tensors)
    assert np.array_equal(loaded.vectors, probes.vectors)
    again = monitor(index, loaded, draw(50, seed=2), fingerprint="encoder")
    assert again == verdict
    assert bundle.reports["monitor"]["ok"] is True
    with pytest.raises(BundleFormatError, match="no probe set"):
        ProbeSet.unpack({}, {})


def test_too_few_rows_make_no_verdict(index: ExactIndex, probes: ProbeSet) -> None:
    with pytest.raises(TooFewRows, match="19 queries"):
        monitor(index, probes, draw(19), fingerprint="encoder")
    with pytest.raises(TooFewRows, match="19 probes"):
        freeze_probes(index, draw(19), fingerprint="encoder")
    with pytest.raises(SettingError):
        Guards(false_alarm_rate=0)
