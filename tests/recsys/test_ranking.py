"""The k best of a row: the slow road's answer, ties by row, no filler."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from likewise.core import SettingError
from likewise.recsys import Histories
from likewise.recsys.ranking import rank_rows
from likewise.recsys.sources import Blend, standardise_

from tests.naive_recsys import naive_ranking

LEVELS = st.sampled_from([-math.inf, -3.0, -1.0, -0.0, 0.0, 0.5, 0.5000001, 2.0])


@given(
    st.lists(st.lists(LEVELS, min_size=7, max_size=7), min_size=1, max_size=4), st.integers(1, 9)
)
def test_a_row_is_ranked_as_by_hand(rows: list[list[float]], k: int) -> None:
    ranked = rank_rows(np.array(rows, dtype=np.float32), k)
    for row, line in enumerate(np.array(rows, dtype=np.float32).tolist()):
        start, stop = ranked.offsets[row : row + 2]
        assert ranked.items[start:stop].tolist() == naive_ranking(line, k)
        assert ranked.ranks[start:stop].tolist() == list(range(1, stop - start + 1))


@pytest.mark.parametrize("seed", range(3))
def test_a_long_row_with_many_ties_is_ranked_as_by_hand(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.integers(0, 50, size=(3, 5003)).astype(np.float32)
    scores[generator.random(scores.shape) < 0.3] = -np.inf
    ranked = rank_rows(scores, 10)
    for row in range(3):
        assert ranked.items[row * 10 : row * 10 + 10].tolist() == naive_ranking(scores[row], 10)


def test_a_row_without_differences_says_nothing() -> None:
    scores = standardise_(np.array([[3.0, 3.0], [1.0, 5.0]], dtype=np.float32))
    assert scores.tolist() == [[0.0, 0.0], [-1.0, 1.0]]


class Fixed:
    """A source that gives everybody the same scores."""

    def __init__(self, name: str, scores: list[float]) -> None:
        self.name, self.scores = name, scores

    def score(self, histories: Histories) -> np.ndarray:
        return np.tile(np.array(self.scores, dtype=np.float32), (len(histories), 1))


def propose(k: int, quotas: dict[str, int]) -> tuple[list[int], list[str]]:
    blend = Blend(
        [Fixed("main", [9, 8, 7, 6, 0, 0]), Fixed("new", [0, 0, 0, 0, 4, 5])],
        {"main": 1.0},
        quotas,
    )
    histories = Histories.of([[0]], width=6)

    def rule_out_(scores: np.ndarray) -> None:
        scores[:, 0] = -np.inf

    proposal = blend.propose(histories, rule_out_, k)
    return proposal.ranked.items.tolist(), proposal.source.tolist()


def test_a_quota_gives_the_last_places_to_a_source() -> None:
    assert propose(3, {}) == ([1, 2, 3], ["main"] * 3)
    assert propose(3, {"new": 1}) == ([1, 2, 5], ["main", "main", "new"])
    assert propose(4, {"new": 2}) == ([1, 2, 4, 5], ["main", "main", "main", "new"])


def test_a_quota_larger_than_the_list_fills_it() -> None:
    items, names = propose(2, {"new": 5})
    assert items == [5, 4]
    assert set(names) == {"new"}


def test_a_source_that_does_not_exist_is_told() -> None:
    with pytest.raises(SettingError, match="there are main"):
        Blend([Fixed("main", [1.0])], {"mian": 1.0}, {})
