"""The sphere: normalisation, geometry and its guards."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import geometry as geometry_module
from likewise.core.errors import (
    DimensionalCollapse,
    NonFiniteError,
    RepresentationCollapse,
    ShapeError,
)
from likewise.core.geometry import Geometry, check_geometry, measure_geometry, normalize
from torch import Tensor

from tests.naive import naive_geometry, naive_unit


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def assert_same_geometry(found: Geometry, expected: dict[str, float], tolerance: float) -> None:
    for name, value in expected.items():
        assert getattr(found, name) == pytest.approx(value, rel=tolerance, abs=tolerance), name


@given(st.integers(2, 12), st.integers(1, 6), st.integers(0, 2**31), st.floats(-3, 3))
@settings(max_examples=40, deadline=None)
def test_geometry_equals_its_slow_twin(rows: int, width: int, seed: int, shift: float) -> None:
    anchors = draw(rows, width, seed=seed) + shift
    positives = anchors + 0.5 * draw(rows, width, seed=seed + 1)
    found = measure_geometry(anchors, positives)
    # Two rows have one direction of difference: below the noise floor the rank is rounded away.
    assert_same_geometry(found, naive_geometry(anchors, positives), 2e-3)
    expected = naive_geometry(anchors, positives)
    for name in ("effective_rank", "effective_rank_centred"):
        expected.pop(name)
    assert_same_geometry(found, expected, 1e-7)
    assert (found.rows, found.width) == (rows, width)


def test_effective_rank_is_exact_where_the_spectrum_is_wide() -> None:
    anchors, positives = draw(60, 8, seed=1), draw(60, 8, seed=2)
    assert_same_geometry(
        measure_geometry(anchors, positives), naive_geometry(anchors, positives), 1e-9
    )


def test_float32_geometry_equals_the_float64_twin() -> None:
    anchors, positives = draw(50, 16, seed=3) + 0.4, draw(50, 16, seed=4)
    found = measure_geometry(anchors.float(), positives.float())
    assert_same_geometry(found, naive_geometry(anchors, positives), 1e-5)


@pytest.mark.parametrize("elements", [1, 7, 64, 1000])
def test_tiles_of_any_size_give_the_same_geometry(
    elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    anchors, positives = draw(23, 5, seed=5), draw(23, 5, seed=6)
    monkeypatch.setattr(geometry_module, "_TILE_ELEMENTS", elements)
    assert_same_geometry(
        measure_geometry(anchors, positives), naive_geometry(anchors, positives), 1e-9
    )


def test_lengths_do_not_matter() -> None:
    anchors, positives = draw(20, 6, seed=7), draw(20, 6, seed=8)
    lengths = draw(20, 1, seed=9).exp()
    short, long = (
        measure_geometry(anchors, positives),
        measure_geometry(anchors * lengths, positives),
    )
    for name, value in asdict(short).items():
        assert getattr(long, name) == pytest.approx(value, abs=1e-9)


def test_measuring_leaves_no_graph_and_changes_nothing() -> None:
    anchors = draw(6, 3).requires_grad_()
    before = anchors.detach().clone()
    measure_geometry(anchors, anchors)
    assert anchors.grad is None
    assert torch.equal(anchors.detach(), before)


# --- what a space can be ------------------------------------------------------------------------


def test_a_fully_collapsed_batch_has_mean_cosine_one() -> None:
    constant = torch.ones(32, 8)
    found = measure_geometry(constant, constant)
    assert found.mean_cosine == pytest.approx(1.0, abs=1e-6)
    assert found.max_cosine == pytest.approx(1.0, abs=1e-6)
    assert found.cross_cosine == pytest.approx(1.0, abs=1e-6)
    assert found.uniformity == pytest.approx(0.0, abs=1e-5)
    assert found.deviation == pytest.approx(0.0, abs=1e-3)
    with pytest.raises(RepresentationCollapse):
        check_geometry(found)


def test_orthogonal_rows_have_the_known_numbers() -> None:
    found = measure_geometry(torch.eye(4), torch.eye(4))
    assert found.alignment == pytest.approx(0)
    assert found.uniformity == pytest.approx(-4)
    assert found.uniformity_gap == pytest.approx(-4 - (-4 + 8 / 4))
    assert found.effective_rank == pytest.approx(4, abs=1e-5)
    assert found.effective_rank_centred == pytest.approx(3, abs=1e-5)


def test_opposite_pairs_have_the_largest_alignment() -> None:
    x = draw(8, 3)
    assert measure_geometry(x, -x).alignment == pytest.approx(4)


def test_a_uniform_sphere_comes_near_its_bound() -> None:
    found = measure_geometry(draw(1500, 32, seed=1), draw(1500, 32, seed=2))
    assert abs(found.uniformity_gap) < 0.01
    assert found.deviation == pytest.approx(1, abs=0.08)
    assert found.mean_cosine == pytest.approx(0, abs=0.01)


def test_one_collapsed_tower_cannot_hide_behind_a_healthy_one() -> None:
    healthy = draw(64, 16)
    collapsed = torch.ones(64, 16, dtype=torch.float64) + 1e-3 * draw(64, 16, seed=1)
    for pair in ((healthy, collapsed), (collapsed, healthy)):
        found = measure_geometry(*pair)
        assert found.mean_cosine > 0.99
        with pytest.raises(RepresentationCollapse):
            check_geometry(found)


def test_random_pairs_at_0_996_fire_the_guard_which_names_the_cosine() -> None:
    # case core#2
    base = torch.ones(1, 32, dtype=torch.float64)
    x = base + math.sqrt(1 / 0.996 - 1) * draw(200, 32, seed=1)
    y = base + math.sqrt(1 / 0.996 - 1) * draw(200, 32, seed=2)
    found = measure_geometry(x, y)
    assert found.mean_cosine == pytest.approx(0.996, abs=1e-3)
    with pytest.raises(RepresentationCollapse, match=r"mean cosine 0\.99"):
        check_geometry(found)


def test_the_guard_names_the_plateau_of_the_loss_when_it_knows_the_candidates() -> None:
    found = measure_geometry(torch.ones(8, 4), torch.ones(8, 4))
    with pytest.raises(RepresentationCollapse, match=r"log\(256\) = 5\.545"):
        check_geometry(found, candidates=256)
    with pytest.raises(RepresentationCollapse) as caught:
        check_geometry(found)
    assert "loss" not in str(caught.value)


@pytest.mark.parametrize("rank", [1, 2, 8])
def test_low_rank_embeddings_warn_although_their_mean_cosine_is_zero(rank: int) -> None:
    # case core#3
    basis = draw(rank, 64, seed=3)
    x, y = draw(512, rank, seed=1) @ basis, draw(512, rank, seed=2) @ basis
    found = measure_geometry(x, y)
    assert abs(found.mean_cosine) < 0.05
    assert found.effective_rank <= rank + 1e-6
    with pytest.warns(DimensionalCollapse, match="effective rank"):
        check_geometry(found)


def test_one_low_rank_tower_warns() -> None:
    healthy, thin = draw(512, 64, seed=1), draw(512, 8, seed=2) @ draw(8, 64, seed=3)
    for pair in ((healthy, thin), (thin, healthy)):
        with pytest.warns(DimensionalCollapse):
            check_geometry(measure_geometry(*pair))


@pytest.mark.parametrize(("rows", "width"), [(512, 64), (16, 64), (3, 64), (100, 2)])
def test_healthy_embeddings_pass_in_silence(rows: int, width: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_geometry(measure_geometry(draw(rows, width, seed=1), draw(rows, width, seed=2)))


@given(st.integers(2, 30), st.integers(1, 10), st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_every_number_stays_in_its_stated_range(rows: int, width: int, seed: int) -> None:
    found = measure_geometry(draw(rows, width, seed=seed), draw(rows, width, seed=seed + 1))
    slack = 1e-9
    assert -slack <= found.alignment <= 4 + slack
    assert -8 - slack <= found.uniformity <= slack
    assert -1 - slack <= found.cross_cosine <= found.max_cosine <= 1 + slack
    assert -1 - slack <= found.mean_cosine <= 1 + slack
    assert 0 <= found.deviation <= 1 + slack
    assert 1 - slack <= found.effective_rank <= min(rows, width) + slack
    assert 1 - slack <= found.effective_rank_centred <= min(rows, width) + slack


# --- what is refused, what is counted -----------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [((4, 3), (5, 3)), ((4, 3), (4, 2)), ((4,), (4,)), ((2, 4, 3), (2, 4, 3))],
)
def test_matrices_that_are_not_aligned_are_refused(
    left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    with pytest.raises(ShapeError, match="aligned"):
        measure_geometry(torch.zeros(left), torch.zeros(right))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rows_that_are_not_finite_are_named(bad: float) -> None:
    x, y = draw(6, 3), draw(6, 3)
    y[2, 1] = y[4, 0] = bad
    with pytest.raises(NonFiniteError, match=r"positives: 2 of 6 rows .* row 2"):
        measure_geometry(x, y)
    with pytest.raises(NonFiniteError, match=r"anchors: 2 of 6 rows .* row 2"):
        measure_geometry(y, x)


def test_rows_without_a_direction_are_counted_in_both_views() -> None:
    x, y = draw(10, 4), draw(10, 4, seed=1)
    x[3] = 0
    y[3] = y[7] = 0
    found = measure_geometry(x, y)
    assert found.zero_norm_rows == 3
    assert all(math.isfinite(value) for value in asdict(found).values())


@pytest.mark.filterwarnings("ignore::likewise.core.errors.DimensionalCollapse")
def test_a_batch_of_zeros_is_counted_and_does_not_divide_by_zero() -> None:
    found = measure_geometry(torch.zeros(5, 3), torch.zeros(5, 3))
    assert found.zero_norm_rows == 10
    assert all(math.isfinite(value) for value in asdict(found).values())


# --- the one normalisation ----------------------------------------------------------------------


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**31), st.integers(-200, 200))
@settings(max_examples=40, deadline=None)
def test_normalize_equals_its_twin_at_any_length(
    rows: int, width: int, seed: int, exponent: int
) -> None:
    x = draw(rows, width, seed=seed)
    assert torch.allclose(normalize(x * 10.0**exponent), naive_unit(x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("length", [1e30, 1e-30, 1e38, 1e-37])
def test_huge_and_tiny_float32_rows_keep_their_direction(length: float) -> None:
    x = draw(5, 3, dtype=torch.float32)
    unit = normalize(x)
    scaled = x / x.abs().amax(dim=1, keepdim=True) * length
    assert torch.allclose(normalize(scaled), unit, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_comes_back_as_float32(dtype: torch.dtype) -> None:
    x = draw(5, 3).to(dtype)
    unit = normalize(x)
    assert unit.dtype == torch.float32
    assert torch.allclose(unit.norm(dim=1), torch.ones(5), atol=1e-6)
    assert normalize(draw(5, 3)).dtype == torch.float64


def test_half_precision_values_near_overflow_do_not_overflow() -> None:
    x = torch.full((2, 64), 60000.0, dtype=torch.float16)
    assert torch.allclose(normalize(x), torch.full((2, 64), 0.125))


def test_a_zero_row_stays_zero() -> None:
    assert normalize(torch.tensor([[0.0, 0.0], [3.0, 4.0]]))[0].tolist() == [0, 0]


def test_normalize_takes_leading_dimensions_and_repeats_itself() -> None:
    x = draw(2, 3, 4)
    unit = normalize(x)
    assert torch.allclose(unit.norm(dim=-1), torch.ones(2, 3, dtype=torch.float64))
    assert torch.allclose(normalize(unit), unit, atol=1e-15)


def test_the_gradient_of_normalize_is_its_derivative() -> None:
    assert torch.autograd.gradcheck(normalize, (draw(4, 3).requires_grad_(),))
