"""CPU time of contenders, fairly: in turns, the best round of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def take_turns(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """CPU seconds of each contender, one after the other in every round; the best round counts."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            started = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - started)
    return best
