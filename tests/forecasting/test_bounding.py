"""Whose draws bound a blend: the ones whose quantiles fitted best on the tail."""

from __future__ import annotations

import numpy as np
from likewise.forecasting.bounding import choose_draws
from likewise.forecasting.origins import Origins, origins_at
from likewise.forecasting.panel import Panel, Values

from tests.forecasting.planted import panel_of

HORIZON, ROWS = 2, 600


def loud_and_quiet() -> Panel:
    """Noise around zero, ten times louder in every other stretch of 20 rows."""
    draw = np.random.default_rng(0)
    loud = (np.arange(ROWS) // 20) % 2
    return panel_of([(0, (draw.normal(size=ROWS) * (0.1 + 0.9 * loud)).tolist())])


def knows(panel: Panel, origins: Origins, mean: Values) -> Values:
    """Draws as wide as the noise ahead."""
    width = 0.1 + 0.9 * (((origins.steps + 1) // 20) % 2)
    return mean[:, None] + width[:, None, None] * np.linspace(-1.5, 1.5, 21)[None, :, None]


def blind(panel: Panel, origins: Origins, mean: Values) -> Values:
    """Draws as wide at every origin."""
    return mean[:, None] + np.linspace(-1.5, 1.5, 21)[None, :, None]


def test_draws_that_know_when_it_is_loud_are_chosen_wherever_they_stand() -> None:
    panel = loud_and_quiet()
    origins = origins_at(panel, np.arange(50, ROWS - HORIZON, 1))
    mean = np.zeros((len(origins), HORIZON))
    for candidates, best in (([knows, blind], 0), ([blind, knows], 1)):
        place, losses = choose_draws(candidates, panel, origins, mean)
        assert place == best
        assert losses[best] < 0.9 * losses[1 - best]


def test_without_choice_or_evidence_the_first_bounds() -> None:
    panel = loud_and_quiet()
    few = origins_at(panel, np.arange(50, 60))
    assert choose_draws([blind, knows], panel, few, np.zeros((len(few), HORIZON)))[0] == 0
    many = origins_at(panel, np.arange(50, 200))
    assert choose_draws([blind], panel, many, np.zeros((len(many), HORIZON)))[0] == 0
