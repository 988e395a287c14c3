"""Drawing from history: continuations picked in proportion to their weights, without chance.

In: an index and origins. Out: equally likely futures. Draw i of M is the window at which the
running sum of weights, in the order of time, passes (i + 1/2) / M: systematic sampling, so a
window of weight w is drawn w * M times, give or take one, and the same question always draws the
same windows.
"""

from __future__ import annotations

import numpy as np
import torch

from .continuations import ContinuationIndex
from .holdout import slices
from .kernels import Softmax
from .levels import Level
from .origins import Origins
from .panel import Panel, Values
from .softmax import raise_logits
from .units import Steps

DRAWS = 50
OUTER = 3.0
# Weights held at a time, queries times windows.
_HELD = 1 << 23


def draw_lifts(
    index: ContinuationIndex, level: Level, panel: Panel, origins: Origins, count: int = DRAWS
) -> Values:
    """Continuations less the level of their own past, in units of the asking series, [O, M, H].

    Args:
        index: Continuations.
        level: What they hang on.
        panel: Holds the windows that ask.
        origins: Where they end.
        count: Draws, M.
    """
    rows, scales = draw_windows(index, panel, origins, count)
    flat = rows.ravel()
    summaries = index.summaries[flat].astype(np.float64)
    lifts = index.futures(flat) - level.base(summaries)
    return lifts.reshape(*rows.shape, -1) * scales[:, None, None]


def fence(drawn: Values, past: Values) -> Values:
    """Draws without those that nobody else comes near, [O, M, H].

    A continuation is brought to the unit of the window that asks; out of a series that hardly ever
    moves, one jump becomes a thousand units. A draw that lies beyond Tukey's outer fence of its
    fellows and beyond everything that the asking window has seen is put on the farther of the two.

    Args:
        drawn: [O, M, H].
        past: The windows that ask, [O, L].

    Source: Tukey 1977 ("Exploratory data analysis"), three quartile ranges; the window's own reach
    is ours, for series that are mostly still.
    """
    lower, upper = np.quantile(drawn, [0.25, 0.75], axis=1)
    apart = OUTER * (upper - lower)
    low = np.minimum(lower - apart, past.min(axis=1)[:, None])
    high = np.maximum(upper + apart, past.max(axis=1)[:, None])
    return np.clip(drawn, low[:, None], high[:, None])


def draw_windows(
    index: ContinuationIndex, panel: Panel, origins: Origins, count: int
) -> tuple[Steps, Values]:
    """Rows of the windows that each origin draws, [O, M], and scales of the origins, [O]."""
    drawn = np.empty((len(origins), count), dtype=np.int64)
    kernel = index.kernel
    if index.neighbours is not None or not isinstance(kernel, Softmax):
        near = index.nearest(panel, origins, kernel)
        for query in range(len(origins)):
            own = slice(*near.offsets[query : query + 2])
            weights = torch.from_numpy(near.weights[own])
            drawn[query] = near.rows[own][_systematic(weights[None], count)[0]]
        return drawn, near.scales
    counts, asked = index.upto(origins), index.ask(panel, origins)
    most, wanted = int(counts.max()), index.wanted(panel, origins, counts)
    held = torch.from_numpy(index.index.stored.vectors[:most])
    queries = torch.from_numpy(asked.vectors) * kernel.sharpness(index.embedding)
    for part in slices(len(origins), max(1, _HELD // most)):
        logits = queries[part] @ held.T
        keys = None if wanted is None else torch.from_numpy(wanted[part])
        index.hide(logits, 0, torch.from_numpy(counts[part]), keys)
        drawn[part] = _systematic(raise_logits(logits), count)
    return drawn, asked.scales


def _systematic(weights: torch.Tensor, count: int) -> Steps:
    """Columns at which the running sum of each row passes (i + 1/2) / M of its total, [Q, M]."""
    running = weights.cumsum(dim=1, dtype=torch.float64)
    marks = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    found: Steps = torch.searchsorted(running, running[:, -1:] * marks).numpy()
    return found
