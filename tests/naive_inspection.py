"""Slow twins of the inspection of series: distances from the definition, one pair at a time."""

from __future__ import annotations

import math

Stretch = tuple[int, int]
"""Number of the series and first row in it."""


def naive_shape_distance(one: list[float], other: list[float]) -> float:
    """z-normalised distance; 0 between constants, sqrt(m) from a constant to anything else."""
    shapes = [naive_shape(one), naive_shape(other)]
    if shapes[0] is None or shapes[1] is None:
        return 0.0 if shapes[0] is shapes[1] else math.sqrt(len(one))
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(shapes[0], shapes[1], strict=True)))


def naive_shape(values: list[float]) -> list[float] | None:
    """Less the mean, over the population deviation; None for a constant."""
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    if spread <= 1e-13 * max(abs(value) for value in values):
        return None
    return [(value - mean) / spread for value in values]


def naive_nearest(
    series: list[list[float]], length: int, apart: int
) -> dict[Stretch, tuple[float, list[Stretch]]]:
    """Distance to the nearest of each stretch, and every stretch that lies so near."""
    stretches = {
        (number, start): values[start : start + length]
        for number, values in enumerate(series)
        for start in range(len(values) - length + 1)
        if not any(math.isnan(value) for value in values[start : start + length])
    }
    found = {}
    for here, mine in stretches.items():
        distances = {
            there: naive_shape_distance(mine, other)
            for there, other in stretches.items()
            if here[0] != there[0] or abs(here[1] - there[1]) >= apart
        }
        if distances:
            least = min(distances.values())
            found[here] = (least, [at for at, value in distances.items() if value < least + 1e-6])
    return found
