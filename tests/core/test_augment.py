"""Augmentations: shapes, seeds, and what they are said to leave alone."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core.encoders.augment import (
    Augmentation,
    CellCorruption,
    Chain,
    CropResize,
    Jitter,
    Masking,
    Reversal,
    Scaling,
    Shift,
    list_invariances,
    make_views,
)
from likewise.core.encoders.tsaug_adapter import TsaugAugmentation
from likewise.core.errors import NonFiniteError, SettingError, ShapeError
from likewise.core.training.pairs import Pairs

from tests.core.planted import Planted
from tests.naive import naive_crop

OURS: list[Augmentation] = [
    Jitter(),
    Scaling(),
    Masking(),
    CropResize(),
    Reversal(),
    Shift(),
    Chain((Jitter(), Reversal())),
]
THEIRS: list[Augmentation] = [
    TsaugAugmentation("AddNoise"),
    TsaugAugmentation("Convolve", {"size": 5}),
    TsaugAugmentation("Drift"),
    TsaugAugmentation("Dropout", {"p": 0.2}),
    TsaugAugmentation("Pool", {"size": 3}),
    TsaugAugmentation("Quantize", {"n_levels": [4, 5, 9]}),
    TsaugAugmentation("Reverse", {"prob": 0.5}),
    TsaugAugmentation("TimeWarp"),
]


def source(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def windows(rows: int = 16, steps: int = 24, channels: int = 2) -> torch.Tensor:
    return torch.randn(rows, steps, channels, generator=source(0)).cumsum(dim=1)


@pytest.mark.parametrize("augmentation", OURS + THEIRS, ids=lambda one: str(one.name))
def test_views_differ_within_an_epoch_and_repeat_between_runs(augmentation: Augmentation) -> None:
    x = windows()
    before = x.clone()
    first, second = make_views(x, augmentation, source(3))
    again = make_views(x, augmentation, source(3))
    assert first.shape == second.shape == x.shape
    assert first.dtype == torch.float32
    assert torch.equal(x, before)
    assert torch.equal(first, again[0])
    assert torch.equal(second, again[1])
    assert not torch.equal(augmentation(x, source(4)), first) or augmentation.name in FIXED
    assert not torch.equal(first, second) or augmentation.name in FIXED


# These transform without drawing, so two views are the same one.
FIXED = {"tsaug-Convolve", "tsaug-Pool"}


@pytest.mark.parametrize("augmentation", OURS, ids=lambda one: str(one.name))
@given(rows=st.integers(1, 5), steps=st.integers(1, 30), channels=st.integers(1, 3))
@settings(deadline=None, max_examples=25)
def test_views_of_any_window_are_finite(
    augmentation: Augmentation, rows: int, steps: int, channels: int
) -> None:
    for x in (torch.zeros(rows, steps, channels), torch.full((rows, steps, channels), 7.0)):
        view = augmentation(x, source(1))
        assert view.shape == x.shape
        assert bool(torch.isfinite(view).all())


@pytest.mark.parametrize(
    "augmentation", [Jitter(), Masking(), CropResize(), Reversal(), Shift()], ids=lambda a: a.name
)
def test_a_constant_window_stays_what_it_is(augmentation: Augmentation) -> None:
    x = torch.full((4, 20, 1), 3.0)
    torch.testing.assert_close(augmentation(x, source(0)), x)


@pytest.mark.parametrize(
    "augmentation", [Jitter(), Scaling(), Masking(), CropResize(), Reversal(), Shift()]
)
def test_a_larger_unit_gives_a_larger_view_and_nothing_else(augmentation: Augmentation) -> None:
    x = windows()
    torch.testing.assert_close(
        augmentation(1000 * x, source(2)), 1000 * augmentation(x, source(2)), rtol=1e-4, atol=1e-2
    )


@pytest.mark.parametrize(
    "augmentation", [Reversal(1.0), Jitter(0.0), TsaugAugmentation("Pool")], ids=lambda a: a.name
)
def test_a_view_that_never_changes_is_refused_as_a_pair(augmentation: Augmentation) -> None:
    with pytest.raises(SettingError, match="the same view twice"):
        make_views(windows(40), augmentation, source(0))
    make_views(torch.ones(40, 24, 1), augmentation, source(0))


def test_jitter_is_as_large_as_it_says() -> None:
    x = 5 * torch.randn(8, 4000, 1, generator=source(0))
    added = Jitter(0.1)(x, source(1)) - x
    torch.testing.assert_close(added.std(dim=1), 0.1 * x.std(dim=1), rtol=0.1, atol=0)


def test_scaling_multiplies_each_channel_by_one_number() -> None:
    x = windows().abs() + 1
    ratio = Scaling(0.3)(x, source(1)) / x
    torch.testing.assert_close(ratio, ratio[:, :1].expand_as(ratio))
    assert float(ratio.log().std()) == pytest.approx(0.3, rel=0.4)


def test_masking_hides_one_stretch_behind_the_mean_of_the_rest() -> None:
    x = windows(6, 20, 2)
    view = Masking(0.25)(x, source(1))
    changed = (view != x).all(dim=2)
    assert changed.sum(dim=1).tolist() == [5] * 6
    for row in range(6):
        places = changed[row].nonzero().flatten()
        assert places.tolist() == list(range(int(places[0]), int(places[0]) + 5))
        rest = x[row][~changed[row]].mean(dim=0)
        torch.testing.assert_close(view[row][places], rest.expand(5, 2))


@given(st.integers(0, 10_000), st.integers(2, 30))
@settings(deadline=None, max_examples=25)
def test_a_crop_equals_its_twin(seed: int, steps: int) -> None:
    x = windows(3, steps)
    view = CropResize(0.5)(x, source(seed))
    draw = torch.rand(2, 3, 1, generator=source(seed))
    for row in range(3):
        length = (0.5 + 0.5 * float(draw[0, row])) * (steps - 1)
        start = float(draw[1, row]) * (steps - 1 - length)
        torch.testing.assert_close(
            view[row], naive_crop(x[row], start, length), rtol=1e-3, atol=1e-3
        )


def test_a_whole_crop_is_the_window() -> None:
    x = windows()
    torch.testing.assert_close(CropResize(1.0)(x, source(0)), x, rtol=1e-4, atol=1e-4)


def test_reversal_turns_whole_windows_around() -> None:
    x = windows(64)
    view = Reversal(0.5)(x, source(0))
    turned = [torch.equal(view[row], x[row].flip(0)) for row in range(64)]
    kept = [torch.equal(view[row], x[row]) for row in range(64)]
    assert all(a != b for a, b in zip(turned, kept, strict=True))
    assert 16 < sum(turned) < 48
    assert torch.equal(Reversal(1.0)(x, source(0)), x.flip(1))
    assert torch.equal(Reversal(0.0)(x, source(0)), x)


def test_a_shift_moves_and_repeats_the_edge() -> None:
    x = torch.arange(10.0).view(1, 10, 1).repeat(40, 1, 1)
    view = Shift(0.2)(x, source(0)).squeeze(2)
    moves = {int(row[5]) - 5 for row in view}
    assert moves == {-2, -1, 0, 1, 2}
    for row in view:
        expected = (torch.arange(10) + int(row[5]) - 5).clamp(0, 9)
        assert torch.equal(row, expected.float())


def test_corrupted_cells_come_from_their_own_column() -> None:
    reference = torch.stack([torch.arange(50.0), 100 + torch.arange(50.0)], dim=1)
    rows = torch.full((4000, 2), -1.0)
    view = CellCorruption(reference, 0.3)(rows, source(0))
    replaced = view != rows
    assert replaced.float().mean(dim=0).tolist() == pytest.approx([0.3, 0.3], abs=0.03)
    assert set(view[:, 0][replaced[:, 0]].tolist()) == set(range(50))
    assert set(view[:, 1][replaced[:, 1]].tolist()) == set(range(100, 150))


def test_wrong_shapes_and_settings_are_told() -> None:
    with pytest.raises(ShapeError, match=r"jitter takes windows \[B, L, C\]"):
        Jitter()(torch.zeros(3, 4), source(0))
    with pytest.raises(ShapeError, match="has 2 columns"):
        CellCorruption(torch.zeros(3, 2))(torch.zeros(3, 4), source(0))
    for build in (
        lambda: Jitter(-0.1),
        lambda: Masking(1.0),
        lambda: CropResize(math.nan),
        lambda: Reversal(1.2),
        lambda: CellCorruption(torch.zeros(3, 2), 2.0),
    ):
        with pytest.raises(SettingError, match="must lie in 0 to"):
            build()


def test_every_augmentation_says_what_it_teaches() -> None:
    said = list_invariances(OURS + THEIRS)
    assert all(said.values())
    assert said["chain"] == "measurement noise; direction of time"


@pytest.mark.parametrize(
    ("augmenter", "given_settings", "reason"),
    [
        ("Quantize", {"how": "quantile"}, "collapses or fails"),
        ("Quantize", {"how": "kmeans"}, "collapses or fails"),
        ("Convolve", {"window": "hann", "size": 2}, "sums to zero"),
        ("Convolve", {"window": ["flattop", "hann"], "size": (2, 4)}, "sums to zero"),
        ("Dropout", {"fill": math.nan}, "finite number"),
        ("Crop", {"size": 4}, "is not offered"),
        ("Resize", {"size": 4}, "is not offered"),
        ("AddNoise", {"seed": 3}, "is not given seed"),
        ("Drift", {"repeats": 2}, "is not given repeats"),
    ],
)
def test_what_tsaug_does_wrong_is_refused_by_name(
    augmenter: str, given_settings: dict[str, object], reason: str
) -> None:
    with pytest.raises(SettingError, match=reason):
        TsaugAugmentation(augmenter, given_settings)


def test_a_seeded_augmenter_does_not_repeat_its_draw() -> None:
    noise, generator = TsaugAugmentation("AddNoise"), source(0)
    views = [noise(windows(), generator) for _ in range(4)]
    assert all(not torch.equal(views[0], view) for view in views[1:])


def test_a_missing_value_is_not_spread() -> None:
    x = windows()
    x[5, 3, 0] = math.nan
    with pytest.raises(NonFiniteError, match=r"1 of 16 windows \(first: \[5\]\)"):
        TsaugAugmentation("Convolve")(x, source(0))


def test_views_are_part_of_the_run() -> None:
    class Views(Planted):
        def batch(self, rows: torch.Tensor, generator: torch.Generator) -> Pairs:
            x = self.anchors[rows].unsqueeze(2)
            first, second = make_views(x, Jitter(), generator)
            return Pairs(first.squeeze(2), second.squeeze(2))

    pairs = Views(8)
    first, again = (pairs.batch(torch.arange(8), source(1)) for _ in range(2))
    assert isinstance(first.anchors, torch.Tensor)
    assert isinstance(again.anchors, torch.Tensor)
    assert torch.equal(first.anchors, again.anchors)
    assert first.anchors is not first.positives
