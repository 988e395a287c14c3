"""Which channels an event is about: the ranking in the evidence, against what experts named.

asd and smd come with the channels of each event. Channels are ranked by their mean strangeness over
the windows that end in the event; of as many as the experts named, and of half as many again, it is
counted how many are theirs.

Source of the measure: Su et al. (2019), HitRate@P %.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl
from likewise.anomaly.distances import Lengths
from likewise.anomaly.series import SeriesDetector
from likewise.anomaly.windows import cut, suggest_lookback

from benchmarks.anomaly_series_data import Floats, LabelledSeries, series_sets
from benchmarks.anomaly_windows import compared, standardised
from benchmarks.data import data_path

SHARES = (1.0, 1.5)
Ranker = Callable[[Floats], Floats]
"""Windows of the test part [N, L, C] -> strangeness of every channel, [N, C]."""


def bench_causes(families: Sequence[str]) -> None:
    """Hits among the first channels of each ranking, in the mean over events."""
    hits: dict[str, dict[str, list[list[float]]]] = {}
    for family in families:
        for one in series_sets(family):
            lookback = suggest_lookback(one.fitted)
            fitted, tested = standardised(one)
            rankers = {
                "likewise": likewise_channels(fitted, lookback),
                "nearest window": nearest_window(fitted, lookback),
                "Sub-PCA": sub_pca_channels(fitted, lookback),
                "deviation": lambda windows: np.abs(windows[:, -1]),
            }
            for start, stop, causes in events(one):
                ends = np.arange(max(start, lookback - 1), max(stop, lookback))
                windows = cut(tested, lookback, ends)
                for name, ranker in rankers.items():
                    order = np.argsort(-ranker(windows).mean(axis=0), kind="stable")
                    found = [hit_rate(order, causes, share) for share in SHARES]
                    hits.setdefault(family, {}).setdefault(name, []).append(found)
                drawn = [min(share * len(causes) / one.fitted.shape[1], 1.0) for share in SHARES]
                hits[family].setdefault("drawn at random", []).append(drawn)
            print(f"{family} {one.name} ranked", file=sys.stderr, flush=True)
    names = list(next(iter(hits.values())))
    print(
        f"| family | events | first | {' | '.join(names)} |\n|---|---:|---|{'---:|' * len(names)}"
    )
    for family, by_name in hits.items():
        for number, share in enumerate(SHARES):
            means = [float(np.mean([one[number] for one in by_name[name]])) for name in names]
            cells = " | ".join(f"{mean:.3f}" for mean in means)
            print(f"| {family} | {len(by_name[names[0]])} | {share:.0%} | {cells} |")


def hit_rate(order: np.ndarray, causes: set[int], share: float) -> float:
    """Share of the causes among the first ``share`` times as many channels of a ranking.

    >>> hit_rate(np.array([3, 1, 0, 2]), {1, 2}, 1.0)
    0.5
    """
    first = order[: int(share * len(causes))].tolist()
    return len(causes.intersection(first)) / len(causes)


def events(one: LabelledSeries) -> Iterator[tuple[int, int, set[int]]]:
    """First step, step after the last, and the channels named, from 0 on."""
    path = data_path(one.family, "interpretation_label", f"{one.name}.txt")
    for line in path.read_text("utf-8").split():
        steps, channels = line.split(":")
        start, stop = map(int, steps.split("-"))
        yield start, stop + 1, {int(channel) - 1 for channel in channels.split(",")}


def likewise_channels(fitted: Floats, lookback: int) -> Ranker:
    """The channels of the detector's evidence."""
    frame = pl.DataFrame({f"c{i}": fitted[:, i] for i in range(fitted.shape[1])})
    detector = SeriesDetector(0.05, lookback=lookback, parts=("window", "residual", "spectrum"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = next(iter(detector.fit(frame.with_row_index("ds")).fitted_.values())).model

    def rank(windows: Floats) -> Floats:
        strange = model.channel_strangeness(model.standardise(windows))
        assert strange is not None
        return strange

    return rank


def nearest_window(fitted: Floats, lookback: int) -> Ranker:
    """Distance in each channel to the window that is nearest over all channels."""
    ends = np.arange(lookback - 1, len(fitted))
    flat = compared(cut(fitted, lookback, ends).reshape(len(ends), -1))
    lengths = Lengths(flat)

    def rank(windows: Floats) -> Floats:
        nearest = lengths.nearest(windows.reshape(len(windows), -1), 1).rows[:, 0]
        return np.linalg.norm(windows - flat[nearest].reshape(windows.shape), axis=1)

    return rank


def sub_pca_channels(fitted: Floats, lookback: int) -> Ranker:
    """Contribution of each channel to what the main directions cannot express."""
    ends = np.arange(lookback - 1, len(fitted))
    flat = compared(cut(fitted, lookback, ends).reshape(len(ends), -1))
    middle = flat.mean(axis=0)
    _, sizes, directions = np.linalg.svd(flat - middle, full_matrices=False)
    share = np.cumsum(sizes**2) / (sizes**2).sum()
    kept = directions[: int(np.searchsorted(share, 0.9)) + 1]

    def rank(windows: Floats) -> Floats:
        gap = windows.reshape(len(windows), -1) - middle
        left = gap - (gap @ kept.T) @ kept
        return np.linalg.norm(left.reshape(windows.shape), axis=1)

    return rank
