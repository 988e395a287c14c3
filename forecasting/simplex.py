"""Least squares on the simplex: how much of each forecast makes the best mixture.

In: errors of several forecasts of the same truths. Out: weights, none negative, that sum to one.
With little evidence the weights stay near a prior; see :func:`mix`.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from .panel import Values

MOST_FORECASTS = 12
TINY = 1e-150


def mix(gram: Values, prior: Values, shrinkage: float) -> Values:
    """Weights w >= 0 with sum 1 that minimise ``w'Gw + s |w - prior|^2``.

    Solved exactly: on every face of the simplex the minimum is a linear system, and few forecasts
    have few faces.

    Args:
        gram: Mean product of the errors of every two forecasts, G, [M, M].
        prior: Where the weights stay without evidence, [M].
        shrinkage: Strength of the prior, as a share of the mean squared error of the best of the
            forecasts; s is this times the least of the diagonal of G.

    Returns:
        The weights, [M].

    >>> mix(np.diag([1.0, 3.0]), np.array([0.5, 0.5]), 0.0)
    array([0.75, 0.25])
    """
    count = len(gram)
    # Errors that are all zero leave nothing to choose by: then the prior is the answer.
    strength = max(shrinkage * float(gram.diagonal().min()), TINY)
    square = gram + strength * np.eye(count)
    best, weights = np.inf, np.asarray(prior, dtype=np.float64)
    for size in range(1, count + 1):
        for face in combinations(range(count), size):
            there = _solve_face(square[np.ix_(face, face)], strength * prior[list(face)])
            if there is None:
                continue
            tried = np.zeros(count)
            tried[list(face)] = there
            cost = float(tried @ square @ tried - 2 * strength * prior @ tried)
            if cost < best:
                best, weights = cost, tried
    return weights


def _solve_face(square: Values, pull: Values) -> Values | None:
    """The minimum on one face, weights that sum to one; None where it lies outside."""
    sides = np.column_stack([pull, np.ones(len(square))])
    try:
        toward, along = np.linalg.solve(square, sides).T
    except np.linalg.LinAlgError:
        # Two forecasts that are the same: the faces with one of them hold the minimum too.
        return None
    weights: Values = toward + along * (1 - toward.sum()) / along.sum()
    return None if (weights < 0).any() or not np.isfinite(weights).all() else weights
