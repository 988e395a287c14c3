"""The index of continuations, against a loop over every window."""

from __future__ import annotations

import math
from dataclasses import replace
from operator import mul

import numpy as np
import pytest
from likewise.core import LeakError, StaleIndex
from likewise.forecasting import Normaliser, RetrievalForecaster
from likewise.forecasting import continuations as continuations_module
from likewise.forecasting import memory as memory_module
from likewise.forecasting.continuations import ContinuationIndex
from likewise.forecasting.embeddings import RawEmbedding
from likewise.forecasting.kernels import Relative, Softmax
from likewise.forecasting.levels import LevelKind
from likewise.forecasting.normalisers import Kind
from likewise.forecasting.origins import Origins, complete, origins_at, pasts
from likewise.forecasting.recipe import Recipe

from tests.forecasting.planted import HORIZON, LOOKBACK, SMALL, panel_of, wave
from tests.naive import naive_windows
from tests.naive_forecasting import (
    naive_deviation,
    naive_measure,
    naive_relative,
    naive_retrieval,
    naive_weights,
)

NAN = float("nan")
SERIES = [
    (0, wave(90).tolist()),
    (9, [NAN if place == 50 else value for place, value in enumerate(40 + 6 * wave(80, 1))]),
]


def unit(vector: np.ndarray) -> list[float]:
    wide = vector.astype(np.float64)
    return (wide / np.sqrt((wide**2).sum())).tolist()


@pytest.mark.parametrize(
    ("embedding", "kind", "level", "neighbours"),
    [
        ("raw", "mean", "mean", None),
        ("raw", "last", "trailing", None),
        ("raw", "z", "last", None),
        ("raw", "none", "mean", None),
        ("raw", "mean", "halfway", 7),
        ("raw", "mean", "recent", None),
        ("raw", "z", "last", 10_000),
        ("learned", "mean", "last", None),
        ("learned", "z", "trailing", 3),
    ],
)
def test_forecasts_are_those_of_the_slow_twin(
    embedding: str,
    kind: Kind,
    level: LevelKind,
    neighbours: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Odd blocks and chunks, so that their seams lie everywhere.
    monkeypatch.setattr(memory_module, "_BLOCK", 13)
    monkeypatch.setattr(continuations_module, "_TILE", 11)
    monkeypatch.setattr(continuations_module, "_QUERIES", 3)
    panel = panel_of(SERIES)
    model = RetrievalForecaster(
        HORIZON,
        LOOKBACK,
        embedding=embedding,  # type: ignore[arg-type]
        level=level,
        normaliser=Normaliser(kind),
        towers=SMALL,
        neighbours=neighbours,
    ).fit_panel(panel)
    units = model.recipe_.units(panel).tolist()
    windows = naive_windows(SERIES, LOOKBACK, HORIZON)
    held = []
    for _, number, past, future in windows:
        base, scale = naive_measure(past, kind, units[number])
        parts = [(np.array([part]) - base) / scale for part in (past, future)]
        held.append(unit(model.embedding_.hold(*parts)[0]))
    origins = origins_at(panel, np.array([45, 70, 88]))
    origins = origins[complete(pasts(panel, origins, LOOKBACK))]
    assert len(origins) == 5
    before, found = pasts(panel, origins, LOOKBACK), model.expect(panel, origins)
    for place, (number, step) in enumerate(zip(origins.series, origins.steps, strict=True)):
        past = before[place].tolist()
        known = sum(window[0] <= step for window in windows)
        base, scale = naive_measure(past, kind, units[number])
        lifted = model.embedding_.ask((np.array([past]) - base) / scale)[0]
        asked = unit(lifted)
        if isinstance(model.kernel_, Relative):
            inner = [sum(map(mul, asked, row)) for row in held[:known]]
            length = np.array([math.sqrt(1 + sum(map(mul, lifted[:-2], lifted[:-2])))])
            squares = [float(model.embedding_.squares(np.array([one]), length)[0]) for one in inner]
            count = neighbours or model.kernel_.neighbours
            weights = naive_relative(squares, model.kernel_.reach, count)
        else:
            sharpness = model.kernel_.softness * model.embedding_.scale
            weights = naive_weights(asked, held[:known], sharpness, neighbours)
        expected = naive_retrieval(
            windows[:known],
            units,
            kind,
            weights,
            past,
            units[number],
            model.level_.name,
            model.level_.coefficients.tolist(),
        )
        np.testing.assert_allclose(found[place], expected, atol=2e-4 * units[number])
        own = model.index_.weights(panel, origins[place : place + 1])
        assert own.sum() == pytest.approx(1, abs=1e-12)
        assert (own[known:] == 0).all()
        np.testing.assert_allclose(own[:known], weights, atol=1e-3)


def raw_index(neighbours: int | None = None) -> ContinuationIndex:
    panel = panel_of(SERIES)
    units = {f"s{i}": naive_deviation(values) for i, (_, values) in enumerate(SERIES)}
    recipe = Recipe(6, 3, Normaliser("mean"), units)
    return ContinuationIndex(panel, recipe, RawEmbedding(unit=0.1), neighbours=neighbours)


def test_many_queries_are_answered_like_one() -> None:
    # case forecasting#45: beyond 256 queries single precision serves, and keeps six digits
    index = raw_index()
    panel = index.windows.panel
    origins = origins_at(panel, np.arange(20, 60))
    origins = origins[complete(pasts(panel, origins, 6))]
    many = Origins(np.tile(origins.series, 6), np.tile(origins.steps, 6))
    assert len(many) > 256
    one = [index.recall(panel, origins[i : i + 1]).future[0] for i in range(len(origins))]
    scale = index.units.max()
    np.testing.assert_allclose(index.recall(panel, many).future[: len(one)], one, atol=1e-5 * scale)
    np.testing.assert_allclose(index.recall(panel, origins).future, one, atol=1e-12 * scale)


def test_the_effective_number_of_windows_is_between_one_and_all() -> None:
    index = raw_index()
    panel = index.windows.panel
    origins = origins_at(panel, np.array([60]))[:1]
    known = int(index.upto(origins)[0])
    assert index.recall(panel, origins, Softmax(1e-11)).effective[0] == pytest.approx(known)
    assert index.recall(panel, origins, Softmax(1e7)).effective[0] == pytest.approx(1)


def test_an_origin_before_anything_was_complete_is_a_leak() -> None:
    index = raw_index()
    panel = index.windows.panel
    with pytest.raises(LeakError, match=r"1 origins have no complete window of 6 \+ 3"):
        index.recall(panel, Origins(np.array([0]), np.array([7])))


def test_a_stored_index_of_another_panel_or_encoder_is_refused() -> None:
    # one continuation more, or another sphere: both are another index
    index = raw_index()
    parts = (index.recipe, index.embedding)
    again = ContinuationIndex(index.windows.panel, *parts, stored=index.index)
    assert again.index is index.index
    with pytest.raises(StaleIndex, match="attach the panel again"):
        ContinuationIndex(index.windows.panel.until(80), *parts, stored=index.index)
    other = RawEmbedding(unit=0.2)
    with pytest.raises(StaleIndex):
        ContinuationIndex(index.windows.panel, index.recipe, other, stored=index.index)


def test_a_series_that_was_not_fitted_on_is_measured_by_its_first_rows() -> None:
    index = raw_index()
    recipe = replace(index.recipe, deviations={})
    expected = [naive_deviation(values[:6]) for _, values in SERIES]
    np.testing.assert_allclose(recipe.units(index.windows.panel), expected)


def test_the_nearest_of_many_queries_are_those_of_one() -> None:
    index = raw_index(neighbours=5)
    panel = index.windows.panel
    origins = origins_at(panel, np.arange(20, 45))
    one = [index.recall(panel, origins[i : i + 1]).future[0] for i in range(len(origins))]
    np.testing.assert_array_equal(index.recall(panel, origins).future, one)
    assert index.recall(panel, origins).effective.max() <= 5
    assert (index.weights(panel, origins[-1:]) > 0).sum() == 5
