"""What anomalies among the fitted rows cost, and how many of them are reported for review.

5 % of the fitted rows are anomalies; the others, and fresh normal rows, are looked for. Beside the
detector that takes all rows as verified stands one that was told that 5 % may not be.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from likewise.anomaly import NeighbourDetector
from likewise.anomaly.evaluation import at_budget

from benchmarks.anomaly_data import CHOSEN_ON, Floats, adbench, split

PLANTED = 0.05
FEWEST = 60
"""Anomalies a set needs: some to plant, the others to look for."""

COLUMNS = (
    "planted", "reported", "normal rows reported", "set aside", "P@n clean", "P@n planted",
    "P@n told",
)  # fmt: skip


def bench_contamination(seeds: Sequence[int], cap: int) -> None:
    """Plant anomalies in the fitted rows of every set that has enough, and look for the others."""
    print(f"| set | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}")
    rows: dict[str, Floats] = {}
    for name, values, labels in adbench():
        if labels.sum() < FEWEST:
            continue
        rows[name] = np.mean([measure(values, labels, seed, cap) for seed in seeds], axis=0)
        mark = "" if name in CHOSEN_ON else " (confirming)"
        print(f"| {name}{mark} | {' | '.join(f'{one:.1f}' for one in rows[name])} |", flush=True)
    for label, names in {
        "all": list(rows),
        "chosen on": [name for name in rows if name in CHOSEN_ON],
        "confirming": [name for name in rows if name not in CHOSEN_ON],
    }.items():
        mean = np.mean([rows[name] for name in names], axis=0)
        print(f"| **mean of {len(names)} {label}** | {' | '.join(f'{m:.1f}' for m in mean)} |")


def measure(values: Floats, labels: np.ndarray, seed: int, cap: int) -> list[float]:
    """The columns of the table for one split."""
    drawn = split(values, labels, seed, cap)
    odd = np.flatnonzero(drawn.labels == 1)
    planted = odd[: min(len(odd) // 2, round(PLANTED * len(drawn.fitted)))]
    judged = np.setdiff1d(np.arange(len(drawn.labels)), planted)
    mixed = np.concatenate([drawn.fitted, drawn.tested[planted]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean = NeighbourDetector(0.05, learned=False).fit(drawn.fitted)
        dirty = NeighbourDetector(0.05, learned=False).fit(mixed)
        told = NeighbourDetector(0.05, learned=False, suspected_share=PLANTED).fit(mixed)
    truth = drawn.labels[judged]
    found = [
        100 * at_budget(truth, one.decision_function(drawn.tested[judged]), int(truth.sum())).recall
        for one in (clean, dirty, told)
    ]
    reported = np.array([one.row >= len(drawn.fitted) for one in dirty.suspects_], dtype=bool)
    aside = set(range(len(drawn.fitted), len(mixed))) - set(told.reference_.ids.tolist())
    return [len(planted), reported.sum(), (~reported).sum(), len(aside), *found]
