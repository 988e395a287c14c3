"""Windows of an index as vectors of the space they are compared in.

In: an index and rows. Out: unit vectors, of the windows as they would ask and as they are held.
All inspection of an embedding starts from these two.
"""

from __future__ import annotations

import numpy as np
import torch

from ...core import normalize
from ..continuations import ContinuationIndex
from ..panel import Values
from ..units import Steps

_BLOCK = 8192


def ask_space(index: ContinuationIndex, rows: Steps) -> Values:
    """What windows of the index look like when they ask, [B, D]."""
    parts = []
    for start in range(0, len(rows), _BLOCK):
        vectors = index.embedding.ask(index.shown(rows[start : start + _BLOCK]))
        parts.append(normalize(torch.from_numpy(vectors)).double().numpy())
    return np.concatenate(parts)


def hold_space(index: ContinuationIndex, rows: Steps) -> Values:
    """What the index holds of them, [B, D]."""
    return index.index.vectors[rows].astype(np.float64)
