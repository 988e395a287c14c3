"""The spectral source: its two views, what settings it refuses, and how it is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from likewise.core import SettingError
from likewise.recsys import (
    CandidateGenerator,
    CooccurrenceSettings,
    Histories,
    Interactions,
    SpectralItems,
    SpectralSettings,
)
from likewise.recsys.scale import standardise_
from likewise.recsys.spectrum import leading_directions, normalised_matrix

from tests.naive_recsys import naive_spectral
from tests.recsys.planted import checkerboard, random_events

SMALL = SpectralSettings(rank=6, drift_rank=4, most_share=1.0)


def test_the_leading_directions_are_those_of_the_whole_decomposition() -> None:
    matrix = normalised_matrix(Interactions.read(random_events(5)).histories)
    directions, values = leading_directions(matrix, 5, seed=0)
    _, exact, right = np.linalg.svd(matrix.toarray().astype(np.float64))
    np.testing.assert_allclose(values, exact[:5], rtol=1e-3)
    np.testing.assert_allclose(directions.T @ directions, np.eye(5), atol=1e-4)
    np.testing.assert_allclose(np.abs((right[:5] * directions.T).sum(axis=1)), 1.0, atol=1e-2)


def test_fewer_directions_come_back_than_there_are() -> None:
    matrix = normalised_matrix(Histories.of([[0, 1], [1, 2]], width=3))
    directions, values = leading_directions(matrix, 50, seed=0)
    assert directions.shape == (3, len(values))
    assert len(values) <= 3


def test_the_crowd_less_the_drift_is_what_the_formula_says() -> None:
    # So many directions that the search is over the whole space, and so exact.
    known = Interactions.read(random_events(3)).histories
    settings = SpectralSettings(rank=15, drift_rank=14, most_share=1.0)
    fast = SpectralItems(known, settings).score(known.take(slice(0, 4)))
    slow = naive_spectral(
        known.matrix.toarray().tolist(),
        rank=15,
        drift_rank=14,
        exponents=(0.35, 0.4, 0.3),
        off=1.0,
    )[:4]
    np.testing.assert_allclose(fast, slow, atol=2e-3)


def test_without_sharpening_the_crowd_speaks_alone() -> None:
    known = Interactions.read(random_events(3)).histories
    settings = SpectralSettings(rank=6, drift_rank=4, most_share=1.0, sharpening=0.0)
    source = SpectralItems(known, settings)
    np.testing.assert_array_equal(
        source.score(known), standardise_(source.crowd.score(known.matrix))
    )


def test_a_row_without_differences_becomes_zero_not_nan() -> None:
    assert not standardise_(np.full((2, 3), 7.0, dtype=np.float32)).any()


def test_an_empty_history_and_new_items_get_no_say() -> None:
    known = Interactions.read(random_events(1)).histories
    source = SpectralItems(known, SMALL)
    assert not source.score(Histories.of([[]], width=known.width)).any()
    source.widen_(2)
    wide = source.score(known.widened(known.width + 2))
    assert np.isfinite(wide).all()
    assert wide.shape[1] == known.width + 2


def test_a_bundle_keeps_the_spectral_source(tmp_path: Path) -> None:
    generator = CandidateGenerator(
        tower=None, linear=None, cooccurrence=CooccurrenceSettings(), spectral=SMALL
    ).fit(checkerboard())
    assert set(generator.sources_) == {"popularity", "cooccurrence", "spectral"}
    generator.save(tmp_path / "bundle")
    loaded = CandidateGenerator.load(tmp_path / "bundle")
    assert loaded.recommend(k=5).equals(generator.recommend(k=5))
    assert loaded.fingerprint == generator.fingerprint


def test_another_spectral_setting_is_another_fingerprint() -> None:
    names = {
        CandidateGenerator(
            tower=None, linear=None, cooccurrence=CooccurrenceSettings(), spectral=spectral
        )
        .fit(checkerboard())
        .fingerprint
        for spectral in (None, SMALL, SpectralSettings(rank=3))
    }
    assert len(names) == 3


@pytest.mark.parametrize(
    "wrong", [{"rank": 0}, {"drift_rank": 0}, {"sharpening": -1.0}, {"most_share": 0.0}]
)
def test_spectral_settings_that_cannot_work_are_named(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingError, match=next(iter(wrong))):
        SpectralSettings(**wrong)  # type: ignore[arg-type]
