"""Regimes: the kinds of past that a series is in, as a column for other models.

In: a fitted retrieval forecaster. Out: :class:`Regimes`, a label for every window, from clusters
of embeddings. How many there are is not guessed: for each number, k-means runs from several seeds,
and the largest number whose labels hardly depend on the seed (adjusted Rand index) is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from ...core import SettingError, TooFewRows
from ..origins import Origins
from ..panel import Panel, Values
from ..retrieval import RetrievalForecaster
from ..units import Steps
from .spaces import ask_space

COUNTS = tuple(range(2, 9))
STABLE = 0.9
"""Adjusted Rand index from which labels are taken to be the same."""
MOST_CLUSTERED = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Regimes:
    """Labels of windows.

    Attributes:
        model: Whose embedding was clustered.
        centres: Unit vectors of the regimes, largest regime first, [R, D].
        labels: Regime of every window of the index, [N].
        trials: One row a number of regimes: ``regimes`` and ``stability``, the mean adjusted Rand
            index between seeds.
    """

    model: RetrievalForecaster
    centres: Values
    labels: Steps
    trials: pl.DataFrame

    @property
    def stability(self) -> float:
        """Mean adjusted Rand index between seeds, of the number that was taken."""
        return float(self.trials.filter(regimes=len(self.centres))["stability"].item())

    @property
    def stable(self) -> bool:
        """Whether the labels hardly depend on the seed."""
        return self.stability >= STABLE

    def to_frame(self) -> Any:
        """The labels as a column: id, time of the last row of each window, ``regime``.

        A label looks at the window alone, but the centres were found on all of them: to test a
        model that uses the column, fit on rows before its cutoffs and label later ones with
        :meth:`label`.
        """
        windows = self.model.index_.windows
        rows = np.arange(len(windows))
        origins = Origins(windows.series_of(rows), windows.origin_steps(rows))
        return _column(windows.panel, origins, self.labels)

    def label(self, panel: Panel, origins: Origins) -> Steps:
        """Regime at each origin of any panel, from the rows up to it alone, [O]."""
        vectors = self.model.index_.ask(panel, origins).vectors
        return _closest(vectors.astype(np.float64), self.centres)


def find_regimes(
    model: RetrievalForecaster, counts: Sequence[int] = COUNTS, *, seeds: int = 5, seed: int = 0
) -> Regimes:
    """Cluster the windows of a fitted forecaster.

    Args:
        model: Fitted.
        counts: Numbers of regimes to try.
        seeds: Runs of k-means for each.
        seed: The first of them.

    Returns:
        The largest number of regimes that is stable; the most stable one when none is.

    Raises:
        SettingError: Fewer than two regimes or seeds.
        TooFewRows: Fewer windows than regimes.
    """
    from sklearn.metrics import adjusted_rand_score  # noqa: PLC0415 - a second, only paid here

    if min(counts, default=0) < 2 or seeds < 2:
        raise SettingError(f"regimes and seeds start at 2, found {list(counts)} and {seeds}")
    index = model.index_
    if len(index) < 10 * max(counts):
        raise TooFewRows(
            f"{len(index)} windows are too few for {max(counts)} regimes; bring at least "
            f"{10 * max(counts)}, or try fewer"
        )
    rows = np.arange(0, len(index), -(-len(index) // MOST_CLUSTERED))
    vectors = ask_space(index, rows)
    runs = {
        count: [_cluster(vectors, count, seed + place) for place in range(seeds)]
        for count in sorted(set(counts))
    }
    stability = {
        count: float(np.mean([adjusted_rand_score(a[1], b[1]) for a, b in combinations(found, 2)]))
        for count, found in runs.items()
    }
    stable = [count for count, value in stability.items() if value >= STABLE]
    chosen = max(stable) if stable else max(stability, key=lambda count: stability[count])
    centres, labels, _ = min(runs[chosen], key=lambda run: run[2])
    order = np.argsort(-np.bincount(labels, minlength=chosen), kind="stable")
    centres = centres[order]
    every = np.concatenate(
        [
            _closest(ask_space(index, part), centres)
            for part in np.array_split(np.arange(len(index)), -(-len(index) // MOST_CLUSTERED))
        ]
    )
    trials = pl.DataFrame({"regimes": list(stability), "stability": list(stability.values())})
    return Regimes(model, centres, every, trials)


def _cluster(vectors: Values, count: int, seed: int) -> tuple[Values, Steps, float]:
    """Centres, labels and inertia of one run."""
    from sklearn.cluster import KMeans  # noqa: PLC0415

    found = KMeans(count, n_init=3, random_state=seed).fit(vectors)
    return found.cluster_centers_, found.labels_.astype(np.int64), float(found.inertia_)


def _closest(vectors: Values, centres: Values) -> Steps:
    square = (centres**2).sum(axis=1)
    closest: Steps = np.argmin(square[None, :] - 2 * vectors @ centres.T, axis=1)
    return closest


def _column(panel: Panel, origins: Origins, labels: Steps) -> Any:
    return panel.answer(
        {
            panel.schema.id_col: panel.labels(origins.series),
            panel.schema.time_col: panel.stamps(origins.steps),
            "regime": pl.Series(labels),
        }
    )
