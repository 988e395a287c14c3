"""Mining: hard, honest negatives, and an audit that adds up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import (
    ExactIndex,
    MinedNegatives,
    MiningAudit,
    MiningCache,
    MiningRule,
    SettingError,
    ShapeError,
    StaleIndex,
    UnknownId,
    fingerprint,
    load_bundle,
    mine_negatives,
    save_bundle,
)

from ..naive import naive_negatives

LOOSE = MiningRule(count=15, window=100, relative_margin=None)


def draw(rows: int, width: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)


def fill(rows: int = 200) -> ExactIndex:
    return ExactIndex(draw(rows), fingerprint="encoder")


def mine(
    index: ExactIndex, anchors: np.ndarray, **given: Any
) -> tuple[MinedNegatives, MiningAudit]:
    defaults = {"positive_ids": np.arange(len(anchors)), "fingerprint": "encoder", "rule": LOOSE}
    return mine_negatives(index, anchors, **(defaults | given))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 8),
    skip=st.integers(0, 5),
    lowest=st.sampled_from([-1.0, -0.2, 0.3]),
    highest=st.sampled_from([1.0, 0.8]),
    share=st.sampled_from([1.0, 0.95, 0.5]),
)
def test_mining_equals_the_slow_twin(
    seed: int, count: int, skip: int, lowest: float, highest: float, share: float
) -> None:
    rng = np.random.default_rng(seed)
    index = ExactIndex(rng.standard_normal((40, 3)), fingerprint="encoder")
    anchors = rng.standard_normal((6, 3))
    positive = rng.integers(0, 40, 6)
    content = rng.integers(0, 15, 40)
    rule = MiningRule(count, skip, 20, lowest, highest, None, share)
    mined, audit = mine(index, anchors, positive_ids=positive, content=content, rule=rule)
    every = index.search(anchors, 40)
    ranked = [
        list(zip(ids.tolist(), near.astype(np.float64).tolist(), strict=True))
        for ids, near in every
    ]
    nearness = [dict(one)[own] for one, own in zip(ranked, positive.tolist(), strict=True)]
    expected = naive_negatives(
        [one[: skip + 20] for one in ranked],
        positive.tolist(),
        nearness,
        content.tolist(),
        count=count,
        skip=skip,
        lowest=lowest,
        highest=highest,
        share=share,
    )
    assert [ids.tolist() for ids, _ in mined.negatives] == expected
    lacking = [count - len(one) for one in expected]
    assert list(audit.shortage) == mined.shortage.tolist() == lacking


def test_the_audit_adds_up() -> None:
    index, anchors = fill(), draw(50) + 0.2 * draw(50, seed=1)
    rule = MiningRule(count=3, skip=2, window=30)
    mined, audit = mine(index, anchors, rule=rule, content=np.arange(200) // 3)
    passed = audit.looked_at - sum(audit.dropped.values())
    assert audit.looked_at == 50 * 30
    assert audit.mined == len(mined.negatives.ids) <= passed
    assert audit.mined + sum(audit.shortage) == audit.requested == 150
    others = np.isin(mined.negatives.ids, np.arange(50)).mean()
    assert audit.others_positive_share == pytest.approx(others)
    assert len(audit.pairs) == 20
    for pair in audit.pairs:
        assert pair.positive == pair.anchor
        assert pair.negative in mined[pair.anchor][0]
        assert pair.negative_similarity <= 0.95 * pair.positive_similarity + 1e-6


# case core#11: a mined negative equal by content, with a different id
def test_a_row_that_says_the_same_as_the_positive_is_no_negative() -> None:
    rows = draw(100)
    index = ExactIndex(np.concatenate([rows, rows[:8]]), fingerprint="encoder")
    text = np.array([f"text {number % 100}" for number in range(108)])
    blind, _ = mine(index, rows[:8])
    seeing, audit = mine(index, rows[:8], content=text)
    assert all(100 + anchor in blind[anchor][0] for anchor in range(8))
    assert not any(100 + anchor in seeing[anchor][0] for anchor in range(8))
    assert audit.dropped["says the same as the positive"] == 8
    assert audit.dropped["is the positive"] == 8
    repeats = audit.dropped["says the same as a nearer candidate"]
    assert audit.duplicate_share == pytest.approx((16 + repeats) / audit.looked_at)


# case core#13: fifteen negatives asked for, some missing
def test_what_is_missing_is_counted_anchor_by_anchor() -> None:
    mined, audit = mine(fill(10), draw(4))
    assert mined.negatives.counts.tolist() == [9, 9, 9, 9]
    assert audit.shortage == (6, 6, 6, 6)
    assert (audit.requested, audit.mined) == (60, 36)


# case core#15: mine, train a step, mine again with a cache
def test_a_cache_forgets_when_a_weight_changes() -> None:
    torch.manual_seed(0)
    encoder = torch.nn.Linear(6, 4)
    cache = MiningCache()

    def mine_with(inputs: torch.Tensor) -> tuple[MinedNegatives, MiningAudit]:
        name = fingerprint(encoder, preprocessing={})
        index = ExactIndex(encoder(torch.from_numpy(draw(50))), fingerprint=name)
        return cache.mine(index, encoder(inputs), np.arange(5), fingerprint=name)

    inputs = torch.from_numpy(draw(5, seed=1))
    first = mine_with(inputs)
    assert mine_with(inputs) is first
    assert mine_with(inputs + 1) is not first
    assert (cache.hits, cache.misses) == (1, 2)
    with torch.no_grad():
        encoder.weight += 0.01
    assert mine_with(inputs) is not first
    assert (cache.hits, cache.misses) == (1, 3)


def test_a_cache_misses_when_the_index_or_the_rule_changes() -> None:
    cache, index, anchors = MiningCache(), fill(50), draw(5, seed=1)
    given: dict[str, Any] = {"positive_ids": np.arange(5), "fingerprint": "encoder"}
    cache.mine(index, anchors, **given)
    cache.mine(index, anchors, **given, rule=LOOSE)
    index.append(draw(1, seed=2), [99], fingerprint="encoder")
    cache.mine(index, anchors, **given)
    cache.mine(index, anchors, **given, content=[f"{number}" for number in range(51)])
    assert (cache.hits, cache.misses) == (0, 4)
    with pytest.raises(StaleIndex):
        cache.mine(index, anchors, positive_ids=np.arange(5), fingerprint="another")


@pytest.mark.parametrize(
    ("rule", "bound"),
    [
        (MiningRule(absolute_margin=0.3, relative_margin=None), lambda near: near - 0.3),
        (MiningRule(relative_margin=0.8), lambda near: near - 0.2 * abs(near)),
        (MiningRule(max_similarity=0.5, relative_margin=None), lambda _: 0.5),
    ],
)
def test_no_negative_is_nearer_than_the_rule_allows(rule: MiningRule, bound: Any) -> None:
    index, anchors = fill(), draw(30, seed=1)
    mined, _ = mine(index, anchors, rule=rule)
    positives = index.search(anchors, 200)
    for anchor, (_, near) in enumerate(mined.negatives):
        ids, every = positives[anchor]
        own = float(every[ids == anchor][0])
        assert np.all(near <= bound(own) + 1e-7)


def test_an_anchor_that_is_a_row_is_not_its_own_negative() -> None:
    index = fill(30)
    mined, audit = mine(index, draw(30), positive_ids=np.arange(1, 31) % 30, anchor_ids=range(30))
    assert audit.dropped["is the anchor"] == 30
    assert not any(anchor in mined[anchor][0] for anchor in range(30))


def test_the_sample_of_pairs_follows_the_seed() -> None:
    index, anchors = fill(), draw(50, seed=1)
    pairs = [mine(index, anchors, seed=seed)[1].pairs for seed in (1, 1, 2)]
    assert pairs[0] == pairs[1] != pairs[2]


def test_an_audit_travels_in_a_bundle(tmp_path: Path) -> None:
    _, audit = mine(fill(), draw(5, seed=1))
    report = {"audit": audit.to_dict()}
    save_bundle(
        tmp_path / "b", kind="model", config={}, tensors={}, reports=report, fingerprint="encoder"
    )
    loaded = load_bundle(tmp_path / "b", kind="model").reports["audit"]
    assert loaded["mined"] == audit.mined
    assert loaded["pairs"][0]["negative"] == audit.pairs[0].negative


def test_nothing_mined_is_told_without_made_up_numbers() -> None:
    mined, audit = mine(fill(), draw(5, seed=1), rule=MiningRule(max_similarity=-0.99))
    assert len(mined.negatives.ids) == 0
    assert audit.mean_margin is None
    assert audit.pairs == ()


def test_wrong_inputs_are_refused() -> None:
    index = fill()
    with pytest.raises(UnknownId, match="777"):
        mine(index, draw(2), positive_ids=[0, 777])
    with pytest.raises(ShapeError, match="3 anchors but 2 positives"):
        mine(index, draw(3), positive_ids=[0, 1])
    with pytest.raises(ShapeError, match="200 rows"):
        mine(index, draw(3), content=["a"])
    with pytest.raises(StaleIndex):
        mine(index, draw(3), fingerprint="another")


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": 0},
        {"skip": -1},
        {"count": 9, "window": 8},
        {"min_similarity": 0.5, "max_similarity": 0.5},
        {"relative_margin": 0.0},
        {"absolute_margin": -0.1},
    ],
)
def test_rules_that_cannot_work_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        MiningRule(**wrong)
