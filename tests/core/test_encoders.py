"""Encoders, towers, bags and prototypes."""

from __future__ import annotations

import itertools
import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core.encoders.bags import Bags
from likewise.core.encoders.dual import (
    DualEncoder,
    ProjectionHead,
    build_dual,
    describe_dual,
    momentum_copy,
    update_momentum_,
)
from likewise.core.encoders.encoders import (
    RowEncoder,
    VectorEncoder,
    build_encoder,
    describe_encoder,
)
from likewise.core.encoders.encoding import Encoder
from likewise.core.encoders.item_bag import ItemBagEncoder
from likewise.core.encoders.prototypes import Prototypes, average_prototypes
from likewise.core.encoders.window_encoder import WindowEncoder
from likewise.core.errors import DuplicateRows, SettingError, ShapeError, TooFewRows
from likewise.core.geometry import normalize

from tests.core.planted import make_towers
from tests.naive import naive_bag_mean


def every_encoder() -> list[tuple[Encoder, object]]:
    content = torch.arange(15.0).reshape(5, 3)
    return [
        (WindowEncoder(20, 8, channels=2, seed=3), torch.randn(4, 20, 2)),
        (VectorEncoder(7, 8, hidden=(5, 6)), torch.randn(4, 7)),
        (RowEncoder(3, learned=4, fourier=6), torch.randn(4, 3)),
        (ItemBagEncoder(5, 8, content=content), Bags.of([[1], [2, 3], [0, 0, 4], [1]])),
    ]


@pytest.mark.parametrize("place", range(4))
def test_an_encoder_is_rebuilt_from_its_config_through_json(place: int) -> None:
    encoder, x = every_encoder()[place]
    again = build_encoder(json.loads(json.dumps(describe_encoder(encoder))))
    assert again.config == encoder.config
    again.load_state_dict(encoder.state_dict())
    assert torch.equal(again(x), encoder(x))
    assert encoder(x).shape == (4, encoder.width)


@pytest.mark.parametrize("place", range(3))
def test_first_weights_hang_on_the_seed_alone(place: int) -> None:
    first = every_encoder()[place][0]
    second = build_encoder(first.config)
    other = build_encoder({**describe_encoder(first), "seed": 99})
    pairs = zip(first.parameters(), second.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert any(
        not torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters(), strict=True)
    )


def test_building_an_encoder_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    WindowEncoder(24, 8)
    assert torch.equal(torch.get_rng_state(), before)


@given(
    lookback=st.integers(1, 40),
    channels=st.integers(1, 3),
    patch=st.integers(1, 12),
    scales=st.integers(1, 5),
)
@settings(deadline=None, max_examples=25)
def test_a_window_encoder_fits_any_window(
    lookback: int, channels: int, patch: int, scales: int
) -> None:
    encoder = WindowEncoder(
        lookback, 5, channels=channels, patch=patch, scales=scales, filters=3, hidden=4
    )
    assert encoder(torch.randn(2, lookback, channels)).shape == (2, 5)


def test_a_window_encoder_can_equal_a_linear_map_exactly() -> None:
    encoder = WindowEncoder(24, 6, channels=2)
    weight, bias = torch.randn(6, 48), torch.randn(6)
    encoder.become_linear_(weight, bias)
    windows = torch.randn(32, 24, 2)
    expected = torch.nn.functional.linear(windows.flatten(1), weight, bias)
    assert torch.equal(encoder(windows), expected)


def test_a_linear_start_still_learns_what_is_not_linear() -> None:
    encoder = WindowEncoder(12, 1, hidden=32, seed=1)
    encoder.become_linear_(torch.zeros(1, 12), torch.zeros(1))
    windows = torch.randn(256, 12, 1, generator=torch.Generator().manual_seed(0))
    target = windows.abs().mean(dim=1)
    optimiser = torch.optim.Adam(encoder.parameters(), 1e-2)
    losses = []
    for _ in range(60):
        loss = (encoder(windows) - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.05 * losses[0]


def test_a_linear_start_needs_a_linear_path_and_its_shape() -> None:
    with pytest.raises(SettingError, match="linear_path=True"):
        VectorEncoder(3, 2, linear_path=False).become_linear_(torch.zeros(2, 3), torch.zeros(2))
    with pytest.raises(ShapeError, match=r"\[2, 3\]"):
        VectorEncoder(3, 2).become_linear_(torch.zeros(3, 3), torch.zeros(2))


@pytest.mark.parametrize("lookback", [8, 19, 24, 37])
def test_the_newest_step_reaches_every_scale(lookback: int) -> None:
    encoder = WindowEncoder(lookback, 4, patch=4, linear_path=False)
    windows = torch.zeros(1, lookback, 1)
    moved = windows.clone()
    moved[:, -1] = 1.0
    seen: list[torch.Tensor] = []
    for bank in encoder.banks:
        bank.register_forward_hook(lambda _bank, _x, out: seen.append(out))
    encoder(windows)
    encoder(moved)
    scales = len(encoder.banks)
    assert all(
        not torch.equal(before, after)
        for before, after in zip(seen[:scales], seen[scales:], strict=True)
    )


@given(st.integers(0, 2**31 - 1))
@settings(deadline=None, max_examples=20)
def test_a_row_is_recovered_from_its_unit_vector(seed: int) -> None:
    rows = 5 * torch.randn(6, 4, generator=torch.Generator().manual_seed(seed))
    encoder = RowEncoder(4, learned=3, fourier=5, seed=seed)
    recovered = encoder.recover(normalize(encoder(rows)))
    torch.testing.assert_close(recovered, rows, rtol=1e-4, atol=1e-4)


def test_wrong_shapes_are_told_with_both_shapes() -> None:
    for encoder, x in every_encoder()[:3]:
        assert isinstance(x, torch.Tensor)
        with pytest.raises(ShapeError, match=r"takes \[B, .*found"):
            encoder(x[:, :-1])


def test_impossible_settings_are_told_together() -> None:
    with pytest.raises(SettingError, match="lookback=0, width=-1"):
        WindowEncoder(0, -1)
    with pytest.raises(SettingError, match="no encoder of kind 'oracle'"):
        build_encoder({"kind": "oracle"})
    with pytest.raises(SettingError, match=r"unknown here: depth, missing: dropout, .*width"):
        build_encoder({"kind": "vector", "features": 1, "depth": 3})


BAGS = st.lists(
    st.lists(st.tuples(st.integers(0, 6), st.floats(0.125, 5.0, width=32)), min_size=1, max_size=5),
    min_size=1,
    max_size=6,
)


@given(BAGS)
@settings(deadline=None, max_examples=40)
def test_an_item_bag_is_the_weighted_mean_of_its_items(
    bags: list[list[tuple[int, float]]],
) -> None:
    lists = [[index for index, _ in bag] for bag in bags]
    weights = [[weight for _, weight in bag] for bag in bags]
    content = torch.randn(7, 2, generator=torch.Generator().manual_seed(0))
    encoder = ItemBagEncoder(7, 3, content=content)
    assert encoder.project is not None
    table = encoder.vectors + encoder.project(content)
    expected = naive_bag_mean(lists, weights, table.detach())
    found = encoder(Bags.of(lists, weights)).detach().double()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@given(BAGS, st.data())
@settings(deadline=None, max_examples=40)
def test_bags_are_cut_like_a_list(bags: list[list[tuple[int, float]]], data: st.DataObject) -> None:
    lists = [[index for index, _ in bag] for bag in bags]
    packed = Bags.of(lists)
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=6))
    picked = packed[torch.tensor(rows, dtype=torch.int64)]
    offsets = picked.offsets.tolist()
    found = [picked.indices[a:b].tolist() for a, b in itertools.pairwise(offsets)]
    assert found == [lists[row] for row in rows]
    assert [part.indices.tolist() for part in packed[1:]] == lists[1:]


def test_an_empty_bag_has_no_mean() -> None:
    with pytest.raises(TooFewRows, match=r"rows \[1\]"):
        ItemBagEncoder(3, 2)(Bags.of([[0], [], [2]]))


def test_bags_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match="climb from 0 to 2"):
        Bags(torch.tensor([0, 1]), torch.tensor([0, 1]), torch.ones(2))


def test_encoded_vectors_are_unit_without_gradient_and_whatever_the_batch() -> None:
    towers = make_towers(dropout=0.5).train()
    x = torch.randn(50, 6)
    whole, parts = towers.encode_anchors(x), towers.encode_anchors(x, batch_size=7)
    torch.testing.assert_close(whole, parts)
    assert not whole.requires_grad
    torch.testing.assert_close(whole.norm(dim=1), torch.ones(50))
    assert towers.training
    assert towers.encode_candidates(x[:0]).shape == (0, 8)


def test_a_head_is_left_out_of_what_serves() -> None:
    plain, headed = make_towers(), make_towers(head_layers=2)
    x = torch.randn(5, 6)
    assert torch.equal(plain.encode_anchors(x), headed.encode_anchors(x))
    assert not torch.equal(plain(x, x)[0], headed(x, x)[0])
    served = plain.serving_part().state_dict()
    assert served.keys() == headed.serving_part().state_dict().keys()


@pytest.mark.parametrize("shared", [True, False])
def test_towers_are_rebuilt_from_their_description(shared: bool) -> None:
    candidate = None if shared else VectorEncoder(3, 4, seed=2)
    towers = DualEncoder(
        WindowEncoder(5, 4) if not shared else VectorEncoder(3, 4),
        candidate,
        head_layers=1,
        head_width=6,
    )
    again = build_dual(json.loads(json.dumps(describe_dual(towers))))
    again.load_state_dict(towers.state_dict())
    assert (again.anchor_encoder is again.candidate_encoder) == shared
    x = torch.randn(3, 3)
    assert torch.equal(again.encode_candidates(x), towers.encode_candidates(x))


def test_towers_of_two_widths_never_meet() -> None:
    with pytest.raises(SettingError, match=r"4 numbers .* 5"):
        DualEncoder(VectorEncoder(3, 4), VectorEncoder(3, 5))
    with pytest.raises(SettingError, match="0, 1 or 2"):
        ProjectionHead(4, layers=3, out=4)
    with pytest.raises(SettingError, match="keeps the width"):
        ProjectionHead(4, layers=0, out=5)


def test_a_momentum_copy_follows_without_learning() -> None:
    fast = VectorEncoder(3, 2)
    slow = momentum_copy(fast)
    assert not any(p.requires_grad for p in slow.parameters())
    start = [p.clone() for p in slow.parameters()]
    with torch.no_grad():
        for p in fast.parameters():
            p.add_(1.0)
    update_momentum_(slow, fast, 0.75)
    for before, after in zip(start, slow.parameters(), strict=True):
        torch.testing.assert_close(after, before + 0.25)
    update_momentum_(slow, fast, 0.0)
    assert all(torch.equal(a, b) for a, b in zip(slow.parameters(), fast.parameters(), strict=True))
    with pytest.raises(SettingError, match="share of 0 to 1"):
        update_momentum_(slow, fast, 1.5)


def test_the_nearest_prototype_names_the_label() -> None:
    vectors = torch.tensor([[1.0, 0.1], [1.0, -0.1], [0.0, 2.0]])
    prototypes = average_prototypes(vectors, ["east", "east", "north"])
    answer = prototypes.classify(torch.tensor([[5.0, 1.0], [0.0, 1.0], [1.0, 1.0]]))
    assert answer.labels == ("east", "north", "east")
    torch.testing.assert_close(answer.margin[2], torch.tensor(0.0))
    torch.testing.assert_close(answer.similarity[1], torch.tensor(1.0))


def test_prototypes_need_two_different_labels() -> None:
    with pytest.raises(DuplicateRows, match="north"):
        Prototypes(("north", "north"), torch.eye(2))
    with pytest.raises(TooFewRows):
        Prototypes(("north",), torch.ones(1, 2))
