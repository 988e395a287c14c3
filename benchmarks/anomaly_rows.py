"""Accuracy on rows beside peers: AUROC, average precision and precision at n of every set.

The peers are raw nearest neighbours, LOF, isolation forest, Mahalanobis distance and ECOD, on the
same splits. Means are given over all sets, over those settings were chosen on and over those that
confirm; Wilcoxon's test counts a family of sets once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from likewise.anomaly import NeighbourDetector
from likewise.anomaly.evaluation import at_budget
from pyod.models.ecod import ECOD
from scipy import stats
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from benchmarks.anomaly_data import CHOSEN_ON, FAMILIES, Floats, Split, adbench, split
from benchmarks.anomaly_kept import Kept

Scorer = Callable[[Floats, Floats], Floats]
Results = Mapping[str, Mapping[str, Floats]]
RAW = "kNN k=1"
MEASURES = ("AUROC", "AUPR", "P@n")


def ours(fitted: Floats, tested: Floats) -> Floats:
    """The detector as it comes, with a rate that the set can hold."""
    rate = max(0.05, 1.2 / len(fitted))
    return NeighbourDetector(rate, seed=0).fit(fitted).decision_function(tested)


def nearest(k: int) -> Scorer:
    """Mean distance to the k nearest fitted rows."""

    def score(fitted: Floats, tested: Floats) -> Floats:
        found, _ = NearestNeighbors(n_neighbors=k).fit(fitted).kneighbors(tested)
        return found.mean(axis=1)

    return score


def lof(fitted: Floats, tested: Floats) -> Floats:
    """Local outlier factor for novelty."""
    model = LocalOutlierFactor(n_neighbors=min(20, len(fitted) - 1), novelty=True).fit(fitted)
    return -model.score_samples(tested)


def forest(fitted: Floats, tested: Floats) -> Floats:
    """Isolation forest."""
    return -IsolationForest(random_state=0).fit(fitted).score_samples(tested)


def mahalanobis(fitted: Floats, tested: Floats) -> Floats:
    """Squared Mahalanobis distance to the mean of the fitted rows."""
    covariance = np.atleast_2d(np.cov(fitted, rowvar=False)) + 1e-6 * np.eye(fitted.shape[1])
    gap = tested - fitted.mean(axis=0)
    return np.einsum("nd,de,ne->n", gap, np.linalg.pinv(covariance), gap)


def ecod(fitted: Floats, tested: Floats) -> Floats:
    """ECOD, as PyOD has it."""
    return ECOD().fit(fitted).decision_function(tested)


SCORERS: dict[str, Scorer] = {
    "likewise": ours, RAW: nearest(1), "kNN k=5": nearest(5), "LOF": lof, "IForest": forest,
    "Mahalanobis": mahalanobis, "ECOD": ecod,
}  # fmt: skip


def bench_rows(seeds: Sequence[int], cap: int, kept: Kept, scorers: Sequence[str]) -> None:
    """Measure every set and print the tables.

    Args:
        seeds: Of the splits.
        cap: Rows of a half.
        kept: What was measured before.
        scorers: Names in ``SCORERS``.
    """
    results: dict[str, dict[str, Floats]] = {}
    for name, rows, labels in adbench():
        for seed in seeds:
            drawn = split(rows, labels, seed, cap)
            for scorer in scorers:
                value = kept.get(
                    (name, str(seed), str(cap), scorer),
                    lambda drawn=drawn, scorer=scorer: measure(SCORERS[scorer], drawn),
                )
                cell = results.setdefault(name, {}).setdefault(scorer, np.zeros(len(MEASURES)))
                cell += np.array(value) / len(seeds)
        told = "  ".join(f"{s} {c[0]:.1f}/{c[1]:.1f}" for s, c in results[name].items())
        print(f"{name}: {told}", file=sys.stderr, flush=True)
    for number, title in enumerate(MEASURES):
        print_table(results, number, title)
        if "likewise" in scorers:
            print(compare_families(results, number, title))


def measure(scorer: Scorer, drawn: Split) -> list[float]:
    """AUROC, average precision and precision at n, in percent."""
    values = np.nan_to_num(scorer(drawn.fitted, drawn.tested))
    found = at_budget(drawn.labels, values, int(drawn.labels.sum())).precision
    return [
        100 * float(roc_auc_score(drawn.labels, values)),
        100 * float(average_precision_score(drawn.labels, values)),
        100 * found,
    ]


def print_table(results: Results, measure: int, title: str) -> None:
    """One row a set, and the means."""
    scorers = list(next(iter(results.values())))
    print(f"\n**{title}**\n\n| set | {' | '.join(scorers)} |\n|---|{'---:|' * len(scorers)}")
    for name, cells in results.items():
        mark = "" if name in CHOSEN_ON else " (confirming)"
        print(f"| {name}{mark} | {' | '.join(f'{cells[s][measure]:.1f}' for s in scorers)} |")
    chosen = [name for name in results if name in CHOSEN_ON]
    others = [name for name in results if name not in CHOSEN_ON]
    groups = {"sets": list(results), "chosen on": chosen, "confirming": others}
    for label, names in groups.items():
        means = [np.mean([results[n][s][measure] for n in names]) for s in scorers]
        row = " | ".join(f"{one:.2f}" for one in means)
        print(f"| **mean of {len(names)} {label}** | {row} |")


def compare_families(results: Results, measure: int, title: str) -> str:
    """Wilcoxon's signed-rank test against each peer, one value a family of sets."""
    families: dict[str, list[str]] = {}
    for name in results:
        families.setdefault(FAMILIES.get(name, name), []).append(name)
    told = []
    for scorer in list(next(iter(results.values())))[1:]:
        gaps = [
            np.mean([results[n]["likewise"][measure] - results[n][scorer][measure] for n in names])
            for names in families.values()
        ]
        p = stats.wilcoxon(gaps).pvalue
        told.append(f"{scorer} {np.mean(gaps):+.2f} (p = {p:.2g})")
    lines = f"\n{title} ahead of, over {len(families)} families: {'; '.join(told)}."
    if measure == 0:
        gap = {n: cells["likewise"][0] - cells[RAW][0] for n, cells in results.items()}
        worst = min(gap, key=lambda name: gap[name])
        lines += f"\nFurthest below {RAW}: {worst}, {gap[worst]:+.1f}."
    return lines
