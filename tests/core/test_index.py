"""The exact index: the laws every engine keeps, and what only the exact one promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import (
    DuplicateRows,
    ExactIndex,
    InputError,
    MetricMismatch,
    Neighbours,
    NonFiniteError,
    SettingError,
    ShapeError,
    StaleIndex,
    UnknownId,
)
from likewise.core.index.scan import nearest_first
from likewise.core.index.stored_rows import unit_vectors

from ..naive import naive_neighbours


def draw(rows: int, width: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)


def fill(rows: int = 200, width: int = 8, ids: Any = None) -> ExactIndex:
    return ExactIndex(draw(rows, width), ids, fingerprint="encoder")


def as_pairs(found: Neighbours) -> list[list[tuple[object, float]]]:
    return [list(zip(i.tolist(), s.tolist(), strict=True)) for i, s in found]


def same(a: Neighbours, b: Neighbours) -> bool:
    fields = ("ids", "rows", "similarity", "offsets")
    return all(np.array_equal(getattr(a, one), getattr(b, one)) for one in fields)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_search_equals_the_slow_twin(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 40))
    count = data.draw(st.integers(1, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    # Few different values, so that ties are the rule.
    vectors = rng.integers(-1, 2, (rows, 3)).astype(np.float32) + np.float32([0.5, 0, 0])
    queries = rng.integers(-1, 2, (count, 3)).astype(np.float32) + np.float32([0.5, 0, 0])
    names = [f"n{number}" for number in rng.permutation(rows)]
    eligible = rng.random((count, rows)) < 0.7 if data.draw(st.booleans()) else None
    upto = rng.integers(0, rows + 1, count) if data.draw(st.booleans()) else None
    index = ExactIndex(vectors, names, fingerprint="encoder")
    k = data.draw(st.integers(1, 50))
    found = index.search(queries, k, eligible=eligible, upto=upto)
    expected = naive_neighbours(
        unit_vectors(queries, "queries").tolist(),
        index.vectors.tolist(),
        list(names),
        k,
        eligible=None if eligible is None else eligible.tolist(),
        upto=None if upto is None else upto.tolist(),
    )
    assert as_pairs(found) == expected


@pytest.mark.parametrize("k", [1, 10, 100, 3000])
def test_a_large_scan_equals_a_full_sort(k: int) -> None:
    index = fill(20_000, 16)
    queries = draw(300, 16, seed=1)
    full = unit_vectors(queries, "queries").astype(np.float64) @ index.vectors.T.astype(np.float64)
    upto = np.random.default_rng(2).integers(0, 20_001, 300)
    full[np.arange(20_000) >= upto[:, None]] = -np.inf
    best = np.argsort(-full, axis=1, kind="stable")[:, :k]
    found = index.search(queries, k, upto=upto)
    assert found.counts.tolist() == np.minimum(upto, k).tolist()
    for query, (ids, similarity) in enumerate(found):
        expected = full[query, best[query, : len(ids)]]
        np.testing.assert_allclose(similarity, expected, atol=1e-7)
        assert np.mean(ids == best[query, : len(ids)]) > 0.99 if len(ids) else True


def test_range_search_equals_the_slow_twin() -> None:
    index = fill(300)
    queries = draw(20, seed=1)
    found = index.range_search(queries, 0.4)
    unit = unit_vectors(queries, "queries").tolist()
    twin = naive_neighbours(unit, index.vectors.tolist(), list(range(300)), 300, at_least=0.4)
    assert as_pairs(found) == twin
    assert len(found.ids) > 0


def test_range_search_of_everything_gives_every_row() -> None:
    assert fill(5000).range_search(draw(3, seed=1), -1.0).counts.tolist() == [5000] * 3


# One query, ten, a thousand: nothing of an answer depends on the company it keeps.
@pytest.mark.parametrize("engine_rows", [50, 5000])
def test_answers_do_not_depend_on_the_batch(engine_rows: int) -> None:
    index = fill(engine_rows, 33)
    queries = draw(1000, 33, seed=1)
    whole = index.search(queries, 7)
    for size in (1, 10):
        for start in (0, 500, 990):
            part = index.search(queries[start : start + size], 7)
            piece = slice(whole.offsets[start], whole.offsets[start + size])
            assert part.similarity.tobytes() == whole.similarity[piece].tobytes()
            assert np.array_equal(part.ids, whole.ids[piece])


def test_ties_come_in_the_order_of_ids_whatever_the_order_of_rows() -> None:
    twin = np.repeat(draw(1), 6, axis=0)
    index = ExactIndex(twin, ["f", "b", "e", "a", "c", "d"], fingerprint="encoder")
    assert index.search(draw(1, seed=3), 4).ids.tolist() == ["a", "b", "c", "d"]


def test_thousands_of_equal_rows_stay_exact_and_do_not_fill_the_memory() -> None:
    vectors = np.repeat(draw(1), 30_000, axis=0)
    ids = np.random.default_rng(0).permutation(30_000)
    found = ExactIndex(vectors, ids, fingerprint="encoder").search(draw(4, seed=1), 3)
    assert found.as_matrix()[0].tolist() == [[0, 1, 2]] * 4


def test_k_beyond_the_rows_gives_the_rows_and_a_count() -> None:
    found = fill(5).search(draw(2, seed=1), 50)
    assert found.counts.tolist() == [5, 5]
    assert sorted(found[0][0].tolist()) == [0, 1, 2, 3, 4]


def test_an_empty_index_gives_no_answers() -> None:
    index = ExactIndex(np.empty((0, 8)), fingerprint="encoder")
    found = index.search(draw(3), 5)
    assert found.counts.tolist() == [0, 0, 0]
    assert index.range_search(draw(3), 0.0).counts.tolist() == [0, 0, 0]
    index.append(draw(2), ["a", "b"], fingerprint="encoder")
    assert index.search(draw(2), 1).ids.tolist() == ["a", "b"]


def test_no_queries_give_no_answers() -> None:
    found = fill(5).search(np.empty((0, 8)), 5)
    assert len(found) == 0
    assert found.as_matrix()[0].shape == (0, 0)


def test_a_query_finds_itself_with_similarity_one_and_never_more() -> None:
    index = fill(500, 64)
    found = index.search(index.vectors, 500)
    ids, similarity = found.as_matrix()
    assert ids[:, 0].tolist() == list(range(500))
    assert similarity.max() == 1.0


# case core#14: unnormalised embeddings into an inner product index
@given(st.floats(1e-20, 1e20), st.floats(1e-20, 1e20))
@settings(max_examples=30, deadline=None)
def test_length_does_not_matter(left: float, right: float) -> None:
    plain = fill(50).search(draw(5, seed=1), 5)
    scaled = ExactIndex(draw(50).astype(np.float64) * left, fingerprint="encoder").search(
        draw(5, seed=1).astype(np.float64) * right, 5
    )
    assert np.array_equal(plain.ids, scaled.ids)
    np.testing.assert_allclose(plain.similarity, scaled.similarity, atol=1e-6)
    assert np.abs(scaled.similarity).max() <= 1


def test_a_shared_filter_and_the_same_filter_a_query_agree() -> None:
    index, queries = fill(3000), draw(40, seed=1)
    allowed = np.random.default_rng(0).random(3000) < 0.1
    upto = np.random.default_rng(1).integers(0, 3001, 40)
    shared = index.search(queries, 9, eligible=allowed, upto=upto)
    single = index.search(queries, 9, eligible=np.tile(allowed, (40, 1)), upto=upto)
    assert same(shared, single)
    assert allowed[shared.rows].all()
    assert (shared.rows < upto[shared.queries]).all()
    near = index.range_search(queries, 0.2, eligible=allowed, upto=upto)
    assert allowed[near.rows].all()


def test_the_time_mask_equals_an_index_of_the_past_alone() -> None:
    queries = draw(30, seed=1)
    masked = fill(400).search(queries, 5, upto=np.full(30, 150))
    past = ExactIndex(draw(400)[:150], fingerprint="encoder").search(queries, 5)
    assert same(masked, past)


# case core#41: a NaN row in add and in query
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused_by_number_and_change_nothing(poison: float) -> None:
    index = fill(20)
    before = index.search(draw(4, seed=1), 5)
    bad = draw(6, seed=2)
    bad[[1, 4], 3] = poison
    with pytest.raises(NonFiniteError, match="rows 1, 4"):
        index.append(bad, [f"{number}" for number in range(6)], fingerprint="encoder")
    with pytest.raises(NonFiniteError, match="rows 1, 4"):
        index.search(bad, 3)
    with pytest.raises(NonFiniteError, match="rows 1, 4"):
        ExactIndex(bad, fingerprint="encoder")
    assert len(index) == 20
    assert same(index.search(draw(4, seed=1), 5), before)


# case core#42: zero vectors in the corpus
def test_rows_of_length_zero_are_refused_by_number() -> None:
    bad = draw(5)
    bad[[0, 3]] = 0
    with pytest.raises(InputError, match="rows 0, 3"):
        ExactIndex(bad, fingerprint="encoder")
    with pytest.raises(InputError, match="queries have length zero"):
        fill(5).search(bad, 1)


def test_all_faults_of_an_input_are_told_at_once() -> None:
    bad = draw(5)
    bad[0], bad[3, 2] = 0, np.nan
    with pytest.raises(NonFiniteError) as told:
        ExactIndex(bad, fingerprint="encoder")
    assert "rows 3" in str(told.value)
    assert "rows 0" in str(told.value)


def test_ids_that_stand_twice_are_refused() -> None:
    with pytest.raises(DuplicateRows, match="b"):
        ExactIndex(draw(3), ["b", "a", "b"], fingerprint="encoder")
    index = fill(3)
    with pytest.raises(DuplicateRows, match="2"):
        index.append(draw(2), [7, 2], fingerprint="encoder")
    assert len(index) == 3


def test_ids_of_two_kinds_or_of_no_kind_are_refused() -> None:
    with pytest.raises(InputError, match="one kind"):
        fill(3).append(draw(1), ["a"], fingerprint="encoder")
    with pytest.raises(InputError, match="integers or strings"):
        ExactIndex(draw(2), [0.5, 1.5], fingerprint="encoder")
    with pytest.raises(ShapeError, match="3 vectors but 2 ids"):
        ExactIndex(draw(3), ["a", "b"], fingerprint="encoder")


def test_a_wrong_width_names_both_widths() -> None:
    with pytest.raises(ShapeError, match=r"width 5 .* width 8"):
        fill().search(draw(1, 5), 1)
    with pytest.raises(ShapeError, match=r"width 5 .* width 8"):
        fill().append(draw(1, 5), [900], fingerprint="encoder")


@pytest.mark.parametrize(
    ("filters", "word"),
    [
        ({"eligible": np.ones(7, dtype=bool)}, "eligible has the shape"),
        ({"eligible": np.ones(200)}, "must be bool"),
        ({"upto": np.zeros(3, dtype=int)}, "upto has the shape"),
        ({"upto": np.zeros(2)}, "one integer a query"),
        ({"upto": np.array([0, 201])}, r"0 \.\. 200"),
    ],
)
def test_a_filter_of_the_wrong_form_is_refused(filters: dict[str, Any], word: str) -> None:
    with pytest.raises((ShapeError, SettingError), match=word):
        fill().search(draw(2, seed=1), 3, **filters)


def test_nonsense_is_refused() -> None:
    with pytest.raises(SettingError, match="k is 0"):
        fill().search(draw(1), 0)
    with pytest.raises(SettingError, match="at_least"):
        fill().range_search(draw(1), 1.5)


def test_another_metric_is_refused_never_converted() -> None:
    with pytest.raises(MetricMismatch, match="euclidean"):
        ExactIndex(draw(2), fingerprint="encoder", metric="euclidean")
    with pytest.raises(MetricMismatch, match="ip"):
        fill().search(draw(1), 1, metric="ip")


def test_vectors_of_another_encoder_are_refused() -> None:
    index = fill()
    with pytest.raises(StaleIndex, match="another"):
        index.search(draw(1), 1, fingerprint="another")
    with pytest.raises(StaleIndex):
        index.append(draw(1), [900], fingerprint="another")
    with pytest.raises(StaleIndex):
        index.stale_fraction("another")
    assert index.stale_fraction("encoder") == 0.0


def test_a_new_encoder_means_a_new_index_and_the_old_one_stays() -> None:
    old = fill(5, ids=list("abcde"))
    new = old.reindexed(draw(5, 3), fingerprint="new")
    assert new.ids.tolist() == old.ids.tolist()
    assert (new.fingerprint, old.fingerprint) == ("new", "encoder")
    assert new.vectors.shape == (5, 3)


# case core#38: delete one of ten, query the last
def test_removal_keeps_the_ids_of_the_others() -> None:
    index = fill(10, ids=[f"item-{number}" for number in range(10)])
    index.remove(["item-3"])
    assert index.search(draw(10)[[9]], 1).ids.tolist() == ["item-9"]
    with pytest.raises(UnknownId, match="item-3"):
        index.remove(["item-4", "item-3"])
    assert len(index) == 9


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 4)), max_size=8))
def test_append_and_remove_equal_an_index_built_at_once(steps: list[tuple[bool, int]]) -> None:
    index, held = fill(6), list(range(6))
    pool = draw(60)
    fresh = 6
    for adds, many in steps:
        if adds:
            new = list(range(fresh, fresh + many))
            index.append(pool[new], new, fingerprint="encoder")
            held, fresh = held + new, fresh + many
        else:
            gone = held[1 : 1 + many]
            index.remove(gone)
            held = [one for one in held if one not in gone]
    rebuilt = ExactIndex(pool[held], held, fingerprint="encoder")
    assert same(index.search(draw(3, seed=9), 5), rebuilt.search(draw(3, seed=9), 5))


# case core#39: save, load, search
@pytest.mark.parametrize("ids", [None, [f"x{number}" for number in range(199, -1, -1)]])
def test_a_saved_index_answers_to_the_bit(tmp_path: Path, ids: list[str] | None) -> None:
    index = fill(ids=ids)
    index.save(tmp_path / "index")
    loaded = ExactIndex.load(tmp_path / "index", fingerprint="encoder")
    assert same(index.search(draw(9, seed=1), 5), loaded.search(draw(9, seed=1), 5))
    loaded.append(draw(1), ["new"] if ids else [900], fingerprint="encoder")
    with pytest.raises(StaleIndex):
        ExactIndex.load(tmp_path / "index", fingerprint="another")


def test_tensors_lists_and_half_precision_are_taken() -> None:
    vectors = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    index = ExactIndex(vectors, fingerprint="encoder")
    assert index.search(vectors.half(), 1).ids.tolist() == list(range(9))
    assert index.search([[1, 0, 0, 0]], 1).counts.tolist() == [1]  # type: ignore[arg-type]


def test_what_an_index_shows_cannot_be_written_to() -> None:
    source = draw(5)
    index = ExactIndex(source, fingerprint="encoder")
    with pytest.raises(ValueError, match="read-only"):
        index.vectors[0] = 0
    source[:] = 0
    assert np.linalg.norm(index.vectors, axis=1) == pytest.approx(np.ones(5))


def test_neighbours_of_different_number_make_no_matrix() -> None:
    found = fill(9).search(draw(2, seed=1), 5, upto=np.array([2, 9]))
    with pytest.raises(ShapeError, match="between 2 and 5"):
        found.as_matrix()
    with pytest.raises(IndexError):
        found[2]
    assert found[-1][0].tolist() == found[1][0].tolist()


def test_a_lower_matmul_precision_costs_no_exactness() -> None:
    index, queries = fill(5000, 64), draw(50, 64, seed=1)
    before = index.search(queries, 10)
    torch.set_float32_matmul_precision("medium")
    try:
        assert same(index.search(queries, 10), before)
    finally:
        torch.set_float32_matmul_precision("highest")


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1e-12, 2e-12, 0.5, -0.5, 1.0])),
        max_size=40,
    )
)
def test_the_fast_order_is_the_order_of_the_columns(pairs: list[tuple[int, float]]) -> None:
    query = np.array([one for one, _ in pairs], dtype=np.int64)
    score = np.array([two for _, two in pairs], dtype=np.float32)
    tie = np.random.default_rng(0).permutation(len(pairs))
    order = nearest_first(query, score, tie)
    assert order.tolist() == np.lexsort((tie, -score, query)).tolist()
