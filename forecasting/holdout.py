"""The validation tail: the part of history that choices are made on.

In: a panel that may be seen whole. Out: what lies before the cut, and origins behind it whose
truth is known. The cut is one step of *calendar* time for all series, so nothing that a model
learns can come from the time it is judged on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core import TooFewRows
from .origins import Origins, complete, futures, origins_at, pasts
from .panel import Panel

TAIL_SHARE = 0.25
MOST_ORIGINS = 4096
_BATCH = 4096


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """A panel cut in two.

    Attributes:
        before: Every row at or before the cut.
        origins: Origins at or behind the cut with a complete past and a known future.
        cut: The step of the cut.
    """

    before: Panel
    origins: Origins
    cut: int


def hold_out(panel: Panel, lookback: int, horizon: int, *, most: int = MOST_ORIGINS) -> HeldOut:
    """Cut a panel into a part to learn on and a tail to judge on.

    The tail is a quarter of the longest series, but at least two horizons, and leaves at least one
    whole window to learn from.

    Args:
        panel: Everything that may be seen.
        lookback: L, complete rows an origin needs.
        horizon: H, known rows it needs behind it.
        most: Keep at most this many origins, evenly spread in time.

    Raises:
        TooFewRows: No series is long enough; says the length that is.
    """
    longest = int(panel.lengths.max())
    least = lookback + 3 * horizon
    if longest < least:
        raise TooFewRows(
            f"the longest series has {longest} rows, and learning from windows of {lookback} + "
            f"{horizon} rows with a validation tail of two horizons needs {least}; shorten the "
            "lookback or the horizon"
        )
    tail = max(int(TAIL_SHARE * longest), 2 * horizon)
    tail = min(tail, longest - lookback - horizon)
    end = int(panel.end_steps.max())
    cut = end - tail
    cutoffs = np.arange(cut, end - horizon + 1)
    origins = _thin(origins_at(panel, cutoffs), most)
    known = np.concatenate(
        [
            complete(pasts(panel, part, lookback)) & complete(futures(panel, part, horizon))
            for part in batches(origins, _BATCH)
        ]
    )
    if not known.any():
        raise TooFewRows(
            f"no origin of the last {tail} steps has {lookback} complete rows before and {horizon} "
            "known rows behind it; close the gaps or shorten the lookback"
        )
    return HeldOut(panel.until(cut), origins[known], cut)


def batches(origins: Origins, size: int) -> list[Origins]:
    """Origins in slices of at most ``size``."""
    return [origins[rows] for rows in slices(len(origins), size)]


def slices(count: int, size: int) -> list[slice]:
    """``range(count)`` in slices of at most ``size``."""
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _thin(origins: Origins, most: int) -> Origins:
    if len(origins) <= most:
        return origins
    return origins[np.linspace(0, len(origins) - 1, most).astype(np.int64)]
