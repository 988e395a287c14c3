"""Masks against their label-by-label twins."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core.errors import ShapeError
from likewise.core.objective.masks import CandidateMask, GivenPairs, SameGroup, SameId

from tests.naive import naive_pairs, naive_same

CPU = torch.device("cpu")
LABELS = st.lists(st.integers(-3, 3), min_size=1, max_size=12)


def tiles(mask: CandidateMask, size: int, step: int) -> torch.Tensor:
    starts = range(0, size, step)
    return torch.cat([mask.tile(slice(s, min(s + step, size)), CPU) for s in starts])


@given(LABELS, st.integers(1, 12))
@settings(deadline=None)
def test_same_id_tiles_equal_the_whole_square(labels: list[int], step: int) -> None:
    ids = torch.tensor(labels)
    found = tiles(SameId(ids), len(ids), step)
    assert found.dtype == torch.bool
    assert torch.equal(found, naive_same(ids, ids))


@given(LABELS, LABELS)
@settings(deadline=None)
def test_same_id_speaks_about_given_negatives(labels: list[int], negative: list[int]) -> None:
    ids, negative_ids = torch.tensor(labels), torch.tensor(negative)
    found = SameId(ids, negative_ids).extra_tile(slice(0, len(ids)), CPU)
    assert found is not None
    assert torch.equal(found, naive_same(ids, negative_ids))


def test_without_negative_ids_a_mask_is_silent_about_given_negatives() -> None:
    assert SameId(torch.arange(3)).extra_tile(slice(0, 3), CPU) is None
    assert GivenPairs(torch.tensor([[0, 1]]), 3).extra_tile(slice(0, 3), CPU) is None


def test_same_group_reads_like_same_id() -> None:
    groups = torch.tensor([1, 2, 1, 2])
    assert torch.equal(SameGroup(groups).tile(slice(1, 3), CPU), naive_same(groups, groups)[1:3])


def test_large_ids_are_compared_exactly() -> None:
    ids = torch.tensor([2**62, 2**62 + 1, 2**62])
    assert SameId(ids).tile(slice(0, 3), CPU).tolist() == [
        [True, False, True],
        [False, True, False],
        [True, False, True],
    ]


@given(st.data(), st.integers(1, 10), st.integers(1, 10))
@settings(deadline=None)
def test_given_pairs_hold_both_ways_in_every_tile(
    data: st.DataObject, size: int, step: int
) -> None:
    row = st.integers(0, size - 1)
    pairs = torch.tensor(data.draw(st.lists(st.tuples(row, row), max_size=20)), dtype=torch.long)
    pairs = pairs.reshape(-1, 2)
    found = tiles(GivenPairs(pairs, size), size, step)
    assert torch.equal(found, naive_pairs(pairs, size))
    assert torch.equal(found, found.T)


def test_no_pairs_mask_nothing() -> None:
    mask = GivenPairs(torch.empty(0, 2, dtype=torch.long), 5)
    assert not tiles(mask, 5, 2).any()


@pytest.mark.parametrize(
    "ids", [torch.tensor([0.0, 1.0]), torch.zeros(2, 2, dtype=torch.long), torch.tensor(3)]
)
def test_ids_that_are_no_vector_of_integers_are_refused(ids: torch.Tensor) -> None:
    with pytest.raises(ShapeError, match="ids must be a vector of integers"):
        SameId(ids)
    with pytest.raises(ShapeError, match="negative_ids must be a vector of integers"):
        SameId(torch.arange(2), ids)


@pytest.mark.parametrize(
    "pairs", [torch.tensor([[0, 4]]), torch.tensor([[-1, 0]]), torch.tensor([[0, 1], [9, 9]])]
)
def test_pairs_outside_the_batch_are_refused_with_their_range(pairs: torch.Tensor) -> None:
    with pytest.raises(ShapeError, match="of a batch of 4"):
        GivenPairs(pairs, 4)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 2, 2)])
def test_pairs_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match=r"\[P, 2\]"):
        GivenPairs(torch.zeros(shape, dtype=torch.long), 4)
