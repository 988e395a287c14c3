"""The objective against its row-by-row twin, and the traps other implementations fell into."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from likewise.core.errors import (
    DegenerateTemperature,
    NonFiniteError,
    RepresentationCollapse,
    SettingError,
    ShapeError,
    TooFewNegatives,
    TooFewRows,
)
from likewise.core.geometry import check_geometry, measure_geometry
from likewise.core.objective import tiling
from likewise.core.objective.config import ObjectiveConfig
from likewise.core.objective.layout import Pool
from likewise.core.objective.masks import CandidateMask, GivenPairs, SameGroup, SameId
from likewise.core.objective.objective import ContrastiveObjective
from likewise.core.objective.step import StepResult
from torch import Tensor

from tests.naive import (
    NaivePool,
    NaiveSettings,
    NaiveStep,
    naive_objective,
    naive_pairs,
    naive_same,
)

LAYOUTS = {
    "cross": ("cross", True),
    "cross one way": ("cross", False),
    "both-blocks": ("both-blocks", True),
    "both-blocks one way": ("both-blocks", False),
    "ntxent": ("ntxent", True),
    "queue": ("queue", False),
    "explicit": ("explicit", True),
    "explicit one way": ("explicit", False),
}
OPTIONS: dict[str, dict[str, object]] = {
    "infonce": {},
    "decoupled": {"decoupled": True},
    "debias": {"debias": 0.1},
    "hardness": {"hardness": 0.7},
    "debias and hardness": {"debias": 0.05, "hardness": 0.3},
    "decoupled, debias and hardness": {"decoupled": True, "debias": 0.05, "hardness": 0.3},
    "sigmoid": {"loss": "sigmoid"},
}


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@dataclass
class Batch:
    """One problem, told to the library and to its twin alike."""

    settings: NaiveSettings
    anchors: Tensor
    positives: Tensor
    negatives: Tensor | None
    log_scale: float = math.log(1 / 0.2)
    logit_bias: float = -2.0
    ids: Tensor | None = None
    negative_ids: Tensor | None = None
    groups: Tensor | None = None
    pairs: Tensor | None = None
    log_q: Tensor | None = None
    negative_log_q: Tensor | None = None

    def masks(self) -> list[CandidateMask]:
        masks: list[CandidateMask] = []
        if self.ids is not None:
            masks.append(SameId(self.ids, self.negative_ids))
        if self.groups is not None:
            masks.append(SameGroup(self.groups))
        if self.pairs is not None:
            masks.append(GivenPairs(self.pairs, len(self.anchors)))
        return masks

    def naive_masks(self) -> tuple[Tensor, Tensor | None]:
        size = len(self.anchors)
        mask, extra = torch.zeros(size, size, dtype=torch.bool), None
        if self.ids is not None:
            mask = mask | naive_same(self.ids, self.ids)
            if self.negative_ids is not None:
                extra = naive_same(self.ids, self.negative_ids)
        if self.groups is not None:
            mask = mask | naive_same(self.groups, self.groups)
        if self.pairs is not None:
            mask = mask | naive_pairs(self.pairs, size)
        return mask, extra

    def leaves(self, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor | None]:
        copies = [
            None if x is None else x.to(dtype).clone().requires_grad_()
            for x in (self.anchors, self.positives, self.negatives)
        ]
        assert copies[0] is not None
        assert copies[1] is not None
        return copies[0], copies[1], copies[2]


def make_batch(
    layout: str,
    symmetric: bool,
    *,
    size: int = 9,
    width: int = 5,
    given_negatives: int = 7,
    seed: int = 0,
    **options: object,
) -> Batch:
    anchors = draw(size, width, seed=seed)
    takes_negatives = layout in ("queue", "explicit")
    return Batch(
        NaiveSettings(layout=layout, symmetric=symmetric, **options),  # type: ignore[arg-type]
        anchors,
        anchors + draw(size, width, seed=seed + 1),
        draw(given_negatives, width, seed=seed + 2) if takes_negatives else None,
    )


def with_masks(batch: Batch, seed: int = 0) -> Batch:
    """Masks and corrections of every kind, with duplicates, none of which empties a row."""
    generator = torch.Generator().manual_seed(seed)
    size = len(batch.anchors)
    pairs = torch.randint(size, (3, 2), generator=generator)
    ids = torch.arange(size)
    ids[-1] = ids[0]
    batch = replace(
        batch,
        settings=replace(batch.settings, margin=0.4, log_q_weight=0.8),
        ids=ids,
        groups=torch.arange(size) // 2,
        pairs=pairs,
        log_q=torch.rand(size, generator=generator, dtype=torch.float64).log(),
    )
    if batch.negatives is not None:
        count = len(batch.negatives)
        batch.negative_ids = torch.randint(2 * size, (count,), generator=generator)
        batch.negative_log_q = torch.rand(count, generator=generator, dtype=torch.float64).log()
    return batch


def make_objective(batch: Batch, dtype: torch.dtype = torch.float64) -> ContrastiveObjective:
    told = asdict(batch.settings)
    # Eq. 8 of the debiased loss is stated for a temperature that is not learned.
    learnable = not batch.settings.debias
    objective = ContrastiveObjective(**told, learnable=learnable, min_negatives=1).to(dtype)
    with torch.no_grad():
        objective.log_scale.fill_(batch.log_scale)
        if batch.settings.loss == "sigmoid":
            objective.logit_bias.fill_(batch.logit_bias)
    return objective


@dataclass
class Answer:
    loss: float
    gradients: dict[str, Tensor]


def ask_library(batch: Batch, dtype: torch.dtype = torch.float64) -> tuple[Answer, StepResult]:
    anchors, positives, negatives = batch.leaves(dtype)
    objective = make_objective(batch, dtype)
    step = objective(
        anchors,
        positives,
        masks=batch.masks(),
        log_q=batch.log_q,
        negatives=negatives,
        negative_log_q=batch.negative_log_q,
    )
    step.loss.backward()
    gradients = {"anchors": anchors.grad, "positives": positives.grad}
    if negatives is not None:
        gradients["negatives"] = negatives.grad
    if objective.config.learnable:
        gradients["log_scale"] = objective.log_scale.grad
    if batch.settings.loss == "sigmoid":
        gradients["logit_bias"] = objective.logit_bias.grad
    return Answer(step.loss.item(), gradients), step  # type: ignore[arg-type]


def ask_twin(batch: Batch) -> tuple[Answer, NaiveStep]:
    anchors, positives, negatives = batch.leaves(torch.float64)
    log_scale = torch.tensor(batch.log_scale, dtype=torch.float64, requires_grad=True)
    logit_bias = torch.tensor(batch.logit_bias, dtype=torch.float64, requires_grad=True)
    mask, negative_mask = batch.naive_masks()
    step = naive_objective(
        batch.settings,
        anchors,
        positives,
        log_scale,
        logit_bias,
        mask=mask,
        negative_mask=negative_mask,
        log_q=batch.log_q,
        negatives=negatives,
        negative_log_q=batch.negative_log_q,
    )
    step.loss.backward()
    gradients = {"anchors": anchors.grad, "positives": positives.grad}
    if negatives is not None:
        gradients["negatives"] = negatives.grad
    if not batch.settings.debias:
        gradients["log_scale"] = log_scale.grad
    if batch.settings.loss == "sigmoid":
        gradients["logit_bias"] = logit_bias.grad
    return Answer(float(step.loss.detach()), gradients), step  # type: ignore[arg-type]


def assert_close(found: Answer, expected: Answer, tolerance: float, floor: float = 1e-12) -> None:
    assert found.loss == pytest.approx(expected.loss, rel=tolerance, abs=floor)
    for name, gradient in expected.gradients.items():
        error = float((found.gradients[name].double() - gradient).abs().max())
        assert error <= tolerance * float(gradient.abs().max()) + floor, (name, error)


# --- equal to the twin --------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True], ids=["bare", "masked"])
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_loss_gradient_and_counts_equal_the_twin(layout: str, option: str, masked: bool) -> None:
    batch = make_batch(*LAYOUTS[layout], **OPTIONS[option])
    batch = with_masks(batch) if masked else batch
    found, step = ask_library(batch)
    expected, counts = ask_twin(batch)
    assert_close(found, expected, 1e-9)
    assert step.candidates_min == min(counts.kept) + 1
    assert step.candidates_mean == pytest.approx(sum(counts.kept) / len(counts.kept) + 1)
    assert step.masked == counts.masked
    assert step.beaten_share == pytest.approx(counts.beaten / len(counts.kept))


@pytest.mark.parametrize("masked", [False, True], ids=["bare", "masked"])
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_float32_equals_the_float64_twin(layout: str, option: str, masked: bool) -> None:
    batch = make_batch(*LAYOUTS[layout], seed=10, **OPTIONS[option])
    batch = with_masks(batch) if masked else batch
    assert_close(ask_library(batch, torch.float32)[0], ask_twin(batch)[0], 1e-4, 1e-6)


@st.composite
def batches(draw_value: st.DrawFn) -> Batch:
    layout, symmetric = LAYOUTS[draw_value(st.sampled_from(sorted(LAYOUTS)))]
    size = draw_value(st.integers(2, 9))
    count = draw_value(st.integers(1, 6))
    batch = make_batch(
        layout,
        symmetric,
        size=size,
        width=draw_value(st.integers(1, 6)),
        given_negatives=count,
        seed=draw_value(st.integers(0, 2**31)),
        **OPTIONS[draw_value(st.sampled_from(sorted(OPTIONS)))],
    )
    batch.log_scale = math.log(draw_value(st.floats(1, 100)))
    batch.logit_bias = draw_value(st.floats(-12, 2))
    if draw_value(st.booleans()):
        labels = st.integers(0, 2 * size)
        batch.ids = torch.tensor(draw_value(st.lists(labels, min_size=size, max_size=size)))
        if batch.negatives is not None and draw_value(st.booleans()):
            drawn = draw_value(st.lists(labels, min_size=count, max_size=count))
            batch.negative_ids = torch.tensor(drawn)
    if draw_value(st.booleans()):
        batch.settings = replace(batch.settings, margin=draw_value(st.floats(0.05, 1)))
    if draw_value(st.booleans()):
        logs = st.floats(-8, 0)
        drawn_logs = draw_value(st.lists(logs, min_size=size, max_size=size))
        batch.log_q = torch.tensor(drawn_logs, dtype=torch.float64)
        batch.settings = replace(batch.settings, log_q_weight=draw_value(st.floats(0, 1)))
    return batch


@given(batches())
@settings(max_examples=120, deadline=None)
def test_any_batch_equals_the_twin_or_says_it_has_no_negatives(batch: Batch) -> None:
    try:
        found, step = ask_library(batch)
    except TooFewNegatives:
        with pytest.raises(RuntimeError, match="non-empty"):
            ask_twin(batch)
        return
    expected, counts = ask_twin(batch)
    # On a kink the last digit decides which of two gradients is right.
    assume(counts.kink > 1e-6)
    # At scale 100 cosines are multiplied, and with them their last digit.
    assert_close(found, expected, 1e-9, 1e-10)
    assert (step.candidates_min, step.masked) == (min(counts.kept) + 1, counts.masked)


@pytest.mark.parametrize("loss", ["softmax", "sigmoid"])
def test_a_hopeless_row_is_exact_too(loss: str) -> None:
    """The loss of a row is near 25, where a softplus cut short is off by 1e-11."""
    batch = make_batch("cross", False, size=2, width=2, loss=loss)
    batch.anchors = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    batch.positives = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    batch.log_scale, batch.logit_bias = math.log(25), 0.0
    assert_close(ask_library(batch)[0], ask_twin(batch)[0], 1e-14, 1e-14)


@pytest.mark.parametrize("elements", [1, 40, 500])
@pytest.mark.parametrize("option", ["infonce", "decoupled, debias and hardness", "sigmoid"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_many_small_tiles_give_the_same_answer(
    layout: str, option: str, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_batch(*LAYOUTS[layout], size=23, given_negatives=11, **OPTIONS[option])
    batch = with_masks(batch)
    whole, whole_step = ask_library(batch)
    monkeypatch.setattr(tiling, "TILE_ELEMENTS", elements)
    found, step = ask_library(batch)
    assert_close(found, whole, 1e-11)
    assert step.masked == whole_step.masked
    assert asdict(step.geometry) == pytest.approx(asdict(whole_step.geometry))


@pytest.mark.parametrize("layout", ["cross", "ntxent", "explicit"])
def test_a_batch_of_several_full_tiles_equals_the_twin(
    layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiling, "TILE_ELEMENTS", 1000)
    batch = with_masks(make_batch(*LAYOUTS[layout], size=60, width=8, given_negatives=20))
    assert_close(ask_library(batch)[0], ask_twin(batch)[0], 1e-9)


def test_a_large_float32_batch_equals_plain_cross_entropy() -> None:
    x, y = draw(1500, 32, seed=1), draw(1500, 32, seed=2)
    a, p = x.float().requires_grad_(), y.float().requires_grad_()
    step = ContrastiveObjective("cross", temperature=0.1)(a, p)
    step.loss.backward()
    left, right = x.clone().requires_grad_(), y.clone().requires_grad_()
    unit = torch.nn.functional.normalize
    logits = unit(left) @ unit(right).T / 0.1
    target = torch.arange(1500)
    cross_entropy = torch.nn.functional.cross_entropy
    loss = (cross_entropy(logits, target) + cross_entropy(logits.T, target)) / 2
    loss.backward()
    assert step.loss.item() == pytest.approx(loss.item(), rel=1e-6)
    for mine, theirs in ((a.grad, left.grad), (p.grad, right.grad)):
        assert mine is not None
        assert theirs is not None
        assert float((mine - theirs).abs().max()) <= 1e-5 * float(theirs.abs().max())


@pytest.mark.parametrize("option", OPTIONS)
def test_finite_differences_agree_with_the_gradient(option: str) -> None:
    objective = make_objective(make_batch("ntxent", True, **OPTIONS[option]))
    x, y = draw(5, 3, seed=1).requires_grad_(), draw(5, 3, seed=2).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, p: objective(a, p).loss, (x, y))


# --- the gradient as a citizen of autograd ------------------------------------------------------


def test_the_loss_takes_part_in_a_larger_graph() -> None:
    weight = draw(4, 3).requires_grad_()
    x, y = draw(9, 4, seed=1), draw(9, 4, seed=2)
    objective = make_objective(make_batch("cross", True))
    (plain,) = torch.autograd.grad(objective(x @ weight, y @ weight).loss, weight)
    (scaled,) = torch.autograd.grad(
        3 * objective(x @ weight, y @ weight).loss + weight.square().sum(), weight
    )
    assert torch.allclose(scaled, 3 * plain + 2 * weight.detach())


def test_one_tensor_on_both_sides_collects_both_gradients() -> None:
    x = draw(9, 4).requires_grad_()
    objective = make_objective(make_batch("both-blocks", True))
    (together,) = torch.autograd.grad(objective(x, x).loss, x)
    a, p = x.detach().clone().requires_grad_(), x.detach().clone().requires_grad_()
    left, right = torch.autograd.grad(objective(a, p).loss, (a, p))
    assert torch.allclose(together, left + right)


@pytest.mark.parametrize("frozen", ["anchors", "positives", "log_scale"])
def test_a_frozen_part_changes_nothing_for_the_others(frozen: str) -> None:
    whole, _ = ask_library(make_batch("cross", True))
    batch = make_batch("cross", True)
    anchors, positives, _ = batch.leaves(torch.float64)
    objective = make_objective(batch)
    parts = {"anchors": anchors, "positives": positives, "log_scale": objective.log_scale}
    parts[frozen].requires_grad_(False)
    objective(anchors, positives).loss.backward()
    assert parts[frozen].grad is None
    for name, part in parts.items():
        if name != frozen:
            assert part.grad is not None
            assert torch.allclose(part.grad, whole.gradients[name])


def test_without_gradients_the_loss_is_the_same() -> None:
    batch = with_masks(make_batch("explicit", True, debias=0.1))
    with_gradient, _ = ask_library(batch)
    with torch.no_grad():
        step = make_objective(batch)(
            batch.anchors,
            batch.positives,
            masks=batch.masks(),
            log_q=batch.log_q,
            negatives=batch.negatives,
            negative_log_q=batch.negative_log_q,
        )
    assert not step.loss.requires_grad
    assert step.loss.item() == pytest.approx(with_gradient.loss, rel=1e-12)


def test_inputs_are_left_as_they_were() -> None:
    batch = with_masks(make_batch("explicit", True))
    before = [x.clone() for x in (batch.anchors, batch.positives, batch.negatives, batch.log_q)]  # type: ignore[union-attr]
    ask_library(batch)
    after = [batch.anchors, batch.positives, batch.negatives, batch.log_q]
    assert all(torch.equal(x, y) for x, y in zip(before, after, strict=True))  # type: ignore[arg-type]


def test_views_that_are_not_contiguous_are_read_rightly() -> None:
    objective = make_objective(make_batch("ntxent", True))
    x, y = draw(4, 9, seed=1), draw(18, 4, seed=2)
    found = objective(x.T, y[::2]).loss
    assert found.item() == pytest.approx(objective(x.T.contiguous(), y[::2].clone()).loss.item())


# --- what must not matter -----------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["cross", "both-blocks", "ntxent"])
def test_the_order_of_the_batch_does_not_matter(layout: str) -> None:
    batch = make_batch(*LAYOUTS[layout], size=12)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(5))
    objective = make_objective(batch)
    straight = objective(batch.anchors, batch.positives)
    shuffled = objective(batch.anchors[order], batch.positives[order])
    assert shuffled.loss.item() == pytest.approx(straight.loss.item(), rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("length", [1e30, 1e-30])
def test_the_length_of_embeddings_does_not_matter(length: float, dtype: torch.dtype) -> None:
    batch = make_batch("cross", True)
    expected, _ = ask_twin(batch)
    scaled = replace(batch, anchors=batch.anchors * length, positives=batch.positives / length)
    found, step = ask_library(scaled, dtype)
    assert found.loss == pytest.approx(expected.loss, rel=1e-5)
    assert step.geometry.zero_norm_rows == 0
    # The gradient of a longer vector is shorter by as much.
    gradient = found.gradients["anchors"].double() * length
    assert torch.allclose(gradient, expected.gradients["anchors"], rtol=1e-3, atol=1e-6)


def test_the_two_sides_of_a_sigmoid_are_one() -> None:
    both = ask_library(make_batch("cross", True, loss="sigmoid"))[0]
    one = ask_library(make_batch("cross", False, loss="sigmoid"))[0]
    assert_close(both, one, 1e-12)


def test_a_constant_log_q_over_all_candidates_changes_nothing() -> None:
    batch = make_batch("cross", True)
    corrected = replace(batch, log_q=torch.full((9,), -3.0, dtype=torch.float64))
    assert_close(ask_library(corrected)[0], ask_library(batch)[0], 1e-12)


def test_no_weight_on_log_q_is_no_correction() -> None:
    batch = make_batch("cross", True, log_q_weight=0.0)
    corrected = replace(batch, log_q=draw(9, seed=4))
    assert_close(ask_library(corrected)[0], ask_library(batch)[0], 1e-12)


def test_a_masked_negative_is_as_good_as_absent() -> None:
    batch = make_batch("queue", False, given_negatives=6)
    assert batch.negatives is not None
    fewer = replace(batch, negatives=batch.negatives[:4])
    masked = replace(
        batch, ids=torch.zeros(9, dtype=torch.long), negative_ids=torch.tensor([1, 1, 1, 1, 0, 0])
    )
    expected, found = ask_library(fewer)[0], ask_library(masked)[0]
    rest = found.gradients.pop("negatives")
    kept = expected.gradients.pop("negatives")
    assert_close(found, expected, 1e-12)
    assert torch.allclose(rest[:4], kept)
    assert not rest[4:].any()


# --- a pool of all ranks ------------------------------------------------------------------------


def ranks(size: int, total: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, total, size)]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_mean_over_ranks_is_the_loss_of_the_union(layout: str, option: str) -> None:
    # case core#22, core#23
    batch = make_batch(*LAYOUTS[layout], size=12, given_negatives=6, **OPTIONS[option])
    batch.log_q = draw(12, seed=9) - 3
    expected, _ = ask_library(batch)
    anchors, positives, negatives = batch.leaves(torch.float64)
    objective = make_objective(batch)
    losses = [
        objective(
            anchors[rows],
            positives[rows],
            pool=Pool(anchors, positives, rows.start),
            log_q=batch.log_q,
            negatives=negatives,
        ).loss
        for rows in ranks(4, 12)
    ]
    loss = sum(losses) / len(losses)
    loss.backward()
    gradients = {"anchors": anchors.grad, "positives": positives.grad}
    if objective.config.learnable:
        gradients["log_scale"] = objective.log_scale.grad
    if negatives is not None:
        gradients["negatives"] = negatives.grad
    expected.gradients = {name: expected.gradients[name] for name in gradients}
    assert_close(Answer(loss.item(), gradients), expected, 1e-9)  # type: ignore[arg-type]


class Told(CandidateMask):
    """A mask written out for all rows of the pool."""

    def __init__(self, square: Tensor) -> None:
        self.square = square

    def tile(self, rows: slice, device: torch.device) -> Tensor:
        return self.square[rows].to(device)


@pytest.mark.parametrize("elements", [1, 1 << 19])
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "queue"])
def test_a_padded_and_masked_pool_equals_the_twin(
    layout: str, option: str, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # case core#25
    monkeypatch.setattr(tiling, "TILE_ELEMENTS", elements)
    batch = make_batch(*LAYOUTS[layout], size=12, **OPTIONS[option])
    batch.settings = replace(batch.settings, margin=0.5)
    padding = torch.zeros(12, dtype=torch.bool)
    padding[[3, 11]] = True
    whole = naive_same(torch.arange(12) // 3, torch.arange(12) // 3)
    square = whole[4:8]
    log_q = draw(12, seed=9) - 3

    def run(library: bool) -> tuple[Answer, object]:
        anchors, positives, negatives = batch.leaves(torch.float64)
        parts = {"anchors": anchors, "positives": positives, "negatives": negatives}
        objective = make_objective(batch)
        rows = slice(4, 8)
        if library:
            step = objective(
                anchors[rows],
                positives[rows],
                pool=Pool(anchors, positives, 4, padding),
                masks=[Told(whole)],
                log_q=log_q,
                negatives=negatives,
            )
        else:
            step = naive_objective(
                batch.settings,
                anchors[rows],
                positives[rows],
                objective.log_scale,
                objective.logit_bias,
                pool=NaivePool(anchors, positives, 4, padding),
                mask=square,
                log_q=log_q,
                negatives=negatives,
            )
        step.loss.backward()
        gradients = {name: x.grad for name, x in parts.items() if x is not None}
        if objective.config.learnable:
            gradients["log_scale"] = objective.log_scale.grad
        return Answer(float(step.loss.detach()), gradients), step  # type: ignore[arg-type]

    (found, step), (expected, counts) = run(True), run(False)
    assert_close(found, expected, 1e-9)
    assert not found.gradients["positives"][[3, 11]].any()
    assert isinstance(step, StepResult)
    assert isinstance(counts, NaiveStep)
    assert step.candidates_min == min(counts.kept) + 1
    assert step.masked == counts.masked


# --- penalties ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "penalty",
    [
        {"variance_weight": 0.7},
        {"covariance_weight": 0.3},
        {"variance_weight": 0.7, "covariance_weight": 0.3},
    ],
)
def test_variance_and_covariance_penalties_equal_the_twin(penalty: dict[str, object]) -> None:
    batch = make_batch("cross", True, size=12, **penalty)
    batch = replace(batch, anchors=0.8 * batch.anchors, positives=0.5 * batch.positives)
    assert_close(ask_library(batch)[0], ask_twin(batch)[0], 1e-9)


def test_whitening_equals_the_twin() -> None:
    batch = make_batch("cross", True, size=30, whitening=True)
    assert_close(ask_library(batch)[0], ask_twin(batch)[0], 1e-5)


def test_whitening_needs_more_rows_than_dimensions() -> None:
    batch = make_batch("cross", True, size=5, width=5, whitening=True)
    with pytest.raises(TooFewRows):
        ask_library(batch)


# --- what the step says -------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True], ids=["bare", "masked"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_step_geometry_is_the_geometry_of_the_embeddings(
    layout: str, masked: bool, dtype: torch.dtype
) -> None:
    batch = make_batch(*LAYOUTS[layout], size=24, given_negatives=20)
    batch = with_masks(replace(batch, anchors=batch.anchors + 0.5)) if masked else batch
    _, step = ask_library(batch, dtype)
    expected = measure_geometry(batch.anchors.to(dtype), batch.positives.to(dtype))
    assert asdict(step.geometry) == pytest.approx(asdict(expected), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("masked", [False, True], ids=["bare", "masked"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_collapsed_batch_reports_mean_cosine_one(layout: str, masked: bool) -> None:
    batch = make_batch(*LAYOUTS[layout], size=24, given_negatives=20)
    batch = replace(batch, anchors=torch.ones(24, 5), positives=torch.ones(24, 5))
    batch = with_masks(batch) if masked else batch
    _, step = ask_library(batch, torch.float32)
    assert step.geometry.mean_cosine == pytest.approx(1, abs=1e-6)
    assert step.geometry.max_cosine == pytest.approx(1, abs=1e-6)
    with pytest.raises(RepresentationCollapse, match=r"mean cosine 1\.000"):
        check_geometry(step.geometry, candidates=step.candidates_mean)


def test_a_row_without_direction_is_counted_and_keeps_the_loss_finite() -> None:
    batch = make_batch("cross", True, size=20)
    batch.anchors[3] = 0
    batch.positives[3] = 0
    batch.positives[8] = 0
    step = make_objective(batch)(batch.anchors, batch.positives)
    assert step.geometry.zero_norm_rows == 3
    assert math.isfinite(step.loss.item())


@pytest.mark.parametrize("candidates", [4, 17, 130])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_constant_encoder_sits_at_log_candidates(layout: str, candidates: int) -> None:
    # case core#1, core#26: the count stands beside the loss, so batches of two sizes compare.
    batch = make_batch(*LAYOUTS[layout], size=candidates, given_negatives=candidates)
    batch = replace(batch, anchors=torch.ones(candidates, 5), positives=torch.ones(candidates, 5))
    if batch.negatives is not None:
        batch.negatives = torch.ones(candidates, 5)
    objective = make_objective(batch, torch.float32)
    step = objective(batch.anchors, batch.positives, negatives=batch.negatives)
    sides = [step.chance_loss]
    if layout == "explicit":  # the way back sees no given negatives: two counts, two plateaus
        sides = [math.log(2 * candidates), math.log(candidates)]
    assert step.loss.item() == pytest.approx(sum(sides) / len(sides), abs=1e-4)


def test_a_pull_without_push_is_stopped_by_its_geometry_within_steps() -> None:
    # case core#1, core#2
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(64, 8, generator=generator)
    weight = torch.randn(8, 6, generator=generator).requires_grad_()
    bias = torch.zeros(6, requires_grad=True)
    objective = ContrastiveObjective("cross")

    def pull(steps: int) -> None:
        optimiser = torch.optim.SGD([weight, bias], lr=20.0)
        for _ in range(steps):
            a, p = x @ weight + bias, (x + 0.1) @ weight + bias
            step = objective(a, p)
            check_geometry(step.geometry, candidates=step.candidates_mean)
            optimiser.zero_grad()
            (1 - torch.nn.functional.cosine_similarity(a, p.roll(1, 0))).mean().backward()
            optimiser.step()

    with pytest.raises(RepresentationCollapse, match="mean cosine"):
        pull(steps=100)


def test_the_candidate_count_is_that_of_the_layout() -> None:
    def count(layout: str) -> int:
        return ask_library(make_batch(*LAYOUTS[layout], size=10, given_negatives=7))[
            1
        ].candidates_min

    assert count("cross") == 10
    assert count("both-blocks") == 19
    assert count("ntxent") == 19
    assert count("queue") == 8
    assert count("explicit one way") == 17


# --- temperature --------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.0, 1e-3, -0.1, math.nan])
def test_degenerate_temperatures_are_refused(temperature: float) -> None:
    with pytest.raises(DegenerateTemperature, match="temperature"):
        ContrastiveObjective(temperature=temperature)
    objective = ContrastiveObjective()
    with torch.no_grad():
        objective.log_scale.fill_(math.nan if math.isnan(temperature) else 8.0)
    with pytest.raises(DegenerateTemperature):
        objective(draw(20, 4), draw(20, 4))


def test_a_log_scale_driven_to_ten_is_clamped_after_the_step_and_keeps_its_gradient() -> None:
    # case core#6
    x = draw(20, 8, dtype=torch.float32)
    y = x + 0.8 * draw(20, 8, seed=1, dtype=torch.float32)
    objective = ContrastiveObjective("cross")
    with torch.no_grad():
        objective.log_scale.fill_(10.0)
    objective.clamp_()
    assert objective.log_scale.item() == pytest.approx(math.log(100))
    assert objective.temperature == pytest.approx(0.01)
    step = objective(x, y)
    step.loss.backward()
    assert step.saturated
    assert objective.log_scale.grad is not None
    assert float(objective.log_scale.grad.abs()) > 1e-6
    batch = Batch(NaiveSettings(), x.double(), y.double(), None, log_scale=math.log(100))
    expected = ask_twin(batch)[0].gradients["log_scale"]
    assert float(objective.log_scale.grad) == pytest.approx(float(expected), rel=1e-3)


def test_a_scale_that_decays_to_one_is_reported_as_saturated() -> None:
    # case core#7
    objective = ContrastiveObjective("cross")
    x, y = draw(20, 4), draw(20, 4, seed=1)
    assert not objective(x, y).saturated
    with torch.no_grad():
        objective.log_scale.fill_(-2.0)
    objective.clamp_()
    assert objective.temperature == 1
    assert objective(x, y).saturated


def test_a_fixed_temperature_is_neither_learned_nor_clamped() -> None:
    objective = ContrastiveObjective("cross", temperature=0.005, learnable=False)
    objective.clamp_()
    assert objective.temperature == pytest.approx(0.005)
    assert list(objective.parameters()) == []
    step = objective(draw(20, 4), draw(20, 4, seed=1))
    assert not step.saturated
    assert step.temperature == pytest.approx(0.005)


def test_the_temperature_travels_with_the_state() -> None:
    objective = ContrastiveObjective(temperature=0.3, loss="sigmoid")
    other = ContrastiveObjective(loss="sigmoid")
    other.load_state_dict(objective.state_dict())
    assert other.temperature == pytest.approx(0.3)


# --- half precision -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_autocast_at_temperature_0_01_with_masks_stays_finite(
    layout: str, option: str, dtype: torch.dtype
) -> None:
    # case core#5
    batch = with_masks(make_batch(*LAYOUTS[layout], size=16, **OPTIONS[option]))
    batch.log_scale = math.log(100)
    weight = draw(5, 5, dtype=torch.float32).requires_grad_()
    objective = make_objective(batch, torch.float32)

    def loss(embed: Callable[[Tensor], Tensor]) -> Tensor:
        given_negatives = None if batch.negatives is None else batch.negatives.float()
        return objective(
            embed(batch.anchors.float()),
            embed(batch.positives.float()),
            masks=batch.masks(),
            log_q=batch.log_q,
            negatives=given_negatives,
            negative_log_q=batch.negative_log_q,
        ).loss

    with torch.autocast("cpu", dtype=dtype):
        assert (batch.anchors.float() @ weight).dtype == dtype
        found = loss(lambda x: x @ weight)
        found.backward()
        halves = {id(x): (x.float() @ weight).detach() for x in (batch.anchors, batch.positives)}
    assert found.dtype == torch.float32
    assert torch.isfinite(found)
    assert weight.grad is not None
    assert torch.isfinite(weight.grad).all()
    if objective.config.learnable:
        assert torch.isfinite(objective.log_scale.grad).all()  # type: ignore[arg-type]
    # Logits in float32: the very same half embeddings outside autocast give the very same loss.
    outside = iter(halves.values())
    assert loss(lambda _: next(outside).float()).item() == pytest.approx(found.item(), rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_of_half_embeddings_come_back_in_their_own_type(dtype: torch.dtype) -> None:
    x, y = draw(20, 4).to(dtype).requires_grad_(), draw(20, 4, seed=1).to(dtype)
    ContrastiveObjective("cross", temperature=0.01)(x, y).loss.backward()
    assert x.grad is not None
    assert x.grad.dtype == dtype
    assert torch.isfinite(x.grad).all()


# --- duplicates and false negatives -------------------------------------------------------------


def test_the_same_positive_twice_is_masked_and_counted() -> None:
    # case core#9
    batch = make_batch("cross", True, size=20)
    ids = torch.arange(20)
    ids[5] = ids[11] = ids[2]
    for masks in ([SameId(ids)], [SameGroup(ids)], [SameId(ids), SameGroup(ids)]):
        step = make_objective(batch)(batch.anchors, batch.positives, masks=masks)
        # Three rows lose two columns each, from either side.
        assert step.masked == 12
        assert step.candidates_min == 18
        assert step.candidates_mean == pytest.approx((17 * 20 + 3 * 18) / 20)


def test_a_hard_negative_that_is_another_rows_positive_is_masked_and_counted() -> None:
    # case core#10
    batch = make_batch("explicit", False, size=8, given_negatives=8)
    assert batch.negatives is not None
    batch.negatives[0] = batch.positives[5]
    batch.ids, batch.negative_ids = torch.arange(8), torch.tensor([5, *range(100, 107)])
    found, step = ask_library(batch)
    assert step.masked == 1
    assert step.candidates_min == 15
    assert_close(found, ask_twin(batch)[0], 1e-9)


def test_an_item_still_in_the_queue_does_not_meet_itself() -> None:
    # case core#17
    batch = make_batch("queue", False, size=6, given_negatives=30)
    assert batch.negatives is not None
    batch.negatives[:6] = batch.positives
    batch.ids, batch.negative_ids = torch.arange(6), torch.arange(30)
    found, step = ask_library(batch)
    assert step.masked == 6
    assert step.candidates_min == step.candidates_mean == 30
    assert_close(found, ask_twin(batch)[0], 1e-9)


class Unfilled(CandidateMask):
    """Slots of a queue that nobody wrote yet."""

    def __init__(self, size: int, slots: int, filled: int) -> None:
        self.size, self.slots, self.filled = size, slots, filled

    def tile(self, rows: slice, device: torch.device) -> Tensor:
        return torch.zeros(rows.stop - rows.start, self.size, dtype=torch.bool, device=device)

    def extra_tile(self, rows: slice, device: torch.device) -> Tensor:
        empty = torch.arange(self.slots, device=device) >= self.filled
        return empty.expand(rows.stop - rows.start, -1)


def test_unfilled_slots_of_a_queue_are_masked_and_an_empty_queue_is_refused() -> None:
    # case core#18
    batch = make_batch("queue", False, size=6, given_negatives=30)
    objective = make_objective(batch)
    assert batch.negatives is not None
    part = objective(
        batch.anchors, batch.positives, negatives=batch.negatives, masks=[Unfilled(6, 30, 20)]
    )
    alone = objective(batch.anchors, batch.positives, negatives=batch.negatives[:20])
    assert part.loss.item() == pytest.approx(alone.loss.item(), rel=1e-12)
    with pytest.raises(TooFewNegatives):
        objective(
            batch.anchors, batch.positives, negatives=batch.negatives, masks=[Unfilled(6, 30, 0)]
        )


def test_a_margin_takes_out_what_is_nearer_than_the_positive() -> None:
    x = torch.eye(4, dtype=torch.float64)[[0, 1, 2, 3]]
    y = x.clone()
    y[1] = torch.tensor([1.0, 0.02, 0, 0])  # nearly row 0, so row 1's own positive is far
    wide = ContrastiveObjective("cross", symmetric=False, margin=0.05, min_negatives=1)
    assert wide(x, y).masked == 0
    y[0] = torch.tensor([0.9, math.sqrt(1 - 0.81), 0, 0])
    assert wide(x, y).masked == 2


# --- too few negatives --------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["cross", "both-blocks", "ntxent"])
@pytest.mark.parametrize("min_negatives", [1, 16])
def test_a_batch_of_one_has_nothing_to_be_told_apart_from(layout: str, min_negatives: int) -> None:
    # case core#27
    objective = ContrastiveObjective(layout, min_negatives=min_negatives)  # type: ignore[arg-type]
    with pytest.raises(TooFewNegatives):
        objective(draw(1, 4), draw(1, 4))


def test_a_batch_of_one_has_no_geometry_even_with_given_negatives() -> None:
    batch = make_batch("queue", False, size=1, given_negatives=5)
    with pytest.raises(ShapeError, match="two or more"):
        ask_library(batch)


@pytest.mark.parametrize("elements", [1, 1 << 19])
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("layout", ["cross", "both-blocks", "ntxent"])
def test_a_fully_masked_row_is_named(
    layout: str, option: str, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiling, "TILE_ELEMENTS", elements)
    batch = make_batch(*LAYOUTS[layout], size=20, **OPTIONS[option])
    others = torch.arange(20)
    batch.pairs = torch.stack([torch.full((20,), 13), others], dim=1)
    with pytest.raises(TooFewNegatives, match=r"\b13\b"):
        ask_library(batch)


def test_min_negatives_is_the_least_that_is_accepted() -> None:
    x, y = draw(17, 4), draw(17, 4, seed=1)
    assert ContrastiveObjective("cross")(x, y).candidates_min == 17
    with pytest.raises(TooFewNegatives):
        ContrastiveObjective("cross")(x[:16], y[:16])
    with pytest.raises(TooFewNegatives):
        ContrastiveObjective("cross")(x, y, masks=[GivenPairs(torch.tensor([[3, 4]]), 17)])


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_rows_that_are_not_finite_are_named(bad: float) -> None:
    x, y = draw(20, 4), draw(20, 4, seed=1)
    x[7, 2] = bad
    with pytest.raises(NonFiniteError, match=r"anchors: 1 of 20 rows .* row 7"):
        ContrastiveObjective()(x, y)
    with pytest.raises(NonFiniteError, match=r"positives: 1 of 20 rows .* row 7"):
        ContrastiveObjective()(y, x)


def test_embeddings_that_are_not_aligned_are_refused() -> None:
    for shape in ((19, 4), (20, 5), (20,)):
        with pytest.raises(ShapeError):
            ContrastiveObjective()(draw(20, 4), draw(*shape))


@pytest.mark.parametrize("layout", ["cross", "both-blocks", "ntxent"])
def test_layouts_without_given_negatives_refuse_them(layout: str) -> None:
    objective = ContrastiveObjective(layout)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="takes no given negatives"):
        objective(draw(20, 4), draw(20, 4), negatives=draw(5, 4))


@pytest.mark.parametrize("layout", ["queue", "explicit"])
def test_layouts_of_given_negatives_refuse_to_go_without(layout: str) -> None:
    objective = ContrastiveObjective(layout, symmetric=False)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="needs given negatives"):
        objective(draw(20, 4), draw(20, 4))
    with pytest.raises(ShapeError, match=r"\[M, 4\]"):
        objective(draw(20, 4), draw(20, 4), negatives=draw(5, 3))


@pytest.mark.parametrize(
    "wrong",
    [
        {"layout": "square"},
        {"layout": "queue", "symmetric": True},
        {"layout": "ntxent", "symmetric": False},
        {"debias": 1.0},
        {"debias": -0.1},
        {"hardness": -1.0},
        {"min_negatives": 0},
        {"loss": "sigmoid", "decoupled": True},
        {"loss": "sigmoid", "debias": 0.1},
        {"loss": "sigmoid", "hardness": 0.1},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        ContrastiveObjective(**wrong)  # type: ignore[arg-type]


def test_the_settings_are_kept_as_a_frozen_record() -> None:
    objective = ContrastiveObjective("ntxent", temperature=0.2, debias=0.1)
    assert isinstance(objective.config, ObjectiveConfig)
    assert (objective.config.layout, objective.config.debias) == ("ntxent", 0.1)
    with pytest.raises(AttributeError):
        objective.config.debias = 0.2  # type: ignore[misc]


# --- memory -------------------------------------------------------------------------------------

# The peak of a process starts above its present size (imports, the parent before exec). Ballast
# closes that gap first, so that every further megabyte shows.
MEMORY_PROBE = """
import resource, sys, torch
from likewise.core.objective.objective import ContrastiveObjective
torch.set_num_threads(1)
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def step(rows, ballast):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, 64, generator=generator).requires_grad_()
    y = torch.randn(rows, 64, generator=generator).requires_grad_()
    start = peak()
    while ballast is not None and peak() < start + 1:
        ballast.append(bytearray(b"x") * 2**20)
    before = peak()
    if sys.argv[1] == "gauge":
        kept = torch.ones(30 * 2**18)
    else:
        objective = ContrastiveObjective(sys.argv[1], symmetric=True)
        objective(x, y).loss.backward()
    return peak() - before
step(256, None)
print(step(8192, []))
"""


def measure_step(layout: str) -> float:
    command = [sys.executable, "-c", MEMORY_PROBE, layout]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_the_memory_gauge_sees_a_tensor_of_30_mb() -> None:
    assert measure_step("gauge") == pytest.approx(30, abs=3)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["cross", "both-blocks", "ntxent"])
def test_a_step_of_8192_rows_takes_at_most_64_mb_more(layout: str) -> None:
    assert measure_step(layout) <= 64
