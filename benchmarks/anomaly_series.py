"""Accuracy on series beside raw windows, Sub-PCA and the matrix profile.

Every scorer sees the same standardised values and the same window length. Average precision by
step, VUS-PR, and the share of true events touched by the strangest few events there is time for.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec

import numpy as np
import polars as pl
from likewise.anomaly.distances import Lengths
from likewise.anomaly.evaluation import events_at_budget
from likewise.anomaly.series import SeriesDetector
from likewise.anomaly.vus import vus_pr
from likewise.anomaly.window_parts import PARTS, UNLEARNED, PartName
from likewise.anomaly.windows import suggest_lookback
from sklearn.metrics import average_precision_score

from benchmarks.anomaly_kept import Kept
from benchmarks.anomaly_profile import own_profile, stumpy_profile
from benchmarks.anomaly_series_data import Floats, LabelledSeries, series_sets
from benchmarks.anomaly_windows import (
    compared,
    flat_windows,
    left_over,
    main_directions,
    spread_back,
    standardised,
)

Scorer = Callable[[Floats, Floats, int], Floats]
MEASURES = ("AUC-PR", "VUS-PR", "events found within the budget")


def likewise_series(
    fitted: Floats, tested: Floats, lookback: int, parts: Sequence[PartName] = UNLEARNED
) -> Floats:
    """The detector of series, every step scored by the windows over it."""
    return fitted_detector(fitted, lookback, parts).score_values(tested)[0]


def fitted_detector(fitted: Floats, lookback: int, parts: Sequence[PartName]) -> SeriesDetector:
    """A detector of one series; every step is scored by the windows over it."""
    frame = pl.DataFrame({f"c{i}": fitted[:, i] for i in range(fitted.shape[1])})
    detector = SeriesDetector(0.05, lookback=lookback, mode="covering", parts=parts)
    return detector.fit(frame.with_row_index("ds"))


def likewise_learned(fitted: Floats, tested: Floats, lookback: int) -> Floats:
    """The same with its learned part."""
    return likewise_series(fitted, tested, lookback, PARTS)


def raw_windows(fitted: Floats, tested: Floats, lookback: int) -> Floats:
    """Distance to the nearest fitted window, averaged over the windows that cover a step."""
    windows, queries = flat_windows(fitted, lookback), flat_windows(tested, lookback)
    return spread_back(Lengths(compared(windows)).nearest(queries, 1).distances[:, 0], lookback)


def sub_pca(fitted: Floats, tested: Floats, lookback: int) -> Floats:
    """Sub-PCA: what the main directions of fitted windows cannot express."""
    windows, queries = flat_windows(fitted, lookback), flat_windows(tested, lookback)
    left = left_over(queries, *main_directions(compared(windows)))
    return spread_back(np.sqrt((left**2).sum(axis=1)), lookback)


def matrix_profile(fitted: Floats, tested: Floats, lookback: int) -> Floats:
    """Matrix profile of the test part against the fitted one, in the mean over channels."""
    return spread_back(own_profile(fitted, tested, lookback), lookback)


def stumpy_matrix_profile(fitted: Floats, tested: Floats, lookback: int) -> Floats:
    """The same by stumpy."""
    return spread_back(stumpy_profile(fitted, tested, lookback), lookback)


OURS: dict[str, Scorer] = {"likewise": likewise_series, "with learned part": likewise_learned}
SCORERS = OURS | {
    "raw windows": raw_windows, "Sub-PCA": sub_pca, "matrix profile": matrix_profile,
}  # fmt: skip
if find_spec("stumpy") is not None:
    SCORERS["stumpy"] = stumpy_matrix_profile


def bench_series(most: int, families: Sequence[str], kept: Kept, scorers: Sequence[str]) -> None:
    """Measure series of the families and print the tables.

    Args:
        most: Series of a family, evenly over its files.
        families: Which.
        kept: What was measured before.
        scorers: Names in ``SCORERS``.
    """
    results: list[tuple[LabelledSeries, dict[str, list[float]]]] = []
    for one in choose(most, families):
        started = time.perf_counter()
        cells = {
            scorer: kept.get(
                (one.family, one.name, scorer),
                lambda one=one, scorer=scorer: measure(SCORERS[scorer], one),
            )
            for scorer in scorers
        }
        results.append((one, cells))
        told = "  ".join(f"{s} {c[0]:.3f}" for s, c in cells.items())
        took = time.perf_counter() - started
        print(f"{one.family} {one.name}: {told} ({took:.0f} s)", file=sys.stderr, flush=True)
    for number, title in enumerate(MEASURES):
        print_table(results, number, title)
    print_each(results)


def choose(most: int, families: Sequence[str]) -> Iterator[LabelledSeries]:
    """At most so many series of each family, evenly over its files."""
    for family in families:
        every = list(series_sets(family))
        count = min(most, len(every))
        for number in np.linspace(0, len(every) - 1, count).round().astype(int):
            yield every[number]


def measure(scorer: Scorer, one: LabelledSeries) -> list[float]:
    """AUC-PR, VUS-PR and recall of events within a budget of one in a thousand steps."""
    lookback = suggest_lookback(one.fitted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = scorer(*standardised(one), lookback)
    values = np.where(np.isfinite(values), values, np.nanmin(values))
    budget = max(3, len(values) // 1000)
    return [
        float(average_precision_score(one.labels, values)),
        vus_pr(one.labels, values, longest=lookback),
        events_at_budget(one.labels, values, budget, spacing=lookback).recall,
    ]


def print_table(
    results: Sequence[tuple[LabelledSeries, Mapping[str, Sequence[float]]]],
    number: int,
    title: str,
) -> None:
    """One row a family, and the means over families."""
    scorers = list(results[0][1])
    print(f"\n**{title}**\n\n| family | n | {' | '.join(scorers)} |")
    print(f"|---|---:|{'---:|' * len(scorers)}")
    for label, chosen in (
        ("all", results),
        ("confirming", [pair for pair in results if pair[0].confirms]),
    ):
        means = []
        for family in dict.fromkeys(one.family for one, _ in chosen):
            cells = [cells for one, cells in chosen if one.family == family]
            means.append([float(np.mean([c[s][number] for c in cells])) for s in scorers])
            row = " | ".join(f"{one:.3f}" for one in means[-1])
            print(f"| {family} ({label}) | {len(cells)} | {row} |")
        if means:
            mean = np.mean(means, axis=0)
            row = " | ".join(f"{one:.3f}" for one in mean)
            print(f"| **mean of families ({label})** | {len(chosen)} | {row} |")
            by_name = dict(zip(scorers, mean, strict=True))
            peers = [one for name, one in by_name.items() if name not in OURS]
            if "likewise" in by_name and peers:
                ratio = by_name["likewise"] / max(peers)
                print(f"| **ours over the best peer ({label})** | | {ratio:.2f} |")


def print_each(
    results: Sequence[tuple[LabelledSeries, Mapping[str, Sequence[float]]]],
) -> None:
    """Every series, AUC-PR / VUS-PR."""
    scorers = list(results[0][1])
    print(f"\n**every series, AUC-PR / VUS-PR**\n\n| series | {' | '.join(scorers)} |")
    print(f"|---|{'---:|' * len(scorers)}")
    for one, cells in results:
        mark = " (confirming)" if one.confirms else ""
        row = " | ".join(f"{cells[s][0]:.3f} / {cells[s][1]:.3f}" for s in scorers)
        print(f"| {one.family} {one.name}{mark} | {row} |")
