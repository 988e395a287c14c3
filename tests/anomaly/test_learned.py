"""The learned distance: its pairs, its search, its trust and its fall back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from likewise.anomaly import NeighbourDetector
from likewise.anomaly.learned import Directions, LearningSettings, NeighbourPairs, Waves
from likewise.anomaly.trust import PRIOR, Strangeness, decide_trust

from tests.anomaly.planted import correlated_rows


def test_pairs_are_neighbours_and_their_negatives_are_new_each_time() -> None:
    rows = correlated_rows(50)
    near = np.tile(np.arange(3), (50, 1))
    waves = Waves.drawn(4, LearningSettings(), np.random.default_rng(0))
    pairs = NeighbourPairs(rows, near, waves, negatives=2)
    batch = pairs.batch(torch.arange(10), torch.Generator().manual_seed(0))
    again = pairs.batch(torch.arange(10), torch.Generator().manual_seed(0))
    other = pairs.batch(torch.arange(10), torch.Generator().manual_seed(1))
    assert batch.ids is not None
    assert batch.negatives is not None
    assert set(batch.ids.tolist()) <= {0, 1, 2}
    assert batch.negatives.shape == (20, 4 + 64)
    assert torch.equal(batch.negatives, again.negatives)
    assert not torch.equal(batch.negatives, other.negatives)


def test_a_direction_left_out_never_answers_even_among_twins() -> None:
    vectors = np.tile(np.eye(3, dtype=np.float32)[:1], (5, 1))
    vectors = np.concatenate([vectors, np.eye(3, dtype=np.float32)])
    directions = Directions(vectors, "f")
    found = directions.nearest(vectors, 2, leave_out=np.arange(8))
    assert (found.distances[:5] == 0).all()
    own = found.rows == np.arange(8)[:, None]
    assert not own[6:].any()
    assert found.distances[6, 0] == pytest.approx(np.sqrt(2))


def test_trust_stays_at_the_prior_unless_faults_speak_clearly() -> None:
    draw = np.random.default_rng(0)
    held = Strangeness(draw.exponential(size=500), draw.exponential(size=500))
    echo = draw.exponential(size=500)
    same = [Strangeness(3 * echo[:200], 3 * echo[:200])]
    assert decide_trust(Strangeness(echo, echo), same * 7).weight == PRIOR
    clear = [Strangeness(draw.exponential(size=200), draw.exponential(size=200) + 30)]
    assert decide_trust(held, clear * 7).weight >= PRIOR
    noisy = Strangeness(draw.exponential(size=500), 20 * draw.exponential(size=500))
    useless = [Strangeness(draw.exponential(size=200) + 6, 20 * draw.exponential(size=200))]
    told = decide_trust(noisy, useless * 7)
    assert told.weight == 0
    assert "finds" in told.reason


def test_few_rows_are_compared_plainly_and_it_says_why() -> None:
    detector = NeighbourDetector(0.1).fit(correlated_rows(60))
    assert detector.trust_.weight == 0
    assert "fewer than" in detector.trust_.reason
    assert not detector.reference_.trained_on.any()
