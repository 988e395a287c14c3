"""Series of which one channel has left its fitted range for good: is anything else still found?

A sensor that was calibrated anew or a counter that runs on is no anomaly for long, but it must not
hide those of the other channels. One channel of every test part is shifted by as many standard
deviations of its fitted part; labels stay as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.anomaly_series import SCORERS, choose, measure
from benchmarks.anomaly_series_data import LabelledSeries

SHIFTS = (0.0, 20.0, -5.0)
BESIDE = ("likewise", "raw windows", "Sub-PCA")


def bench_outside(most: int, families: Sequence[str], seed: int = 0) -> None:
    """AUC-PR with one channel shifted, in the mean over the series of each family.

    Args:
        most: Series of a family, evenly over its files.
        families: Which; those of one channel are left out.
        seed: Of the channel that is shifted.
    """
    found: dict[tuple[str, str, float], list[list[float]]] = {}
    for one in choose(most, families):
        moving = np.flatnonzero(one.fitted.std(axis=0) > 0)
        if len(moving) < 2:
            continue
        channel = int(np.random.default_rng(seed).choice(moving))
        for shift in SHIFTS:
            cells = [measure(SCORERS[name], shifted(one, channel, shift))[0] for name in BESIDE]
            told = " ".join(f"{cell:.3f}" for cell in cells)
            print(f"{one.family} {one.name} {shift:+g}: {told}", file=sys.stderr, flush=True)
            for label in ("all", "confirming") if one.confirms else ("all",):
                found.setdefault((label, one.family, shift), []).append(cells)
    print(f"| family | shifted by | n | {' | '.join(BESIDE)} |")
    print(f"|---|---:|---:|{'---:|' * len(BESIDE)}")
    for (label, family, shift), rows in sorted(found.items()):
        means = " | ".join(f"{one:.3f}" for one in np.mean(rows, axis=0))
        print(f"| {family} ({label}) | {shift:+g} | {len(rows)} | {means} |")


def shifted(one: LabelledSeries, channel: int, shift: float) -> LabelledSeries:
    """The series with one channel of its test part moved by so many deviations."""
    tested = one.tested.copy()
    tested[:, channel] += shift * one.fitted[:, channel].std()
    return replace(one, tested=tested)
