"""Scale: scores of different sources, made comparable user by user.

In: scores [B, I] of one source. Out: the same scores with mean 0 and deviation 1 over the catalogue
in each row, so that a weight means the same whatever the source and however long the history.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def standardise_(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Bring each row to mean 0 and deviation 1, in place; a row without differences becomes 0."""
    scores -= scores.mean(axis=1, keepdims=True)
    deviation = np.sqrt(np.einsum("ij,ij->i", scores, scores) / scores.shape[1])
    scores /= np.where(deviation > 0, deviation, 1.0)[:, None].astype(np.float32)
    return scores
