"""Slow twins of the anomaly room: plain loops from the definitions. They import nothing of it."""

from __future__ import annotations

import itertools
import math

import numpy as np


def naive_nearest(rows, queries, k, leave_out=None):
    """The k nearest rows of each query, one distance at a time; ties by row number."""
    out = []
    for at, query in enumerate(queries):
        found = []
        for number, row in enumerate(rows):
            if leave_out is not None and number == leave_out[at]:
                continue
            found.append(
                (math.sqrt(sum((a - b) ** 2 for a, b in zip(query, row, strict=True))), number)
            )
        out.append(sorted(found)[:k])
    return out


def naive_threshold(scores, rate):
    """Walk up the sorted scores until a share of 1 - rate of n + 1 places is behind."""
    ordered = sorted(scores)
    for place, score in enumerate(ordered, start=1):
        if place >= (len(ordered) + 1) * (1 - rate) - 1e-9:
            return score
    return None


def naive_p_value(score, held):
    return (1 + sum(one >= score for one in held)) / (len(held) + 1)


def naive_average_precision(labels, scores):
    """Sum of precision times gained recall over distinct levels, high to low."""
    total, before = 0.0, 0.0
    for level in sorted(set(scores), reverse=True):
        hits = sum(1 for y, s in zip(labels, scores, strict=True) if s >= level and y)
        count = sum(1 for s in scores if s >= level)
        recall = hits / sum(labels)
        total += hits / count * (recall - before)
        before = recall
    return total


def naive_roc_area(labels, scores):
    pairs = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for y, a in zip(labels, scores, strict=True)
        if y
        for z, b in zip(labels, scores, strict=True)
        if not z
    ]
    return sum(pairs) / len(pairs)


def naive_at_budget(labels, scores, budget, tries=None):
    """Expected hits among the top, averaged over the order of ties by direct counting."""
    level = sorted(scores, reverse=True)[budget - 1]
    sure = [y for y, s in zip(labels, scores, strict=True) if s > level]
    tied = [y for y, s in zip(labels, scores, strict=True) if s == level]
    return sum(sure) + sum(tied) / len(tied) * (budget - len(sure))


def naive_stretches(labels):
    out, start = [], None
    for at, label in enumerate([*labels, 0]):
        if label and start is None:
            start = at
        if not label and start is not None:
            out.append((start, at))
            start = None
    return out


def naive_soft_labels(labels, buffer):
    """Soft edges, step by step: sqrt(1 - distance / buffer) up to half a buffer away."""
    soft = [float(one) for one in labels]
    for start, stop in naive_stretches(labels):
        for at in range(len(labels)):
            distance = start - at if at < start else at - stop + 1 if at >= stop else 0
            if 0 < distance <= buffer // 2:
                soft[at] = max(soft[at], math.sqrt(1 - distance / buffer))
    return soft


def naive_range_average_precision(labels, scores, buffer, levels=250):
    """The range-aware curve, one threshold at a time."""
    soft = naive_soft_labels(labels, buffer)
    grown = naive_stretches([one > 0 for one in soft])
    positives = (sum(labels) + sum(soft)) / 2
    ordered = sorted(scores, reverse=True)
    places = sorted({round(float(one)) for one in np.linspace(0, len(scores) - 1, levels)})
    curve = [(0.0, 1.0)]
    for place in places:
        level = ordered[place]
        chosen = [at for at, score in enumerate(scores) if score >= level]
        hits = sum(soft[at] for at in chosen)
        touched = sum(any(scores[at] >= level for at in range(a, b)) for a, b in grown)
        recall = min(hits / positives, 1.0) * touched / len(grown)
        curve.append((recall, hits / len(chosen)))
    area = 0.0
    for (r0, p0), (r1, p1) in itertools.pairwise(curve):
        area += (r1 - r0) * (p0 + p1) / 2
    return area


def naive_vus_pr(labels, scores, longest, buffers=11):
    lengths = sorted({round(float(one)) for one in np.linspace(0, longest, buffers)})
    areas = [naive_range_average_precision(labels, scores, one) for one in lengths]
    return sum(areas) / len(areas)


def naive_events(scores, above, spacing):
    out = []
    for at, score in enumerate(scores):
        if not score > above:
            continue
        if out and at - out[-1][1] < spacing + 1 and at - (out[-1][1] - 1) <= spacing:
            out[-1] = (out[-1][0], at + 1)
        else:
            out.append((at, at + 1))
    return out


def naive_cover(at_end, lookback):
    """Geometric mean of the scores of all windows over each step."""
    out = []
    for step in range(len(at_end)):
        over = [
            at_end[end]
            for end in range(step, min(step + lookback, len(at_end)))
            if not math.isnan(at_end[end])
        ]
        mean = sum(math.log(one + 1e-12) for one in over) / len(over) if over else math.nan
        out.append(math.exp(mean) if over else math.nan)
    return out


def naive_coreset(rows, size, draw, trials, rounds):
    """Greedy sampling by the fourth power of the gap, then rows in the place of means."""
    rows = (rows - rows.mean(axis=0)).astype(np.float32)

    def gap(i, kept):
        return min(float(((rows[i] - rows[j]) ** 2).sum()) for j in kept)

    def cost(kept):
        return sum(gap(i, kept) ** 2 for i in range(len(rows)))

    chosen = [min(range(len(rows)), key=lambda i: float((rows[i] ** 2).sum()))]
    while len(chosen) < size:
        weights = [gap(i, chosen) ** 2 for i in range(len(rows))]
        tried = []
        for level in draw.random(trials):
            left = level * sum(weights)
            row = 0
            while left >= weights[row]:
                left -= weights[row]
                row += 1
            tried.append(row)
        chosen.append(min(tried, key=lambda row: cost([*chosen, row])))
    for _ in range(rounds):
        cells = {row: [] for row in chosen}
        for i in range(len(rows)):
            cells[min(chosen, key=lambda j: float(((rows[i] - rows[j]) ** 2).sum()))].append(i)
        means = [np.mean(rows[cells[row]], axis=0) for row in chosen]
        chosen = [
            min(cells[row], key=lambda i: float(((rows[i] - mean) ** 2).sum()))
            for row, mean in zip(chosen, means, strict=True)
        ]
    return sorted(chosen)


def naive_levels(window):
    """Mean, deviation, least and largest of every channel, by plain loops."""
    out = []
    for column in window.T:
        mean = sum(column) / len(column)
        out += [
            mean,
            (sum((value - mean) ** 2 for value in column) / len(column)) ** 0.5,
            min(column),
            max(column),
        ]
    return out


def naive_spectrum(window):
    """Size of every frequency of every channel, by the sum that defines it."""
    length, out = len(window), []
    for column in window.T:
        mean = sum(column) / length
        for frequency in range(length // 2 + 1):
            turned = sum(
                (value - mean) * np.exp(-2j * np.pi * frequency * step / length)
                for step, value in enumerate(column)
            )
            out.append(abs(turned) / length**0.5)
    return out


def naive_residual(normal, asked, expressed):
    """Length of what the leading right singular vectors leave in each channel, by window."""
    flat = normal.reshape(len(normal), -1)
    middle = flat.mean(axis=0)
    _, sizes, directions = np.linalg.svd(flat - middle)
    held, count = 0.0, 0
    while held < expressed * (sizes**2).sum():
        held += sizes[count] ** 2
        count += 1
    out = []
    for window in asked:
        left = window.reshape(-1) - middle
        for direction in directions[:count]:
            left = left - (left @ direction) * direction
        out.append([float(np.linalg.norm(column)) for column in left.reshape(window.shape).T])
    return out


def naive_sketched(kept, gone, query, k, probed, most, levels):
    """Distances to the k nearest of the nearest kept rows and of what they remember, by loops."""

    def gap(one, other):
        return sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5

    cells = [[] for _ in kept]
    for row in gone:
        gaps = [gap(row, one) for one in kept]
        cells[gaps.index(min(gaps))].append(row)
    order = sorted(range(len(kept)), key=lambda j: gap(kept[j], query))
    for count in (probed, k + 1):
        found = []
        for j in order[:count]:
            found.append((gap(kept[j], query), j))
            told = sorted(cells[j], key=lambda one: -gap(one, kept[j]))[:most]
            away = [abs(a - b) for row in told for a, b in zip(row, kept[j], strict=True)]
            step = max(away, default=0) / levels
            for row in told:
                near = [
                    b + step * round((a - b) / step) if step else b
                    for a, b in zip(row, kept[j], strict=True)
                ]
                found.append((gap(near, query), j))
        if len(found) >= k:
            break
    return sorted(found)[:k]


def naive_oddness(rows, k):
    """Rank of the distance to the k-th neighbour, and of its ratio to that of the k neighbours."""

    def order(i):
        gaps = [(float(np.linalg.norm(rows[i] - rows[j])), j) for j in range(len(rows)) if j != i]
        return sorted(gaps)[:k]

    far = [order(i)[-1][0] for i in range(len(rows))]
    times = [far[i] / (sum(far[j] for _, j in order(i)) / k) for i in range(len(rows))]

    def rank(value, values):
        return sum(one < value for one in values) + (sum(one == value for one in values) + 1) / 2

    return [rank(far[i], far) + rank(times[i], times) for i in range(len(rows))]
