"""The validation tail: a cut in calendar time that nothing reaches across."""

from __future__ import annotations

import numpy as np
import pytest
from likewise.core import TooFewRows
from likewise.forecasting.holdout import TAIL_SHARE, batches, hold_out
from likewise.forecasting.origins import complete, futures, pasts
from likewise.forecasting.windows import Windows

from tests.forecasting.planted import panel_of, wave

NAN = float("nan")


def test_no_window_learned_from_shares_a_row_with_a_held_out_continuation() -> None:
    # case forecasting#5
    late = [NAN if place % 17 == 3 else value for place, value in enumerate(wave(90, 2))]
    panel = panel_of([(0, wave(120).tolist()), (40, wave(60, 1).tolist()), (25, late)])
    held = hold_out(panel, 8, 3)
    windows = Windows(held.before, 8, 3)
    assert windows.end_steps.max() <= held.cut
    assert held.before.end_steps.max() == held.cut
    assert (held.origins.steps + 1).min() > held.cut
    assert held.origins.steps.max() + 3 <= panel.end_steps.max()
    assert complete(pasts(panel, held.origins, 8)).all()
    assert complete(futures(panel, held.origins, 3)).all()


@pytest.mark.parametrize(("lookback", "horizon"), [(1, 1), (8, 3), (5, 12)])
def test_the_minimum_length_that_is_stated_works_exactly(lookback: int, horizon: int) -> None:
    # cases forecasting#17 and #31
    least = lookback + 3 * horizon
    held = hold_out(panel_of([(0, wave(least).tolist())]), lookback, horizon)
    assert len(Windows(held.before, lookback, horizon)) == 1
    assert len(held.origins) == horizon + 1
    with pytest.raises(TooFewRows, match=f"has {least - 1} rows, .* needs {least}"):
        hold_out(panel_of([(0, wave(least - 1).tolist())]), lookback, horizon)


def test_the_tail_is_a_share_of_the_longest_series() -> None:
    held = hold_out(panel_of([(0, wave(500).tolist())]), 10, 5)
    assert held.cut == 499 - int(TAIL_SHARE * 500)


def test_origins_are_thinned_evenly_and_keep_both_ends() -> None:
    panel = panel_of([(0, wave(500).tolist())])
    whole, thin = hold_out(panel, 10, 5), hold_out(panel, 10, 5, most=7)
    assert len(thin.origins) == 7
    assert thin.origins.steps[[0, -1]].tolist() == whole.origins.steps[[0, -1]].tolist()


def test_a_tail_full_of_holes_says_what_is_missing() -> None:
    values = wave(100).tolist()
    values[70::3] = [NAN] * len(values[70::3])
    with pytest.raises(TooFewRows, match=r"last \d+ steps has 10 complete rows before and 4"):
        hold_out(panel_of([(0, values)]), 10, 4)


def test_batches_hold_every_origin_once() -> None:
    origins = hold_out(panel_of([(0, wave(100).tolist())]), 4, 2).origins
    parts = batches(origins, 5)
    assert max(len(part) for part in parts) == 5
    assert np.concatenate([part.steps for part in parts]).tolist() == origins.steps.tolist()
