"""The loss of the towers, and the proof that log q is subtracted with the right sign."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from likewise.recsys import StreamingFrequency, log_shares, mixed_shares
from likewise.recsys.sampling import Sampling, draw_candidates
from likewise.recsys.softmax import Targets, softmax_loss
from torch import Tensor

from tests.naive_recsys import naive_softmax_loss

NONE = torch.zeros(0, dtype=torch.int64)


def question(owners: list[int], columns: list[int], weights: list[float]) -> Targets:
    return Targets(torch.tensor(owners), torch.tensor(columns), torch.tensor(weights), NONE, NONE)


def test_loss_and_gradient_are_those_of_the_definition() -> None:
    generator = torch.Generator().manual_seed(0)
    histories = torch.randn(3, 5, generator=generator)
    items = torch.randn(7, 5, generator=generator)
    log_q = torch.linspace(-3, -0.1, 7)
    targets = Targets(
        owners=torch.tensor([0, 0, 1, 2]),
        columns=torch.tensor([1, 4, 6, 0]),
        weights=torch.tensor([0.5, 0.5, 1.0, 1.0]),
        hidden_owners=torch.tensor([0, 2]),
        hidden_columns=torch.tensor([3, 6]),
    )
    wanted = [{1: 0.5, 4: 0.5}, {6: 1.0}, {0: 1.0}]

    def by_hand(a: Tensor, b: Tensor) -> float:
        cosines = (
            torch.nn.functional.normalize(a, dim=1) @ torch.nn.functional.normalize(b, dim=1).T
        )
        hidden = {(0, 3), (2, 6)}
        return naive_softmax_loss(
            cosines.tolist(), dict(enumerate(wanted)), hidden, 0.3, log_q.tolist()
        )

    a, b = histories.clone().requires_grad_(), items.clone().requires_grad_()
    loss = softmax_loss(a, b, targets, temperature=0.3, log_q=log_q)
    assert float(loss.detach()) == pytest.approx(by_hand(histories, items), abs=1e-5)
    loss.backward()
    assert a.grad is not None
    assert b.grad is not None
    for tensor, grad in ((histories, a.grad), (items, b.grad)):
        for place in [(0, 0), (1, 2), (2, 4)]:
            up, down = tensor.clone(), tensor.clone()
            up[place] += 1e-2
            down[place] -= 1e-2
            moved = (
                [(up, items), (down, items)]
                if tensor is histories
                else [(histories, up), (histories, down)]
            )
            slope = (by_hand(*moved[0]) - by_hand(*moved[1])) / 2e-2
            assert float(grad[place]) == pytest.approx(slope, abs=2e-3)


@pytest.mark.parametrize(
    ("correct", "agrees"), [(1.0, True), (0.0, False), (-1.0, False)], ids=["minus", "off", "plus"]
)
def test_with_log_q_subtracted_sampling_has_the_gradient_of_all_items(
    correct: float, agrees: bool
) -> None:
    # case TFRS #219, #278: with q = popularity and a constant encoder, the expected gradient is
    # that of the full softmax; added instead of subtracted, or left out, it is not.
    items = 40
    counts = np.ceil(2000.0 / np.arange(1, items + 1) ** 1.3).astype(np.int64)
    constant = torch.ones(1, 4)
    anchor = torch.tensor([[1.0, 0.2, -0.3, 0.1]])

    def gradient(vectors: Tensor, targets: Targets, log_q: Tensor | None) -> Tensor:
        moving = vectors.clone().requires_grad_()
        softmax_loss(anchor, moving, targets, temperature=1.0, log_q=log_q).backward()
        assert moving.grad is not None
        return moving.grad

    full = gradient(constant.expand(items, -1), question([0], [items - 1], [1.0]), None)
    sampling = Sampling.of(12, counts, exponent=1.0, uniform=0.0)
    assert sampling is not None
    sampling = Sampling(sampling.draws, sampling.shares, np.zeros(items))
    generator, total, draws = np.random.default_rng(0), torch.zeros(items, 4), 6000
    for _ in range(draws):
        drawn = draw_candidates(question([0], [items - 1], [1.0]), sampling, generator)
        part = gradient(constant.expand(len(drawn.items), -1), drawn.targets, correct * drawn.log_q)
        total.index_add_(0, drawn.items, part)
    error = float((total / draws - full).norm() / full.norm())
    assert (error < 0.15) == agrees


def test_targets_stay_targets_in_the_sample_and_are_not_drawn_as_negatives_twice() -> None:
    # case TFRS #334
    counts = np.full(100, 3)
    sampling = Sampling.of(30, counts, 1.0, 0.0)
    assert sampling is not None
    targets = Targets(
        torch.tensor([0, 1]),
        torch.tensor([7, 7]),
        torch.ones(2),
        torch.tensor([0]),
        torch.tensor([50]),
    )
    drawn = draw_candidates(targets, sampling, np.random.default_rng(0))
    assert len(set(drawn.items.tolist())) == len(drawn.items)
    assert drawn.items[drawn.targets.columns].tolist() == [7, 7]
    assert all(drawn.items[drawn.targets.hidden_columns] == 50)
    assert (drawn.log_q <= 0).all()


def test_a_small_catalogue_is_not_sampled() -> None:
    assert Sampling.of(50, np.ones(50, dtype=np.int64), 1.0, 0.0) is None
    assert Sampling.of(None, np.ones(50, dtype=np.int64), 1.0, 0.0) is None


def test_shares_mix_popularity_with_uniform_draws() -> None:
    counts = np.array([8, 1, 1])
    assert mixed_shares(counts, uniform=0.0).tolist() == pytest.approx([0.8, 0.1, 0.1])
    assert mixed_shares(counts, uniform=1.0).tolist() == pytest.approx([1 / 3] * 3)
    assert np.exp(log_shares(counts, 0.0)).tolist() == pytest.approx([1 / 3] * 3)


def test_a_stream_tells_how_often_items_come_by() -> None:
    generator = np.random.default_rng(0)
    truth = np.array([0.5, 0.2, 0.05])
    stream = StreamingFrequency(slots=1 << 12, rate=0.02)
    for _ in range(4000):
        stream.update(np.flatnonzero(generator.random(3) < truth))
    np.testing.assert_allclose(stream.share(np.arange(3)), truth, rtol=0.35)
    assert stream.share(np.array([77])).tolist() == [0.0]
