"""Which channels an event is about: the ranking in the evidence, against what experts named.

asd and smd come with the channels of each event. Channels are ranked by their mean strangeness over
the windows that end in the event; of as many as the experts named, and of half as many again, it is
counted how many are theirs.

Source of the measure: Su et al. (2019), HitRate@P %.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from likewise.anomaly.distances import Lengths
from likewise.anomaly.window_joining import join_channels
from likewise.anomaly.window_parts import BY_CHANNEL
from likewise.anomaly.windows import cut, suggest_lookback

from benchmarks.anomaly_series import fitted_detector
from benchmarks.anomaly_series_data import Floats, LabelledSeries, series_sets
from benchmarks.anomaly_windows import (
    compared,
    flat_windows,
    left_over,
    main_directions,
    standardised,
)
from benchmarks.data import data_path

SHARES = (1.0, 1.5)
Ranker = Callable[[Floats], Floats]
"""Windows of the test part [N, L, C] -> strangeness of every channel, [N, C]."""


def bench_causes(families: Sequence[str]) -> None:
    """Hits among the first channels of each ranking, in the mean over events."""
    print(f"| family | events | first | {' | '.join(NAMES)} |")
    print(f"|---|---:|---|{'---:|' * len(NAMES)}")
    for family in families:
        hits = np.concatenate([hits_of(one) for one in series_sets(family)])
        for share, row in zip(SHARES, hits.mean(axis=0), strict=True):
            cells = " | ".join(f"{mean:.3f}" for mean in row)
            print(f"| {family} | {len(hits)} | {share:.0%} | {cells} |", flush=True)


def hits_of(one: LabelledSeries) -> Floats:
    """Hit rates of every event of a series, by share and ranking, [E, 2, 5]."""
    lookback = suggest_lookback(one.fitted)
    fitted, tested = standardised(one)
    rankers = [make(fitted, lookback) for make in RANKERS.values()]
    hits = []
    for start, stop, causes in events(one):
        ends = np.arange(max(start, lookback - 1), max(stop, lookback))
        windows = cut(tested, lookback, ends)
        orders = [np.argsort(-ranker(windows).mean(axis=0), kind="stable") for ranker in rankers]
        hits.append(
            [
                [
                    *(hit_rate(order, causes, share) for order in orders),
                    min(share * len(causes) / one.fitted.shape[1], 1.0),
                ]
                for share in SHARES
            ]
        )
    return np.array(hits)


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = fitted_detector(fitted, lookback, BY_CHANNEL)
    (one,) = detector.fitted_.values()

    def rank(windows: Floats) -> Floats:
        strange = join_channels(one.model.look(one.model.standardise(windows)))
        assert strange is not None
        return strange.T

    return rank


def nearest_window(fitted: Floats, lookback: int) -> Ranker:
    """Distance in each channel to the window that is nearest over all channels."""
    flat = compared(flat_windows(fitted, lookback))
    lengths = Lengths(flat)

    def rank(windows: Floats) -> Floats:
        nearest = lengths.nearest(windows.reshape(len(windows), -1), 1).rows[:, 0]
        return np.linalg.norm(windows - flat[nearest].reshape(windows.shape), axis=1)

    return rank


def sub_pca_channels(fitted: Floats, lookback: int) -> Ranker:
    """Contribution of each channel to what the main directions cannot express."""
    main = main_directions(compared(flat_windows(fitted, lookback)))

    def rank(windows: Floats) -> Floats:
        left = left_over(windows.reshape(len(windows), -1), *main)
        return np.linalg.norm(left.reshape(windows.shape), axis=1)

    return rank


def deviation(fitted: Floats, lookback: int) -> Ranker:
    """How far the last value is from the fitted mean, in standard deviations."""
    del fitted, lookback
    return lambda windows: np.abs(windows[:, -1])


RANKERS = {
    "likewise": likewise_channels, "nearest window": nearest_window, "Sub-PCA": sub_pca_channels,
    "deviation": deviation,
}  # fmt: skip
NAMES = (*RANKERS, "drawn at random")
