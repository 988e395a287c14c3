"""Slow twins of the recommendation room: the same answers by the longest road.

Plain loops over plain lists, written from the definitions; nothing is imported from the library.
A list is the items of one user in order of rank.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np


def naive_ranking(scores: Sequence[float], k: int) -> list[int]:
    """Columns of the k largest scores; ties by column, -inf never."""
    places = [place for place, score in enumerate(scores) if score > -math.inf]
    return sorted(places, key=lambda place: (-scores[place], place))[:k]


def naive_recall(listed: Sequence[object], relevant: set[object], k: int) -> float:
    """Share of what is relevant that stands among the first k."""
    return len(set(listed[:k]) & relevant) / len(relevant)


def naive_capped_recall(listed: Sequence[object], relevant: set[object], k: int) -> float:
    """The same over what could have been found in k places."""
    return len(set(listed[:k]) & relevant) / min(len(relevant), k)


def naive_ndcg(listed: Sequence[object], relevant: set[object], k: int) -> float:
    """Discounted gain of the first k over that of a perfect list."""
    gain = sum(
        1 / math.log2(place + 2) for place, item in enumerate(listed[:k]) if item in relevant
    )
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(relevant), k)))
    return gain / ideal


def naive_gini(amounts: Sequence[float]) -> float:
    """Mean absolute difference of all pairs over twice the mean."""
    total, count = sum(amounts), len(amounts)
    if total == 0 or count == 0:
        return 0.0
    apart = sum(abs(a - b) for a in amounts for b in amounts)
    return apart / (2 * count * total)


def naive_strata(train: Sequence[tuple[object, object]]) -> dict[object, str]:
    """Head, torso and tail: what stood before an item decides which third it is in."""
    counts = Counter(item for _, item in set(train))
    total, before, strata = sum(counts.values()), 0, {}
    for item in sorted(counts, key=lambda item: (-counts[item], item)):
        share = before / total
        strata[item] = "head" if share < 1 / 3 else "torso" if share < 2 / 3 else "tail"
        before += counts[item]
    return strata


def naive_cooccurrence(
    histories: Sequence[Sequence[int]],
    asked: Sequence[int],
    items: int,
    exponents: tuple[float, float, float],
) -> list[float]:
    """Score every item for one history by walking over all users and their items."""
    by_user, by_history, by_candidate = exponents
    users = Counter(item for history in histories for item in history)
    scores = [0.0] * items
    for mine in asked:
        for history in histories:
            if mine not in history:
                continue
            for other in history:
                scores[other] += (
                    users[mine] ** -by_history
                    * len(history) ** -by_user
                    * users[other] ** -by_candidate
                )
    return scores


def naive_softmax_loss(
    cosines: Sequence[Sequence[float]],
    targets: Mapping[int, Mapping[int, float]],
    hidden: set[tuple[int, int]],
    temperature: float,
    log_q: Sequence[float],
) -> float:
    """Cross-entropy of each row over its candidates, its own targets uncorrected."""
    losses = []
    for row, line in enumerate(cosines):
        logits = {}
        for column, cosine in enumerate(line):
            if (row, column) in hidden:
                continue
            own = column in targets[row]
            logits[column] = cosine / temperature - (0.0 if own else log_q[column])
        total = math.log(sum(math.exp(logit) for logit in logits.values()))
        losses.append(
            sum(weight * (total - logits[column]) for column, weight in targets[row].items())
        )
    return sum(losses) / len(losses)


def naive_spectral(
    taken: Sequence[Sequence[float]],
    *,
    rank: int,
    drift_rank: int,
    exponents: tuple[float, float, float],
    off: float,
) -> list[list[float]]:
    """The spectral scores of every user, by whole decompositions and row by row."""
    rows = np.array(taken, dtype=np.float64)
    user, item, candidate = exponents
    degrees, counts = rows.sum(axis=1), rows.sum(axis=0)

    def right(user: float, item: float, kept: int) -> tuple[np.ndarray, np.ndarray]:
        scaled = rows / degrees[:, None] ** user / np.maximum(counts, 1)[None, :] ** item
        _, values, vectors = np.linalg.svd(scaled)
        return vectors[:kept], values[:kept]

    crowd, _ = right(user, item, rank)
    wide, values = right(0.5, 0.5, drift_rank)
    answers = []
    for row in rows:
        near = (row / np.maximum(counts, 1) ** item) @ crowd.T @ crowd
        near = near * np.maximum(counts, 1) ** candidate
        far = (row @ wide.T * values**4) @ wide
        parts = [(one - one.mean()) / one.std() for one in (near, far)]
        answers.append((parts[0] - off * parts[1]).tolist())
    return answers
