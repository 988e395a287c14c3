"""The approximate index: the exact one's laws, its gate, and living with a graph."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from likewise.core import (
    ExactIndex,
    GraphSettings,
    HNSWIndex,
    MetricMismatch,
    Neighbours,
    NonFiniteError,
    RecallGate,
    RecallGateFailed,
    SettingError,
    ShapeError,
    StaleIndex,
    TooFewRows,
    UnknownId,
    VectorIndex,
    measure_recall,
)
from likewise.core.index.stored_rows import unit_vectors
from torch.utils.data import DataLoader, Dataset

from ..naive import naive_recall

ROWS = 1500


def draw(rows: int, width: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)


def fill(**changes: Any) -> HNSWIndex:
    given: dict[str, Any] = {"ids": [f"i{number:04d}" for number in range(ROWS)]}
    given |= {"fingerprint": "encoder", "probes": draw(200, seed=5)} | changes
    return HNSWIndex(draw(ROWS), **given)


@pytest.fixture(scope="module")
def index() -> HNSWIndex:
    return fill()


@pytest.fixture(scope="module")
def exact() -> ExactIndex:
    ids = [f"i{number:04d}" for number in range(ROWS)]
    return ExactIndex(draw(ROWS), ids, fingerprint="encoder")


def same(a: Neighbours, b: Neighbours) -> bool:
    fields = ("ids", "rows", "similarity", "offsets")
    return all(np.array_equal(getattr(a, one), getattr(b, one)) for one in fields)


class Lossy(ExactIndex):
    """Finds every second neighbour only, and calls them all perfect."""

    def search(self, queries: Any, k: int, **filters: Any) -> Neighbours:
        found = super().search(queries, 2 * k, **filters)
        kept = np.arange(len(found.ids)) % 2 == 0
        offsets = np.arange(len(found) + 1) * k
        praise = np.ones(int(kept.sum()), dtype=np.float32)
        return Neighbours(found.ids[kept], found.rows[kept], praise, offsets)


# case core#43: a lossy index reports its own recall
def test_recall_is_judged_by_exact_scores_not_by_what_an_index_says() -> None:
    lossy = Lossy(draw(300), fingerprint="encoder")
    queries = draw(30, seed=1)
    unit = unit_vectors(queries, "queries").tolist()
    answered = [lossy.rows_of(ids).tolist() for ids, _ in lossy.search(queries, 10)]
    expected = naive_recall(unit, lossy.vectors.tolist(), answered, 10)
    assert measure_recall(lossy, queries, 10) == pytest.approx(expected)
    assert expected == pytest.approx(0.5)


def test_recall_of_the_exact_index_is_one_also_among_ties() -> None:
    rows = np.repeat(draw(20), 30, axis=0)
    ids = np.random.default_rng(0).permutation(600)
    assert measure_recall(ExactIndex(rows, ids, fingerprint="encoder"), draw(20, seed=1)) == 1.0


def test_the_gate_reports_the_recall_that_is_measured(index: HNSWIndex) -> None:
    report = index.gate_
    assert report.recall >= index.gate.target
    assert report.queries == 200
    assert report.recall == pytest.approx(measure_recall(index, draw(200, seed=5)))
    assert dict(report.tried)[index.ef] == report.recall


def test_the_gate_keeps_the_smallest_effort_that_reaches_the_target() -> None:
    tight = fill(settings=GraphSettings(links=4, build_effort=16), gate=RecallGate(target=0.97))
    failed = [ef for ef, recall in tight.gate_.tried if recall < 0.97]
    assert failed, "a sparse graph needs more than the first effort"
    assert max(failed) < tight.ef <= max(failed) * 1.125 + 1


def test_a_graph_that_cannot_reach_the_target_is_refused() -> None:
    with pytest.raises(RecallGateFailed, match="use exact search"):
        fill(settings=GraphSettings(links=2, build_effort=2), gate=RecallGate(most_effort=16))


def test_too_few_probes_make_no_gate() -> None:
    with pytest.raises(TooFewRows, match="200 held-out queries"):
        fill(probes=draw(199, seed=5))
    with pytest.raises(SettingError):
        RecallGate(target=1.5)


def test_similarities_are_those_of_the_exact_index_to_the_bit(
    index: HNSWIndex, exact: ExactIndex
) -> None:
    queries = draw(100, seed=1)
    found, truth = index.search(queries, 10), exact.search(queries, 10)
    known = {
        (q, i): s for q, (ids, near) in enumerate(truth) for i, s in zip(ids, near, strict=True)
    }
    both = [
        (s, known[q, i])
        for q, (ids, near) in enumerate(found)
        for i, s in zip(ids, near, strict=True)
        if (q, i) in known
    ]
    assert len(both) >= 0.98 * len(truth.ids)
    assert all(a == b for a, b in both)


def test_answers_do_not_depend_on_the_batch(index: HNSWIndex) -> None:
    queries = draw(1000, seed=1)
    whole = index.search(queries, 7)
    for size in (1, 10):
        part = index.search(queries[500 : 500 + size], 7)
        piece = slice(whole.offsets[500], whole.offsets[500 + size])
        assert part.similarity.tobytes() == whole.similarity[piece].tobytes()
        assert np.array_equal(part.ids, whole.ids[piece])


def test_ties_come_in_the_order_of_ids() -> None:
    rows = np.repeat(draw(30), 20, axis=0)
    ids = np.random.default_rng(0).permutation(600)
    index = HNSWIndex(rows, ids, fingerprint="encoder", probes=draw(200, seed=5))
    found = index.search(draw(30), 20)
    assert np.all(np.diff(found.as_matrix()[0], axis=1) > 0)


def test_filters_are_exact_and_short_answers_are_completed(
    index: HNSWIndex, exact: ExactIndex
) -> None:
    queries = draw(40, seed=1)
    rare = np.random.default_rng(0).random(ROWS) < 0.01
    few = np.arange(ROWS) < 3
    assert same(index.search(queries, 10, eligible=rare), exact.search(queries, 10, eligible=rare))
    assert index.search(queries, 10, eligible=few).counts.tolist() == [3] * 40
    pairs = np.random.default_rng(1).random((40, ROWS)) < 0.5
    upto = np.random.default_rng(2).integers(0, ROWS + 1, 40)
    found = index.search(queries, 10, eligible=pairs, upto=upto)
    truth = exact.search(queries, 10, eligible=pairs, upto=upto)
    assert pairs[found.queries, found.rows].all()
    assert (found.rows < upto[found.queries]).all()
    assert np.array_equal(found.counts, truth.counts)
    assert np.mean(found.ids == truth.ids) > 0.95


def test_k_beyond_the_rows_gives_every_row(index: HNSWIndex, exact: ExactIndex) -> None:
    queries = draw(3, seed=1)
    assert same(index.search(queries, ROWS + 50), exact.search(queries, ROWS))
    near = index.range_search(queries, 0.5)
    assert same(near, exact.range_search(queries, 0.5))


def test_what_the_exact_index_refuses_is_refused(index: HNSWIndex) -> None:
    bad = draw(4)
    bad[2, 1] = np.nan
    with pytest.raises(NonFiniteError, match="rows 2"):
        index.search(bad, 3)
    with pytest.raises(NonFiniteError, match="rows 2"):
        index.append(bad, ["a", "b", "c", "d"], fingerprint="encoder")
    with pytest.raises(ShapeError, match=r"width 5 .* width 8"):
        index.search(draw(1, 5), 1)
    with pytest.raises(MetricMismatch):
        index.search(draw(1), 1, metric="ip")
    with pytest.raises(StaleIndex):
        index.search(draw(1), 1, fingerprint="another")
    with pytest.raises(StaleIndex):
        index.append(draw(1), ["a"], fingerprint="another")
    with pytest.raises(UnknownId):
        index.remove(["nobody"])
    assert len(index) == ROWS


# case core#38: delete one of ten, query the last
def test_removal_keeps_the_ids_of_the_others() -> None:
    index = fill()
    index.remove(["i0003", "i0700"])
    found = index.search(draw(ROWS)[[ROWS - 1, 3]], 5)
    assert found[0][0][0] == f"i{ROWS - 1}"
    assert not {"i0003", "i0700"} & set(found.ids.tolist())
    assert len(index) == ROWS - 2


def test_append_and_remove_end_where_an_exact_index_ends() -> None:
    index = fill()
    exact = ExactIndex(draw(ROWS), index.ids, fingerprint="encoder")
    fresh = draw(100, seed=7)
    for one in (index, exact):
        one.remove([f"i{number:04d}" for number in range(0, 200, 2)])
        one.append(fresh, [f"new{number}" for number in range(100)], fingerprint="encoder")
        one.remove(["new50", "i1499"])
    assert np.array_equal(index.ids, exact.ids)
    assert np.array_equal(index.vectors, exact.vectors)
    found, truth = index.search(fresh, 10), exact.search(fresh, 10)
    assert np.array_equal(found.counts, truth.counts)
    assert np.mean(found.ids == truth.ids) > 0.95
    assert index.regate().recall >= 0.99


def test_many_removals_build_the_graph_anew() -> None:
    index = fill()
    index.remove(index.ids[:299])
    assert index._graph.dead_share > 0.19
    index.remove(index.ids[:1])
    assert index._graph.dead_share == 0.0
    assert measure_recall(index, draw(50, seed=1)) > 0.97


def test_an_index_can_be_emptied_and_filled_again() -> None:
    index = fill()
    index.remove(index.ids)
    assert index.search(draw(2), 3).counts.tolist() == [0, 0]
    index.append(draw(3, seed=9), ["a", "b", "c"], fingerprint="encoder")
    assert index.search(draw(3, seed=9), 1).ids.tolist() == ["a", "b", "c"]


# case core#39: save, load, search: same ids and same ef
def test_a_saved_index_keeps_its_answers_and_its_effort(tmp_path: Path) -> None:
    index = fill()
    index.remove(["i0003"])
    index.append(draw(1, seed=7), ["new"], fingerprint="encoder")
    index.save(tmp_path / "index")
    loaded = HNSWIndex.load(tmp_path / "index", fingerprint="encoder")
    queries = draw(50, seed=1)
    assert same(index.search(queries, 10), loaded.search(queries, 10))
    assert (loaded.ef, loaded.gate_, loaded.gate) == (index.ef, index.gate_, index.gate)
    loaded.append(draw(1, seed=8), ["newer"], fingerprint="encoder")
    assert loaded.search(draw(1, seed=8), 1).ids.tolist() == ["newer"]
    with pytest.raises(StaleIndex):
        HNSWIndex.load(tmp_path / "index", fingerprint="another")


def test_a_new_encoder_means_a_new_index_and_the_old_one_serves_on(index: HNSWIndex) -> None:
    new = index.reindexed(draw(ROWS, 5, seed=3), fingerprint="new", probes=draw(200, 5, seed=4))
    assert np.array_equal(new.ids, index.ids)
    assert (new.fingerprint, index.fingerprint) == ("new", "encoder")
    strict = fill()
    strict.settings = GraphSettings(links=2, build_effort=2)
    wide: dict[str, Any] = {"fingerprint": "new", "probes": draw(200, 64, seed=4)}
    with pytest.raises(RecallGateFailed):
        strict.reindexed(draw(ROWS, 64, seed=3), **wide)
    assert strict.search(draw(ROWS)[[7]], 1).ids.tolist() == ["i0007"]


class Searches(Dataset[list[int]]):
    """Searches an index inside a data loader's worker."""

    def __init__(self, index: VectorIndex) -> None:
        self.index = index

    def __len__(self) -> int:
        return 4

    def __getitem__(self, row: int) -> list[int]:
        return self.index.search(draw(64, seed=row), 5).rows.tolist()


def search_and_tell(index: VectorIndex, told: Any) -> None:
    told.put(Searches(index)[0])


@pytest.fixture
def two_threads() -> Iterator[None]:
    faiss = pytest.importorskip("faiss")
    before = torch.get_num_threads(), faiss.omp_get_max_threads()
    torch.set_num_threads(2)
    faiss.omp_set_num_threads(2)
    yield
    torch.set_num_threads(before[0])
    faiss.omp_set_num_threads(before[1])


# case core#37: search, then DataLoader workers
@pytest.mark.timeout(120)
@pytest.mark.usefixtures("two_threads")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("engine", ["exact", "hnsw"])
def test_a_forked_worker_searches_and_does_not_hang(engine: str, exact: ExactIndex) -> None:
    index = exact if engine == "exact" else fill()
    searches = Searches(index)
    here = [searches[row] for row in range(4)]
    loader = DataLoader(
        searches, batch_size=None, num_workers=2, multiprocessing_context="fork", timeout=60
    )
    assert list(loader) == here
    fork = multiprocessing.get_context("fork")
    told = fork.Queue()
    child = fork.Process(target=search_and_tell, args=(index, told))
    child.start()
    try:
        assert told.get(timeout=60) == here[0]
    finally:
        child.kill()
        child.join()
