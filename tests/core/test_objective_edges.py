"""The edges of the objective: zero rows, extreme settings, pools, and input that is refused."""

from __future__ import annotations

import math

import pytest
import torch
from likewise.core.errors import (
    DegenerateTemperature,
    GradientError,
    LikewiseError,
    NonFiniteError,
    SettingError,
    ShapeError,
    TooFewNegatives,
)
from likewise.core.geometry import measure_geometry, normalize
from likewise.core.objective.layout import Pool
from likewise.core.objective.masks import GivenPairs, SameId
from likewise.core.objective.objective import ContrastiveObjective
from torch import Tensor


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


X, Y = draw(20, 4), draw(20, 4, seed=1)


def test_a_zero_row_has_a_finite_gradient() -> None:
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    normalize(x).sum().backward()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()


def test_a_zero_row_in_a_batch_does_not_poison_the_encoder() -> None:
    weight = draw(4, 4, dtype=torch.float32).requires_grad_()
    x = X.float().clone()
    x[3] = 0
    ContrastiveObjective()(x @ weight, Y.float()).loss.backward()
    assert weight.grad is not None
    assert torch.isfinite(weight.grad).all()


@pytest.mark.parametrize("offset", [0, 4, 8])
def test_same_id_speaks_about_the_right_rows_of_a_pool(offset: int) -> None:
    ids = torch.arange(12)
    ids[0] = ids[9] = 5  # rows 0, 5 and 9 are one item: one row in each rank of four
    x, y = X[:12], Y[:12]
    step = ContrastiveObjective(min_negatives=1)(
        x[offset : offset + 4],
        y[offset : offset + 4],
        pool=Pool(x, y, offset),
        masks=[SameId(ids)],
    )
    assert step.masked == 4  # two columns, from either side
    assert step.candidates_min == 10


def test_the_floor_of_debias_moves_with_a_learned_temperature() -> None:
    objective = ContrastiveObjective(temperature=0.2, debias=0.1, min_negatives=1).double()
    x, y = X[:6], X[:6] + 0.1 * Y[:6]
    objective(x, y).loss.backward()
    start, epsilon, losses = objective.log_scale.item(), 1e-6, []
    with torch.no_grad():
        for value in (start + epsilon, start - epsilon):
            objective.log_scale.fill_(value)
            losses.append(objective(x, y).loss.item())
    slope = (losses[0] - losses[1]) / (2 * epsilon)
    assert objective.log_scale.grad is not None
    assert objective.log_scale.grad.item() == pytest.approx(slope, rel=1e-4)


def test_the_debias_floor_does_not_underflow_in_float32() -> None:
    objective = ContrastiveObjective(temperature=0.01, learnable=False, decoupled=True, debias=0.1)
    single = objective(X.float(), Y.float()).loss.item()
    double = objective(X, Y).loss.item()
    assert single == pytest.approx(double, rel=1e-4)


@pytest.mark.parametrize(("temperature", "hardness"), [(0.01, 1.0), (0.01, 2.0), (0.07, 10.0)])
def test_hardness_stays_finite_once_positives_are_near(temperature: float, hardness: float) -> None:
    objective = ContrastiveObjective(temperature=temperature, hardness=hardness)
    x = draw(64, 64, dtype=torch.float32).requires_grad_()
    loss = objective(x, x.detach()).loss
    loss.backward()
    assert torch.isfinite(loss)
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()


def test_a_second_derivative_is_refused() -> None:
    objective = ContrastiveObjective(min_negatives=1).double()

    def slope(x: Tensor) -> Tensor:
        return torch.autograd.grad(objective(x, Y).loss, x, create_graph=True)[0].square().sum()

    with pytest.raises(GradientError, match="first derivatives"):
        slope(X.clone().requires_grad_())


def test_chance_loss_is_the_mean_log_of_the_counts() -> None:
    # case core#1: loss = mean log(candidates)
    ones = torch.ones(20, 4)
    ids = torch.tensor([0] * 15 + [1, 2, 3, 4, 5])
    ragged = ContrastiveObjective(min_negatives=1)(ones, ones, masks=[SameId(ids)])
    assert ragged.loss.item() == pytest.approx(ragged.chance_loss, abs=1e-4)


def test_chance_loss_of_two_sides_with_two_counts() -> None:
    ones = torch.ones(20, 4)
    step = ContrastiveObjective("explicit")(ones, ones, negatives=torch.ones(200, 4))
    assert step.loss.item() == pytest.approx(step.chance_loss, abs=1e-4)


@pytest.mark.parametrize("rows", [0, 1])
def test_fewer_than_two_rows_have_no_geometry(rows: int) -> None:
    with pytest.raises(ShapeError):
        measure_geometry(draw(rows, 3), draw(rows, 3))


def test_an_empty_batch_is_told_in_the_librarys_words() -> None:
    with pytest.raises(LikewiseError):
        ContrastiveObjective()(draw(0, 4), draw(0, 4))


def test_an_empty_queue_is_too_few_negatives() -> None:
    # case core#18
    objective = ContrastiveObjective("queue", symmetric=False)
    with pytest.raises(TooFewNegatives):
        objective(X, Y, negatives=draw(0, 4))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_negatives_that_are_not_finite_are_named(bad: float) -> None:
    negatives = draw(20, 4, seed=2)
    negatives[3, 0] = bad
    with pytest.raises(NonFiniteError, match="row 3"):
        ContrastiveObjective("queue", symmetric=False)(X, Y, negatives=negatives)


def test_pool_rows_that_are_not_finite_are_refused() -> None:
    pooled = X.clone()
    pooled[9] = math.nan
    with pytest.raises(NonFiniteError):
        ContrastiveObjective()(X[:4], Y[:4], pool=Pool(pooled, Y, 0))


@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_log_q_that_is_not_finite_is_refused(bad: float) -> None:
    log_q = torch.zeros(20)
    log_q[2] = bad
    with pytest.raises(NonFiniteError):
        ContrastiveObjective()(X, Y, log_q=log_q)


@pytest.mark.parametrize("length", [1, 19, 25])
def test_log_q_of_another_length_is_a_shape_error(length: int) -> None:
    with pytest.raises(ShapeError):
        ContrastiveObjective()(X, Y, log_q=draw(length))


@pytest.mark.parametrize("length", [1, 19, 25])
def test_ids_of_another_length_are_a_shape_error(length: int) -> None:
    with pytest.raises(ShapeError):
        ContrastiveObjective()(X, Y, masks=[SameId(torch.arange(length))])


def test_negative_ids_of_another_length_are_a_shape_error() -> None:
    mask = SameId(torch.arange(20), torch.tensor([0]))  # one id is spread over all negatives
    with pytest.raises(ShapeError):
        ContrastiveObjective("queue", symmetric=False)(X, Y, negatives=Y, masks=[mask])


def test_pairs_of_another_batch_size_are_a_shape_error() -> None:
    with pytest.raises(ShapeError):
        ContrastiveObjective()(X, Y, masks=[GivenPairs(torch.tensor([[0, 1]]), 19)])


def test_rows_outside_their_pool_are_refused() -> None:
    with pytest.raises(ShapeError):
        ContrastiveObjective()(X, Y, pool=Pool(X, Y, 5))


def test_whitening_is_refused_where_it_would_know_only_a_part() -> None:
    with pytest.raises(SettingError, match="whitening"):
        ContrastiveObjective(whitening=True)(X, Y, pool=Pool(X, Y, 0))
    with pytest.raises(SettingError, match="whitening"):
        ContrastiveObjective("explicit", whitening=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss": "sofmax"},
        {"log_q_weight": 7.0},
        {"log_q_weight": math.nan},
        {"hardness": math.nan},
        {"margin": math.nan},
        {"variance_weight": -1.0},
        {"covariance_weight": math.nan},
    ],
)
def test_settings_outside_their_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        ContrastiveObjective(**wrong)  # type: ignore[arg-type]


def test_an_infinite_temperature_is_degenerate() -> None:
    with pytest.raises(DegenerateTemperature):
        ContrastiveObjective(temperature=math.inf)


def test_a_negative_log_q_without_negatives_is_refused() -> None:
    with pytest.raises(SettingError):
        ContrastiveObjective()(X, Y, negative_log_q=draw(5))
