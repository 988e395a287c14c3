"""The normal windows that others are compared with, and which of them share steps with a window.

In: standardised normal series. Out: :class:`ReferenceWindows`, so many of their windows, each with
the series and the step it ends at. Two windows of one series less than a window apart share steps;
neither may vouch for the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .distances import Integers
from .windows import Values, Windows, cut, spread_out, whole_ends


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceWindows:
    """Normal windows to compare with.

    Attributes:
        owner: Number of the series each comes from, [R].
        ends: Step of that series it ends at, [R].
        windows: On the standard scale, [R, L, C].
    """

    owner: Integers
    ends: Integers
    windows: Windows

    def __len__(self) -> int:
        return len(self.ends)

    def overlapping(self, owner: Integers, ends: Integers, rows: Integers) -> NDArray[np.bool_]:
        """Say which of ``rows`` [N, M] share steps with the windows asked about, [N, M]."""
        lookback = self.windows.shape[1]
        same = self.owner[rows] == owner[:, None]
        near: NDArray[np.bool_] = same & (np.abs(self.ends[rows] - ends[:, None]) < lookback)
        return near

    def crowding(self) -> int:
        """The most references that any window overlaps."""
        lookback, most = self.windows.shape[1], 0
        for number in np.unique(self.owner):
            ends = np.sort(self.ends[self.owner == number])
            reach = np.searchsorted(ends, ends + 2 * lookback - 1) - np.arange(len(ends))
            most = max(most, int(reach.max()))
        return most


def choose_reference(scaled: Sequence[Values], lookback: int, size: int) -> ReferenceWindows:
    """Keep at most about ``size`` windows of standardised series, evenly over time and series."""
    ends = [whole_ends(values, lookback) for values in scaled]
    total = sum(map(len, ends))
    share = min(1.0, size / max(total, 1))
    kept = [spread_out(one, max(1, round(share * len(one)))) for one in ends if len(one)]
    numbers = [number for number, one in enumerate(ends) if len(one)]
    return ReferenceWindows(
        np.concatenate([np.full(len(e), n) for n, e in zip(numbers, kept, strict=True)]),
        np.concatenate(kept),
        np.ascontiguousarray(
            np.concatenate(
                [cut(scaled[n], lookback, e) for n, e in zip(numbers, kept, strict=True)]
            )
        ),
    )
