"""Samplers: the q they state is the q they draw with, and the queue forgets in order."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core.encoders.bags import Bags
from likewise.core.encoders.fingerprint import fingerprint
from likewise.core.errors import SettingError, ShapeError
from likewise.core.geometry import normalize
from likewise.core.index.exact import ExactIndex
from likewise.core.negatives.drawing import Mixture, Popularity, WeightedDraw
from likewise.core.negatives.hard import Curriculum, MinedHard, bags_of
from likewise.core.negatives.mining import MiningRule, mine_negatives
from likewise.core.negatives.queues import Queue, VectorQueue
from likewise.core.negatives.samplers import InBatch, NegativeSampler, Request, log_presence
from likewise.core.objective.masks import SameId
from likewise.core.objective.objective import ContrastiveObjective
from likewise.core.training.chunking import whole_step
from likewise.core.training.pairs import Pairs
from likewise.core.training.trainer import Trainer

from tests.core.planted import Planted, make_towers
from tests.naive import naive_queue

SHARES = torch.tensor([0.5, 0.25, 0.125, 0.125])


def ask(ids: list[int], *, share_done: float = 0.0, seed: int = 0) -> Request:
    rows = torch.tensor(ids)
    generator = torch.Generator().manual_seed(seed)
    return Request(rows, rows, torch.zeros(len(ids), 6), share_done, generator)


def mined_lists(pairs: int = 8) -> Bags:
    """Pair i has the hard candidates 10 i to 10 i + 3, the last one the hardest."""
    lists = [[10 * i + 3, 10 * i, 10 * i + 2, 10 * i + 1] for i in range(pairs)]
    return Bags.of(lists, [[0.9, 0.1, 0.7, 0.4]] * pairs)


def uniform(candidates: int, draws: int) -> WeightedDraw:
    return WeightedDraw(torch.full((candidates,), 1 / candidates), draws=draws)


# --- in-batch ------------------------------------------------------------------------------------


@given(st.floats(1e-9, 1.0), st.integers(1, 10_000))
@settings(deadline=None)
def test_presence_is_one_minus_the_chance_to_miss_every_time(share: float, draws: int) -> None:
    found = float(log_presence(torch.tensor([share], dtype=torch.float64), draws))
    expected = math.log(-math.expm1(draws * math.log1p(-share))) if share < 1 else 0.0
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert found <= 1e-6


def test_in_batch_q_is_the_share_of_batches_that_hold_the_candidate() -> None:
    generator = torch.Generator().manual_seed(0)
    batches = torch.multinomial(SHARES, 8 * 20_000, True, generator=generator).view(-1, 8)
    held = torch.stack([(batches == one).any(dim=1).float().mean() for one in range(4)])
    stated = InBatch(SHARES).log_q(torch.arange(4), 8)
    assert stated is not None
    torch.testing.assert_close(stated.exp(), held, atol=0.01, rtol=0)


def test_known_duplicates_are_no_negatives() -> None:
    class Twice(Planted):
        def batch(self, rows: torch.Tensor, generator: torch.Generator) -> Pairs:
            return replace(super().batch(rows, generator), ids=rows // 2)

    trainer = Trainer(make_towers(), ContrastiveObjective(), epochs=1, batch_size=48)
    history = trainer.fit(Twice(48))
    assert history.steps[0].candidates == 47.0
    assert history.steps[0].masked == 2 * 48  # both directions


# --- weighted draws ------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [0.0, 0.75, 1.0])
def test_a_draw_is_as_likely_as_it_says(exponent: float) -> None:
    sampler = Popularity(SHARES, draws=40_000, exponent=exponent)
    draw = sampler.draw(ask([0]))
    counts = torch.bincount(draw.ids, minlength=4)
    stated = torch.zeros(4).scatter(
        0, draw.ids, torch.ones(0) if draw.log_q is None else draw.log_q
    )
    assert draw.log_q is not None
    torch.testing.assert_close(counts / 40_000, stated.exp() / 40_000, atol=0.01, rtol=0)
    weights = SHARES.double() ** exponent
    torch.testing.assert_close(sampler.probabilities, weights / weights.sum())


def test_a_candidate_never_seen_is_never_drawn() -> None:
    shares = torch.tensor([0.0, 0.5, 0.0, 0.5, 0.0])
    drawn = Popularity(shares, draws=5000, exponent=0.0).draw(ask([0]))
    assert set(drawn.ids.tolist()) == {1, 3}


def test_the_q_of_a_mixture_is_the_probability_of_the_mixture() -> None:
    parts = [
        Popularity(SHARES, draws=1, exponent=1.0),
        Popularity(SHARES, draws=1, exponent=0.0),
    ]
    sampler = Mixture(parts, [0.75, 0.25], draws=60_000)
    expected = 0.75 * SHARES.double() + 0.25 / 4
    torch.testing.assert_close(sampler.probabilities, expected)
    draw = sampler.draw(ask([0]))
    assert draw.log_q is not None
    torch.testing.assert_close(draw.log_q, torch.log(60_000 * expected)[draw.ids].float())
    counts = torch.bincount(draw.ids, minlength=4).double()
    torch.testing.assert_close(counts / 60_000, expected, atol=0.01, rtol=0)


def test_draws_hang_on_the_generator_alone() -> None:
    sampler = Popularity(SHARES, draws=50)
    assert torch.equal(sampler.draw(ask([0], seed=1)).ids, sampler.draw(ask([0], seed=1)).ids)
    assert not torch.equal(sampler.draw(ask([0], seed=1)).ids, sampler.draw(ask([0], seed=2)).ids)


def test_shares_are_checked() -> None:
    with pytest.raises(SettingError, match="sum of 2"):
        InBatch(torch.tensor([1.0, 1.0]))
    with pytest.raises(SettingError, match=r"a least of -0\.5"):
        Popularity(torch.tensor([1.5, -0.5]), draws=1)
    with pytest.raises(SettingError, match="sum of nan"):
        WeightedDraw(torch.tensor([float("nan"), 1.0]), draws=1)
    with pytest.raises(SettingError, match="one share a part"):
        Mixture([uniform(3, 1), uniform(4, 1)], [0.5, 0.5], draws=2)
    with pytest.raises(SettingError, match="draws is 0"):
        uniform(3, 0)


def test_a_candidate_that_cannot_be_there_is_told() -> None:
    frequencies = torch.tensor([0.0, 0.5, 0.5])
    for sampler in (InBatch(frequencies), Popularity(frequencies, draws=2)):
        with pytest.raises(SettingError, match=r"candidates \[0\] .* frequency of 0"):
            sampler.log_q(torch.tensor([1, 0]), 2)
        with pytest.raises(SettingError, match=r"cover 3 candidates .* candidate 7"):
            sampler.log_q(torch.tensor([1, 7]), 2)


# --- mined ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.5])
def test_the_cap_bounds_the_hard_share_of_the_multiset(share: float) -> None:
    base = WeightedDraw(torch.eye(200)[150], draws=40)  # the base draws candidate 150 alone
    drawn = MinedHard(mined_lists(), base, share=share).draw(ask([0, 3, 5]))
    hard = int((drawn.ids != 150).sum())
    assert len(drawn.ids) == 40
    assert hard == math.floor(share * 40)
    assert set(drawn.ids[drawn.ids != 150].tolist()) <= {
        10 * pair + place for pair in (0, 3, 5) for place in range(4)
    }


def test_the_cap_changes_the_share_of_the_gradient() -> None:
    source = Planted(200)
    pairs = source.batch(torch.arange(8), torch.Generator())
    towers = make_towers()
    objective = ContrastiveObjective("queue", symmetric=False, min_negatives=1)
    near = normalize(towers(pairs.anchors, pairs.positives)[0].detach()).mean(dim=0)
    shares = []
    for share in (0.0, 0.25, 0.5):
        base = WeightedDraw(torch.eye(200)[150], draws=40)
        drawn = MinedHard(mined_lists(), base, share=share).draw(ask([0, 3, 5]))
        hard = drawn.ids != 150
        vectors = torch.where(hard[:, None], near, -near).requires_grad_()
        objective(*towers(pairs.anchors, pairs.positives), negatives=vectors).loss.backward()
        assert vectors.grad is not None
        strength = vectors.grad.norm(dim=1)
        shares.append(float(strength[hard].sum() / strength.sum()))
    assert shares[0] == 0.0
    assert shares == sorted(shares)


def test_a_mined_q_is_the_expected_count_given_the_batch() -> None:
    base = uniform(100, 40)
    sampler = MinedHard(mined_lists(), base, share=0.5)
    totals = torch.zeros(100, dtype=torch.float64)
    stated: dict[int, float] = {}
    for seed in range(400):
        drawn = sampler.draw(ask([0, 3], seed=seed))
        totals += torch.bincount(drawn.ids, minlength=100)
        assert drawn.log_q is not None
        stated |= dict(zip(drawn.ids.tolist(), drawn.log_q.exp().tolist(), strict=True))
    for candidate in (0, 3, 30, 50, 99):
        assert stated[candidate] == pytest.approx(float(totals[candidate]) / 400, rel=0.25)
    assert stated[0] == pytest.approx(20 / 8 + 20 / 100)
    assert stated[50] == pytest.approx(20 / 100)


def test_without_mined_candidates_everything_comes_from_the_base() -> None:
    empty = Bags.of([[], []])
    drawn = MinedHard(empty, uniform(10, 6), share=0.5).draw(ask([0, 1]))
    assert len(drawn.ids) == 6
    assert drawn.log_q is not None
    torch.testing.assert_close(drawn.log_q.exp(), torch.full((6,), 0.6))


@pytest.mark.parametrize("share", [-0.1, 0.51, float("nan")])
def test_a_hard_share_beyond_half_is_refused(share: float) -> None:
    with pytest.raises(SettingError, match="hard negatives"):
        MinedHard(mined_lists(), uniform(100, 4), share=share)
    with pytest.raises(SettingError):
        Curriculum(MinedHard(mined_lists(), uniform(100, 4)), last_share=share)


def test_a_mined_row_that_is_no_row_is_refused() -> None:
    with pytest.raises(ShapeError, match="negative rows"):
        MinedHard(Bags.of([[3, -1]]), uniform(10, 4))
    with pytest.raises(ShapeError, match="cover 8 pairs and the batch holds pair 8"):
        MinedHard(mined_lists(), uniform(100, 4)).draw(ask([8]))


def test_a_curriculum_goes_from_few_and_easy_to_many_and_hard() -> None:
    base = WeightedDraw(torch.eye(200)[150], draws=40)
    sampler = Curriculum(MinedHard(mined_lists(), base), first_share=0.1, last_share=0.5)
    counts, hardness = [], []
    for done in (0.0, 0.5, 1.0):
        ids = sampler.draw(ask([0, 1, 2], share_done=done)).ids
        mined = ids[ids != 150]
        counts.append(len(mined))
        hardness.append(set((mined % 10).tolist()))
    assert counts == [4, 12, 20]
    assert hardness[0] <= {0, 1}
    assert hardness[1] <= {1, 2}
    assert hardness[2] <= {2, 3}


def test_a_hard_negative_that_is_another_rows_positive_is_masked_there() -> None:  # case core#10
    source = Planted(100)
    towers = make_towers()
    pairs = source.batch(torch.arange(20), torch.Generator())
    drawn = torch.tensor([3, 50])
    objective = ContrastiveObjective("explicit", symmetric=False, min_negatives=1)
    joined = replace(
        pairs,
        masks=(SameId(torch.arange(20), drawn),),
        negatives=source.candidates(drawn),
    )
    step = whole_step(towers, objective, joined)
    assert step.masked == 1
    assert step.candidates_min == 21


# --- queue ---------------------------------------------------------------------------------------


def test_a_queue_of_64_keeps_the_newest_64_of_70_rows() -> None:  # case core#19
    queue = VectorQueue(64, 2)
    for step in range(7):
        ids = torch.arange(10 * step, 10 * step + 10)
        queue.push(torch.stack([ids.float(), -ids.float()], dim=1), ids, step=step)
    content = queue.read()
    assert content.ids.tolist() == list(range(6, 70))
    assert torch.equal(content.vectors[:, 0], content.ids.float())
    assert content.written.tolist() == [one // 10 for one in range(6, 70)]


@given(st.integers(1, 12), st.lists(st.integers(0, 30), max_size=8))
@settings(deadline=None)
def test_a_queue_keeps_what_a_list_keeps(size: int, lengths: list[int]) -> None:
    queue, batches, start = VectorQueue(size, 1), [], 0
    for step, length in enumerate(lengths):
        ids = torch.arange(start, start + length)
        queue.push(ids[:, None].float(), ids, step=step)
        batches.append(ids.tolist())
        start += length
    content = queue.read()
    assert content.ids.tolist() == naive_queue(size, batches)
    assert torch.equal(content.vectors[:, 0], content.ids.float())
    assert len(queue) == len(content)


def test_slots_that_were_never_written_are_not_there() -> None:  # case core#18
    queue = VectorQueue(64, 3)
    assert queue.read().vectors.shape == (0, 3)
    queue.push(torch.ones(2, 3), torch.tensor([4, 5]), step=0)
    assert queue.read().vectors.tolist() == [[1.0] * 3] * 2


def test_writing_between_forward_and_backward_is_harmless() -> None:  # case core#21
    queue = VectorQueue(4, 2)
    queue.push(torch.randn(4, 2), torch.arange(4), step=0)
    anchors = torch.randn(3, 2, requires_grad=True)
    negatives = queue.read().vectors
    loss = (anchors @ negatives.T).square().sum()
    queue.push(torch.randn(4, 2), torch.arange(4), step=1)
    loss.backward()
    assert anchors.grad is not None
    torch.testing.assert_close(anchors.grad, 2 * anchors.detach() @ negatives.T @ negatives)


def test_the_first_step_of_a_queue_has_the_batch_and_nothing_random() -> None:  # case core#18
    history = queue_trainer(Queue(64), layout="queue").fit(Planted(96))
    # B - 1 others of the batch, no random filling; then the slots fill up.
    assert [record.candidates for record in history.steps] == [24.0, 48.0, 64.0, 64.0]
    assert [record.queue_age for record in history.steps] == [0, 1, 2, 2]


def test_an_item_in_the_queue_never_meets_itself() -> None:  # case core#17
    class Few(Planted):
        def batch(self, rows: torch.Tensor, generator: torch.Generator) -> Pairs:
            return replace(super().batch(rows, generator), ids=rows % 4)

    history = queue_trainer(Queue(48), layout="queue").fit(Few(96))
    full = history.steps[-1]
    assert full.candidates == pytest.approx(1 + 48 * 3 / 4, abs=2)
    assert full.masked > 0


def queue_trainer(sampler: NegativeSampler, *, layout: str) -> Trainer:
    objective = ContrastiveObjective(layout, symmetric=False, min_negatives=1)  # type: ignore[arg-type]
    return Trainer(make_towers(), objective, epochs=1, batch_size=24, sampler=sampler)


def test_a_draw_changes_nothing_until_it_is_committed() -> None:
    towers, sampler = make_towers(), Queue(8)
    sampler.begin(towers)
    first, again = sampler.draw(ask([1, 2])), sampler.draw(ask([1, 2]))
    assert torch.equal(first.ids, again.ids)
    assert sampler.state_dict()["queue"]["total"] == 0
    sampler.commit(towers)
    assert sampler.state_dict()["queue"]["total"] == 2


def test_the_queue_is_written_by_the_slow_copy() -> None:
    towers, sampler = make_towers(), Queue(8, momentum=1.0)
    sampler.begin(towers)
    request = replace(ask([1, 2]), positives=torch.randn(2, 6))
    frozen = normalize(towers.project_candidates(request.positives)).detach()
    with torch.no_grad():
        for p in towers.parameters():
            p.add_(1.0)
    sampler.commit(towers)
    assert sampler.draw(request).vectors is not None
    torch.testing.assert_close(sampler.draw(request).vectors, frozen)


def test_a_queue_resumes_bit_for_bit() -> None:
    towers, first = make_towers(), Queue(5, momentum=0.5)
    first.begin(towers)
    for step in range(3):
        first.draw(replace(ask([step, step + 1]), positives=torch.randn(2, 6)))
        first.commit(towers)
    second = Queue(5, momentum=0.5)
    second.begin(towers)
    second.load_state_dict(first.state_dict())
    request = replace(ask([7, 8]), positives=torch.randn(2, 6))
    one, other = first.draw(request), second.draw(request)
    assert one.vectors is not None
    assert other.vectors is not None
    assert torch.equal(one.vectors, other.vectors)
    assert torch.equal(one.ids, other.ids)
    assert one.age == other.age


def test_a_queue_of_another_shape_is_refused() -> None:
    queue = VectorQueue(4, 2)
    with pytest.raises(ShapeError, match=r"\[B, 2\]"):
        queue.push(torch.zeros(3, 3), torch.arange(3), step=0)
    with pytest.raises(ShapeError, match="saved queue"):
        queue.load_state_dict(VectorQueue(5, 2).state_dict())
    with pytest.raises(SettingError, match="begin"):
        Queue(4).draw(ask([0]))
    with pytest.raises(SettingError, match="momentum of 0 to 1"):
        Queue(4, momentum=1.5)


# --- all of them ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sampler",
    [
        InBatch(SHARES),
        Popularity(SHARES, draws=3),
        Mixture([uniform(4, 1), Popularity(SHARES, draws=1)], [0.5, 0.5], draws=3),
        MinedHard(mined_lists(1), uniform(4, 3)),
        Curriculum(MinedHard(mined_lists(1), uniform(4, 3))),
        Queue(4),
    ],
    ids=lambda sampler: str(sampler.name),
)
def test_every_sampler_says_its_name_and_a_plain_config(sampler: NegativeSampler) -> None:
    assert sampler.name
    assert json.loads(json.dumps(sampler.config)) == sampler.config


@pytest.mark.parametrize("kind", ["popularity", "mined-hard", "curriculum"])
def test_drawn_candidates_train(kind: str) -> None:
    source = Planted(96)
    base = Popularity(torch.full((96,), 1 / 96), draws=30)
    lists = torch.randint(96, (96, 5), generator=torch.Generator().manual_seed(0)).tolist()
    hard = MinedHard(Bags.of(lists), base, share=0.4)
    sampler = {"popularity": base, "mined-hard": hard, "curriculum": Curriculum(hard)}[kind]
    objective = ContrastiveObjective("explicit")
    trainer = Trainer(
        make_towers(), objective, epochs=20, batch_size=48, learning_rate=1e-2, sampler=sampler
    )
    before = source.recall(trainer.encoder)
    history = trainer.fit(source, source.recall)
    assert history.best_probe is not None
    assert history.best_probe > max(0.5, 3 * before)
    assert history.sampler == kind
    assert history.steps[0].candidates > 48


def test_what_was_mined_through_the_index_can_be_trained_on() -> None:
    source, towers = Planted(96), make_towers()
    name = fingerprint(towers.serving_part(), preprocessing={})
    index = ExactIndex(towers.encode_candidates(source.positives), fingerprint=name)
    anchors = towers.encode_anchors(source.anchors)
    rule = MiningRule(count=4, relative_margin=None)
    mined, _ = mine_negatives(
        index, anchors.numpy(), torch.arange(96).numpy(), rule=rule, fingerprint=name
    )
    lists = bags_of(mined.negatives)
    assert lists.lengths.tolist() == mined.negatives.counts.tolist()
    scores = anchors @ towers.encode_candidates(source.positives).T
    owner = torch.repeat_interleave(torch.arange(96), lists.lengths)
    torch.testing.assert_close(scores[owner, lists.indices], lists.weights)
    sampler = MinedHard(lists, uniform(96, 20), share=0.5)
    trainer = Trainer(
        towers, ContrastiveObjective("explicit"), epochs=2, batch_size=48, sampler=sampler
    )
    assert trainer.fit(source).steps[0].candidates > 48


def test_two_sources_of_negatives_are_one_too_many() -> None:
    class Given(Planted):
        def batch(self, rows: torch.Tensor, generator: torch.Generator) -> Pairs:
            return replace(super().batch(rows, generator), negatives=self.positives[:4])

    trainer = Trainer(
        make_towers(),
        ContrastiveObjective("explicit"),
        batch_size=24,
        sampler=uniform(48, 4),
    )
    with pytest.raises(SettingError, match="use one of the two"):
        trainer.fit(Given(48))
