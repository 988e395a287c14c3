"""The recall gate: an approximate index serves only after it was compared with the exact one.

In: an index's search at a given effort, and the exact answer to held-out queries. Out: a
:class:`GateReport` with the smallest effort that reaches the target, or RecallGateFailed. What
counts as found is decided in ``recall``; how hard to search for it is decided here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import RecallGateFailed, SettingError
from .recall import exact_hits, recall_against
from .scan import Hits
from .stored_rows import StoredRows

SearchAt = Callable[[NDArray[np.float32], int], Hits]
"""Search for unit queries with an effort."""


@dataclass(frozen=True, slots=True)
class RecallGate:
    """What an approximate index must reach before it may serve.

    Attributes:
        k: Neighbours a query, at least 1.
        target: Smallest recall@k, in (0, 1].
        min_queries: Held-out queries without which no recall is believed, at least 1.
        most_effort: Largest effort tried; beyond it the exact scan is the better tool.
    """

    k: int = 10
    target: float = 0.99
    min_queries: int = 200
    most_effort: int = 1024

    def __post_init__(self) -> None:
        if not 0 < self.target <= 1 or min(self.k, self.min_queries, self.most_effort) < 1:
            raise SettingError(f"{self}: target must lie in (0, 1] and the rest be at least 1")


@dataclass(frozen=True, slots=True)
class GateReport:
    """What the gate found.

    Attributes:
        ef: The smallest search effort that reached the target (to within an eighth).
        recall: recall@k at that effort, in [0, 1].
        queries: Held-out queries it was measured on.
        tried: (ef, recall) of every effort tried, in that order.
        speedup: Time of the exact scan over time of this index, same queries, same k.
        seconds: What the gate took.
    """

    ef: int
    recall: float
    queries: int
    tried: tuple[tuple[int, float], ...]
    speedup: float
    seconds: float


def pass_gate(
    gate: RecallGate, search: SearchAt, stored: StoredRows, probes: NDArray[np.float32]
) -> GateReport:
    """Find the smallest effort at which an index reaches the target.

    Args:
        gate: The target.
        search: The index to judge; it gives ``gate.k`` hits a query.
        stored: The rows it holds.
        probes: Held-out unit queries, float32 [Q, D].

    Raises:
        RecallGateFailed: The target is out of reach.
    """
    began = time.perf_counter()
    truth = exact_hits(stored, probes, gate.k)
    exact_seconds = time.perf_counter() - began
    tried: dict[int, float] = {}
    seconds: dict[int, float] = {}

    def reaches(ef: int) -> bool:
        start = time.perf_counter()
        found = search(probes, ef)
        seconds[ef] = time.perf_counter() - start
        tried[ef] = recall_against(truth, found, stored, probes)
        return tried[ef] >= gate.target

    ef = _smallest_effort(reaches, gate.k, gate.most_effort)
    if ef is None:
        raise RecallGateFailed(
            f"recall@{gate.k} reaches {max(tried.values()):.3f} on {len(probes)} held-out queries "
            f"with ef up to {gate.most_effort}, below the target {gate.target}; "
            "use exact search (ExactIndex), or lower the target knowingly"
        )
    return GateReport(
        ef=ef,
        recall=tried[ef],
        queries=len(probes),
        tried=tuple(tried.items()),
        speedup=exact_seconds / seconds[ef],
        seconds=time.perf_counter() - began,
    )


def _smallest_effort(reaches: Callable[[int], bool], least: int, most: int) -> int | None:
    """Double until the target is reached, then halve the gap until it is small."""
    low, high = 0, min(max(least, 16), most)
    while not reaches(high):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while low and high - low > max(1, high // 8):
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high
