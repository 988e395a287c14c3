"""Pairs: what each policy makes the positive of a window."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from likewise.core import Pairs, ProcedureWarning, SettingError
from likewise.forecasting import Normaliser, RetrievalForecaster
from likewise.forecasting.normalisers import Kind
from likewise.forecasting.pairs import ADJACENT_STEPS, PairPolicy, WindowPairs
from likewise.forecasting.recipe import Recipe
from likewise.forecasting.windows import Windows

from tests.forecasting.planted import SMALL, panel_of, two_waves, wave
from tests.naive import naive_windows
from tests.naive_forecasting import naive_deviation, naive_measure

SERIES = [(0, wave(60).tolist()), (7, (30 + 5 * wave(50, 1)).tolist())]
UNITS = [naive_deviation(values) for _, values in SERIES]


def recipe(kind: Kind) -> Recipe:
    units = {f"s{number}": unit for number, unit in enumerate(UNITS)}
    return Recipe(6, 3, Normaliser(kind), units)


def pairs_of(policy: PairPolicy, kind: Kind = "mean", **settings: int) -> WindowPairs:
    windows = Windows(panel_of(SERIES), 6, 3)
    return WindowPairs(windows, recipe(kind), policy, **settings)


def drawn(pairs: WindowPairs, seed: int = 0) -> Pairs:
    return pairs.batch(torch.arange(len(pairs)), torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("kind", ["mean", "last", "z", "none"])
def test_a_continuation_is_measured_like_the_window_before_it(kind: Kind) -> None:
    batch = drawn(pairs_of("continuation", kind))
    rows = naive_windows(SERIES, 6, 3)
    assert len(rows) == len(batch.anchors)
    for place, (_, number, past, future) in enumerate(rows):
        base, scale = naive_measure(past, kind, UNITS[number])
        for found, values in ((batch.anchors, past), (batch.positives, future)):
            expected = [(value - base) / scale for value in values]
            np.testing.assert_allclose(found[place], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("span", [None, 4])
def test_windows_near_each_other_are_no_negatives(span: int | None) -> None:
    pairs = pairs_of("continuation") if span is None else pairs_of("continuation", span=span)
    (mask,) = drawn(pairs).masks
    left_out = mask.tile(slice(None), torch.device("cpu"))
    rows = naive_windows(SERIES, 6, 3)
    expected = [
        [mine[1] == other[1] and abs(mine[0] - other[0]) < (span or 9) for other in rows]
        for mine in rows
    ]
    assert left_out.tolist() == expected


def test_adjacency_warns_and_takes_a_window_a_few_steps_on() -> None:
    with pytest.warns(ProcedureWarning, match="what time it is"):
        pairs = pairs_of("adjacency")
    batch = drawn(pairs)
    rows = naive_windows(SERIES, 6, 3)
    anchors = [tuple(row) for row in batch.anchors.tolist()]
    shifts = set()
    for place, positive in enumerate(batch.positives.tolist()):
        other = anchors.index(tuple(positive))
        assert rows[other][1] == rows[place][1]
        shifts.add(rows[other][0] - rows[place][0])
    assert shifts == set(range(ADJACENT_STEPS + 1))


def test_two_views_in_one_epoch_differ_and_the_seed_repeats_both() -> None:
    # case forecasting#37
    pairs = pairs_of("augmentation")
    generator = torch.Generator().manual_seed(3)
    everything = torch.arange(len(pairs))
    one, other = (pairs.batch(everything, generator).positives for _ in range(2))
    assert not torch.equal(one, other)
    assert torch.equal(one, drawn(pairs, 3).positives)
    shape = one - pairs.batch(everything, generator).anchors
    assert shape.abs().median() < 0.5


def test_only_the_rows_that_were_chosen_are_trained_on() -> None:
    windows = Windows(panel_of(SERIES), 6, 3)
    rows = np.array([3, 10, 40])
    pairs = WindowPairs(windows, recipe("mean"), rows=rows)
    assert len(pairs) == 3
    whole = drawn(pairs_of("continuation"))
    assert torch.equal(drawn(pairs).anchors, whole.anchors[rows])


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(SettingError, match="'clock' are not one of continuation"):
        pairs_of("clock")  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", ["augmentation", "adjacency"])
def test_other_policies_index_windows_and_answer(policy: PairPolicy) -> None:
    model = RetrievalForecaster(4, 16, embedding="learned", pairs=policy, towers=SMALL)
    if policy == "adjacency":
        with pytest.warns(ProcedureWarning, match="clock check"):
            model.fit(two_waves())
    else:
        model.fit(two_waves())
    assert np.isfinite(model.predict()["RetrievalForecaster"].to_numpy()).all()
    assert getattr(model.embedding_, "holds", None) == "window"
