"""Mean and deviation of every window of a series in one pass.

In: values and a window length. Out: mean and deviation of the window that ends at each row. Every
window is the tail of one block and the head of the next, and both are summed relative to one of
their own values, so nothing outside a window ever enters its sums: a level of 1e8 with a
millimetre of movement keeps its movement, and so does a quiet stretch after a huge jump.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
# Rows worked on at once.
PIECE = 65_536


def window_moments(values: Values, length: int) -> tuple[Values, Values]:
    """Mean and population deviation of the window ending at each row, in O(T).

    Args:
        values: One or several series, [T]; a window with NaN in it is NaN.
        length: Rows of a window, at least 1.

    Returns:
        Means [T] and deviations [T]; NaN for the first ``length - 1`` rows. The deviation of a
        constant window is exactly 0.

    Source: two-pass blocks joined by Chan, Golub and LeVeque (1979), eq. 2.1.

    >>> window_moments(np.array([1.0, 3.0, 3.0, 7.0]), 2)[1].tolist()
    [nan, 1.0, 0.0, 2.0]
    """
    means, deviations = np.full(len(values), np.nan), np.full(len(values), np.nan)
    # A piece at a time: the work space stays small beside the series.
    step = max(PIECE, 16 * length)
    for begin in range(0, len(values), step):
        before = min(begin, length - 1)
        piece = _moments(values[begin - before : begin + step], length)
        means[begin : begin + step], deviations[begin : begin + step] = piece[:, before:]
    return means, deviations


def _moments(values: Values, length: int) -> Values:
    """Means and deviations of a piece that starts anywhere, [2, T]."""
    total = len(values)
    padded = np.full(-(-total // length) * length, np.nan)
    padded[:total] = values
    blocks = padded.reshape(-1, length)
    head_shift, head_spread = (part.ravel() for part in _running(blocks))
    # The tails of a block are its heads read backwards.
    tail_shift, tail_spread = (part[:, ::-1].ravel() for part in _running(blocks[:, ::-1]))

    moments = np.full((2, total), np.nan)
    last = np.arange(length - 1, total)
    first = last - length + 1
    in_head = last % length + 1
    in_tail = length - in_head
    head_value, tail_value = padded[last - in_head + 1], padded[last - in_head]
    # The two means are compared through their small shifts; the means themselves are rounded.
    apart = head_value - tail_value + (head_shift[last] - tail_shift[first])
    both = in_tail > 0
    apart = np.where(both, apart, 0.0)
    before = np.where(both, tail_spread[first], 0.0)
    spread = head_spread[last] + before + apart**2 * (in_head * in_tail / length)
    moments[0, last] = head_value + (head_shift[last] - apart * (in_tail / length))
    moments[1, last] = np.sqrt(spread / length)
    return moments


def _running(blocks: Values) -> tuple[Values, Values]:
    """First 1, 2, ... rows of each block: mean less the first value, and squared differences."""
    centred = blocks - blocks[:, :1]
    counts = np.arange(1, blocks.shape[1] + 1)
    sums = np.cumsum(centred, axis=1)
    spread = np.cumsum(np.square(centred), axis=1) - sums**2 / counts
    return sums / counts, np.maximum(spread, 0.0)
