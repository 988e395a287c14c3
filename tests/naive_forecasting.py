"""Slow twins of the forecasting room: the same answers by the longest road.

Plain loops over plain lists, written from the definitions; nothing is shared between rows and
nothing is imported from the library. A window is ``(step complete, series, past, continuation)``
as :func:`tests.naive.naive_windows` lists them.
"""

from __future__ import annotations

import math

import numpy as np

Window = tuple[int, int, list[float], list[float]]
Series = list[tuple[int, list[float]]]


def naive_deviation(values: list[float]) -> float:
    """Population deviation of the values that are there; the level of a constant, 1 for zeros."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return 1.0
    mean = sum(known) / len(known)
    spread = math.sqrt(sum((value - mean) ** 2 for value in known) / len(known))
    if spread <= 8 * 2.0**-52 * abs(mean):
        return abs(mean) or 1.0
    return spread


def naive_measure(past: list[float], kind: str, unit: float) -> tuple[float, float]:
    """Base and scale of a past, from the definition of each kind (floor 0.2, cap 10)."""
    mean = sum(past) / len(past)
    spread = math.sqrt(sum((value - mean) ** 2 for value in past) / len(past))
    base = {"mean": mean, "last": past[-1], "z": mean, "none": 0.0}[kind]
    z = min(max(spread, 0.2 * unit), 2.0 * unit)
    return base, {"mean": unit, "last": unit, "z": z, "none": 1.0}[kind]


def naive_past(series: Series, number: int, step: int, lookback: int) -> list[float]:
    """The rows up to a step, NaN where there are none."""
    start, values = series[number]
    places = range(step - start - lookback + 1, step - start + 1)
    return [values[place] if 0 <= place < len(values) else math.nan for place in places]


def naive_future(series: Series, number: int, step: int, horizon: int) -> list[float]:
    """The rows after a step, NaN where there are none."""
    start, values = series[number]
    places = range(step - start + 1, step - start + 1 + horizon)
    return [values[place] if 0 <= place < len(values) else math.nan for place in places]


def naive_cutoffs(first: int, last: int, step: int, count: int | None) -> list[int]:
    """Cutoffs counted back from the last one, as many as asked for or as fit."""
    found: list[int] = []
    cutoff = last
    while cutoff >= first and (count is None or len(found) < count):
        found.insert(0, cutoff)
        cutoff -= step
    return found


def naive_ridge(
    windows: list[Window], units: list[float], penalty: float, past: list[float]
) -> list[float]:
    """Least squares on all windows stacked over the root of the penalty (augmented rows)."""
    lookback = len(past)
    rows, targets = [], []
    for _, number, before, after in windows:
        rows.append([(value - before[-1]) / units[number] for value in before])
        targets.append([(value - before[-1]) / units[number] for value in after])
    trace = sum(value**2 for row in rows for value in row)
    strength = math.sqrt(penalty * trace / lookback)
    for place in range(lookback):
        rows.append([strength if place == other else 0.0 for other in range(lookback)])
        targets.append([0.0] * len(targets[0]))
    weights = np.linalg.lstsq(np.array(rows), np.array(targets), rcond=None)[0]
    return [
        past[-1] + sum((past[i] - past[-1]) * float(weights[i, h]) for i in range(lookback))
        for h in range(weights.shape[1])
    ]


def naive_neighbours(
    windows: list[Window], units: list[float], kind: str, k: int, past: list[float], unit: float
) -> list[float]:
    """Sort every window by its distance and average what followed the first k."""
    base, scale = naive_measure(past, kind, unit)
    asked = [(value - base) / scale for value in past]
    ranked = []
    for place, (_, number, before, after) in enumerate(windows):
        level, size = naive_measure(before, kind, units[number])
        held = [(value - level) / size for value in before]
        distance = sum((one - other) ** 2 for one, other in zip(asked, held, strict=True))
        ranked.append((distance, place, [(value - level) / size for value in after]))
    nearest = sorted(ranked)[:k]
    return [
        base + scale * sum(said[h] for _, _, said in nearest) / len(nearest)
        for h in range(len(windows[0][3]))
    ]


def naive_base(past: list[float], kind: str, coefficients: list[list[float]]) -> list[float]:
    """The level of a past at every step: a mean of it, its last value, or a mix of means."""
    spans = [span for span in range(1, len(past)) if _is_span(span)] or [1]
    means = [sum(past) / len(past), *(sum(past[-span:]) / span for span in spans)]
    if kind == "mean":
        return [means[0]] * len(coefficients[0])
    if kind == "last":
        return [past[-1]] * len(coefficients[0])
    if kind.startswith("recent"):
        span = int(kind.split()[1])
        return [sum(past[-span:]) / span] * len(coefficients[0])
    return [
        sum(means[part] * coefficients[part][h] for part in range(len(means)))
        for h in range(len(coefficients[0]))
    ]


def _is_span(span: int) -> bool:
    """Once, three or seven times a power of two."""
    while span % 2 == 0:
        span //= 2
    return span in (1, 3, 7)


def naive_relative(squares: list[float], reach: float, neighbours: int) -> list[float]:
    """Weights of squared distances, each measured by the smallest, of the nearest alone."""
    near = sorted(squares)[: min(neighbours, len(squares))]
    powers = [math.exp(-(one / near[0] - 1) / reach) if one <= near[-1] else 0.0 for one in squares]
    return [power / sum(powers) for power in powers]


def naive_weights(
    asked: list[float], held: list[list[float]], scale: float, neighbours: int | None = None
) -> list[float]:
    """Softmax of the scaled cosines, of all or of the largest alone, one by one."""
    cosines = [sum(a * b for a, b in zip(asked, row, strict=True)) for row in held]
    bar = sorted(cosines, reverse=True)[: neighbours or len(cosines)][-1]
    powers = [math.exp(scale * (one - max(cosines))) if one >= bar else 0.0 for one in cosines]
    return [power / sum(powers) for power in powers]


def naive_retrieval(
    windows: list[Window],
    units: list[float],
    kind: str,
    weights: list[float],
    past: list[float],
    unit: float,
    level: str,
    coefficients: list[list[float]],
) -> list[float]:
    """Level of the past plus every weighted continuation less the level of its own past."""
    forecast = naive_base(past, level, coefficients)
    _, scale = naive_measure(past, kind, unit)
    for weight, (_, number, before, after) in zip(weights, windows, strict=True):
        _, size = naive_measure(before, kind, units[number])
        own = naive_base(before, level, coefficients)
        for h, value in enumerate(after):
            forecast[h] += weight * scale * (value - own[h]) / size
    return forecast


def naive_episodes(
    weights: list[float], series: list[int], ends: list[int], count: int, gap: int
) -> tuple[list[list[int]], list[int]]:
    """The heaviest free window takes its free neighbours with it, again and again."""
    free = [row for row, weight in enumerate(weights) if weight > 0]
    groups: list[list[int]] = []
    while free and len(groups) < count:
        head = max(free, key=lambda row: (weights[row], -row))
        near = [r for r in free if series[r] == series[head] and abs(ends[r] - ends[head]) < gap]
        groups.append(near)
        free = [row for row in free if row not in near]
    return sorted(groups, key=lambda group: -sum(weights[row] for row in group)), free


def naive_half_width(errors: list[float], level: int) -> float | None:
    """The error that so many of n + 1 exchangeable ones stay within; None when n is too small."""
    kept = sorted(errors)
    for rank in range(1, len(kept) + 1):
        if rank * 100 >= level * (len(kept) + 1):
            return kept[rank - 1]
    return None


def naive_scale(values: list[float], season: int) -> float:
    """Mean absolute seasonal difference of a history; NaN when there is none."""
    moves = [
        abs(values[place] - values[place - season])
        for place in range(season, len(values))
        if not math.isnan(values[place] - values[place - season])
    ]
    return sum(moves) / len(moves) if moves else math.nan


def naive_mase(truth: list[list[float]], mean: list[list[float]], scales: list[float]) -> float:
    """Mean over the windows that have a scale of their scaled mean absolute error."""
    scaled = []
    for row, said, scale in zip(truth, mean, scales, strict=True):
        if math.isnan(scale) or scale == 0:
            continue
        error = sum(abs(y - f) for y, f in zip(row, said, strict=True)) / len(row)
        scaled.append(error / scale)
    return sum(scaled) / len(scaled) if scaled else math.nan


def naive_coverage(
    truth: list[list[float]], low: list[list[float]], high: list[list[float]]
) -> float:
    """Share of the truths inside their band."""
    inside = [
        lo <= y <= hi
        for row, lows, highs in zip(truth, low, high, strict=True)
        for y, lo, hi in zip(row, lows, highs, strict=True)
    ]
    return sum(inside) / len(inside)


def naive_crps(truth: list[list[float]], quantiles: dict[float, list[list[float]]]) -> float:
    """Twice the mean pinball loss over quantiles and rows, over the mean size of the truth."""
    losses, sizes = [], []
    for o, row in enumerate(truth):
        for h, y in enumerate(row):
            sizes.append(abs(y))
            for q, bounds in quantiles.items():
                miss = y - bounds[o][h]
                losses.append(q * miss if miss >= 0 else (q - 1) * miss)
    return 2 * (sum(losses) / len(losses)) / (sum(sizes) / len(sizes))


def naive_paired_test(differences: list[float], overlap: int) -> tuple[float, float, int]:
    """Mean, corrected Diebold-Mariano statistic, and lags, from the definitions."""
    count = len(differences)
    mean = sum(differences) / count
    lags = min(overlap - 1 + math.floor(4 * (count / 100) ** (2 / 9)), count - 1)
    variance = 0.0
    for lag in range(-lags, lags + 1):
        products = [
            (differences[i] - mean) * (differences[i - abs(lag)] - mean)
            for i in range(abs(lag), count)
        ]
        variance += (1 - abs(lag) / (lags + 1)) * sum(products) / count
    shrink = (count + 1 - 2 * overlap + overlap * (overlap - 1) / count) / count
    return mean, mean / math.sqrt(variance / count) * math.sqrt(shrink), lags
