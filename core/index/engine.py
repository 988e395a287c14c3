"""The contract of every index engine.

In: queries, k, filters. Out: :class:`Neighbours`. Every engine has the same signature, larger
similarity = nearer, ties by id, exact filters, shorter answers instead of filler, and gives no
answer for vectors of another encoder or in another metric.

A new engine is a class that keeps this contract and passes the tests of the present ones.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import MetricMismatch, StaleIndex
from .neighbours import IdArray, Neighbours
from .stored_rows import VectorLike

METRIC = "cosine"
"""The one metric. On the sphere, inner product and Euclidean distance rank the same way."""


class VectorIndex(Protocol):
    """What every index engine can do; see :class:`ExactIndex` for the meaning of each argument."""

    @property
    def fingerprint(self) -> str:
        """Of the encoder that made the vectors."""

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Unit vectors, float32 [N, D]."""

    @property
    def ids(self) -> IdArray:
        """External ids, [N]."""

    def __len__(self) -> int: ...

    def search(
        self,
        queries: VectorLike,
        k: int,
        *,
        eligible: ArrayLike | None = None,
        upto: ArrayLike | None = None,
        fingerprint: str | None = None,
        metric: str = METRIC,
    ) -> Neighbours:
        """Find the k nearest rows of each query."""

    def stale_fraction(self, fingerprint: str) -> float:
        """Give the share of rows that another encoder made: 0, or an error."""

    def rows_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Find the row of each id."""


def check_metric(metric: str) -> None:
    """Refuse any metric but the one there is."""
    if metric != METRIC:
        raise MetricMismatch(
            f"the metric is {METRIC!r} but {metric!r} was asked for; on unit vectors inner product "
            "and Euclidean distance give the same order, so ask for 'cosine' and convert the "
            "similarities, knowingly, where another scale is needed"
        )


def check_fingerprint(held: str, given: str) -> None:
    """Refuse vectors of another encoder than the index was built with."""
    if held != given:
        raise StaleIndex(
            f"the index was built by the encoder {held[:12]}… but the vectors come from "
            f"{given[:12]}…; build a new index from vectors of the encoder in use"
        )
