"""Chunked steps against the whole graph, and what memory will be needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core.encoders.dual import DualEncoder
from likewise.core.errors import SettingError, TooFewRows
from likewise.core.objective.masks import SameId
from likewise.core.objective.objective import ContrastiveObjective
from likewise.core.seeds import derive_seed, seeded
from likewise.core.training.chunking import chunked_step, whole_step
from likewise.core.training.memory import MemoryModel, largest_batch, measure_memory
from likewise.core.training.pairs import Pairs

from tests.core.planted import Planted, gradients, make_towers


def one_graph(
    encoder: DualEncoder, objective: ContrastiveObjective, pairs: Pairs, size: int, seed: int
) -> torch.Tensor:
    """The twin: the same chunks with the same dropout, all kept in one graph."""
    sides = []
    for start in range(0, len(pairs), size):
        with seeded(derive_seed(seed, 0, start)):
            rows = slice(start, start + size)
            sides.append(encoder(pairs.anchors[rows], pairs.positives[rows]))
    anchors, positives = (torch.cat(parts) for parts in zip(*sides, strict=True))
    loss = objective(anchors, positives, masks=pairs.masks, log_q=pairs.log_q).loss
    loss.backward()
    return loss.detach()


def apart(first: torch.Tensor, second: torch.Tensor) -> float:
    return float((first - second).norm() / second.norm())


def planted_pairs(rows: int) -> Pairs:
    source = Planted(rows)
    return source.batch(torch.arange(rows), torch.Generator())


@given(
    rows=st.integers(18, 40),
    size=st.integers(1, 41),
    dropout=st.sampled_from([0.0, 0.4]),
    layout=st.sampled_from(["cross", "both-blocks"]),
)
@settings(deadline=None, max_examples=20)
def test_a_chunked_gradient_is_the_gradient_of_the_whole(
    rows: int, size: int, dropout: float, layout: str
) -> None:  # case core#30
    pairs = replace(planted_pairs(rows), masks=(SameId(torch.arange(rows) // 2),))
    pairs = replace(pairs, log_q=torch.linspace(-3, -1, rows))
    found, expected = (make_towers(dropout=dropout).train() for _ in range(2))
    objectives = [ContrastiveObjective(layout, min_negatives=1) for _ in range(2)]  # type: ignore[arg-type]
    step = chunked_step(found, objectives[0], pairs, size, seed=7)
    loss = one_graph(expected, objectives[1], pairs, size, seed=7)
    assert float(step.loss) == pytest.approx(float(loss), rel=1e-5)
    assert apart(gradients(found, objectives[0]), gradients(expected, objectives[1])) < 1e-5


def test_every_chunk_contributes() -> None:  # case core#30
    class Spy(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.grads: list[torch.Tensor] = []

        def watch(self, _module: object, _into: object, out: torch.Tensor) -> None:
            if out.requires_grad:
                out.register_hook(self.grads.append)

    towers, spy = make_towers(), Spy()
    towers.anchor_encoder.register_forward_hook(spy.watch)
    chunked_step(towers, ContrastiveObjective(), planted_pairs(40), 9)
    assert [len(grad) for grad in spy.grads] == [9, 9, 9, 9, 4]
    assert all(bool((grad.norm(dim=1) > 0).all()) for grad in spy.grads)


def test_further_negatives_are_chunked_too() -> None:
    source = Planted(60)
    pairs = replace(planted_pairs(20), negatives=source.positives[20:])
    results = []
    for size in (7, 100):
        towers, objective = make_towers(), ContrastiveObjective("explicit")
        step = chunked_step(towers, objective, pairs, size)
        assert step.candidates_min == 60 or step.candidates_mean > 20
        results.append(gradients(towers, objective))
    assert apart(results[0], results[1]) < 1e-5


def test_a_batch_that_fits_is_encoded_once() -> None:
    calls: list[int] = []
    towers = make_towers()
    towers.anchor_encoder.register_forward_hook(lambda _m, _x, out: calls.append(len(out)))
    whole_step(towers, ContrastiveObjective(), planted_pairs(20))
    assert calls == [20]
    chunked_step(towers, ContrastiveObjective(), planted_pairs(20), 10)
    assert calls == [20, 10, 10, 10, 10]


def test_accumulated_batches_do_not_enlarge_the_negatives() -> None:  # case core#29
    pairs = planted_pairs(80)
    towers, objective = make_towers(), ContrastiveObjective(min_negatives=1)
    small = whole_step(towers, objective, Pairs(pairs.anchors[:10], pairs.positives[:10]))
    large = chunked_step(towers, objective, pairs, 10)
    assert (small.candidates_min, large.candidates_min) == (10, 80)
    assert "accumulation" in (ContrastiveObjective.__doc__ or "")


def test_gradients_add_to_what_is_there_and_the_step_is_detached() -> None:
    towers, objective = make_towers(), ContrastiveObjective()
    pairs = planted_pairs(30)
    step = chunked_step(towers, objective, pairs, 8)
    once = gradients(towers, objective).clone()
    chunked_step(towers, objective, pairs, 8)
    torch.testing.assert_close(gradients(towers, objective), 2 * once)
    assert not step.loss.requires_grad


def test_dropout_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    chunked_step(
        make_towers(dropout=0.5).train(), ContrastiveObjective(), planted_pairs(20), 6, seed=3
    )
    assert torch.equal(before, torch.get_rng_state())


def test_a_chunk_holds_a_row() -> None:
    with pytest.raises(SettingError, match="chunk_size is 0"):
        chunked_step(make_towers(), ContrastiveObjective(), planted_pairs(20), 0)


def kept_bytes(run: Callable[[], object]) -> int:
    storages: dict[int, torch.Tensor] = {}

    def pack(x: torch.Tensor) -> torch.Tensor:
        storages.setdefault(x.untyped_storage().data_ptr(), x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        out = run()
    del out
    sizes = [x.untyped_storage().nbytes() for x in storages.values()]
    return sum(sizes) + max(sizes)


def test_the_memory_model_predicts_the_graph_of_a_larger_batch() -> None:
    towers = make_towers(head_layers=2)
    model = measure_memory(towers, planted_pairs(16))
    small, large = (
        kept_bytes(lambda rows=rows: towers(*(torch.randn(2, rows, 6)))) for rows in (50, 450)
    )
    inputs = 2 * 6 * 4
    assert model.graph_per_row == pytest.approx((large - small) / 400 - inputs, rel=0.02)


def test_memory_grows_with_the_chunk_not_the_batch() -> None:
    model = MemoryModel(fixed=1000, graph_per_row=500, held_per_row=10)
    assert model.predict(4096, chunk_size=64) == 1000 + 64 * 500 + 4096 * 10
    assert model.predict(32, chunk_size=64) == model.predict(32)


@given(
    graph=st.integers(1, 10_000),
    held=st.integers(1, 1000),
    budget=st.integers(50_000, 10**8),
    chunk=st.none() | st.integers(1, 500),
)
@settings(deadline=None)
def test_the_largest_batch_fits_and_its_double_does_not(
    graph: int, held: int, budget: int, chunk: int | None
) -> None:
    model = MemoryModel(0, graph, held)
    plan = largest_batch(model, budget, chunk_size=chunk, most=1 << 40)
    assert model.predict(plan.batch_size, chunk) == plan.bytes <= budget
    assert model.predict(2 * plan.batch_size, chunk) > budget
    assert plan.negatives == plan.batch_size - 1


def test_a_budget_without_room_is_refused() -> None:
    with pytest.raises(SettingError, match="a batch of 2 needs"):
        largest_batch(MemoryModel(10**6, 1, 1), 1000)
    with pytest.raises(TooFewRows):
        measure_memory(make_towers(), Pairs(torch.zeros(1, 6), torch.zeros(1, 6)))
