"""The matrix profile of a tested part against the fitted one: our own join beside stumpy's.

An AB join answers, for every stretch tested, how far the nearest z-normalised stretch fitted is. Of
several channels the mean is taken. ``stumpy`` is compared with where it is installed
(``pip install stumpy``).
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

import numpy as np
from likewise.anomaly.distances import Lengths
from likewise.anomaly.windows import suggest_lookback
from sklearn.metrics import average_precision_score

from benchmarks.anomaly_data import Floats
from benchmarks.anomaly_series_data import LabelledSeries
from benchmarks.anomaly_windows import flat_windows, spread_back, standardised
from benchmarks.timing import take_turns

ROUNDS = 3


def own_profile(fitted: Floats, tested: Floats, lookback: int) -> Floats:
    """Distances of tested stretches [T - L + 1] to the nearest fitted one, as neighbours.

    Two constant stretches are 0 apart and a constant one is sqrt(L) from any other, as stumpy has
    it.
    """
    profiles = []
    for channel in varying(fitted):
        theirs, judged = (
            _normalised(flat_windows(values[:, channel : channel + 1], lookback))
            for values in (fitted, tested)
        )
        profiles.append(Lengths(theirs).nearest(judged, 1).distances[:, 0])
    return np.mean(profiles, axis=0)


def stumpy_profile(fitted: Floats, tested: Floats, lookback: int) -> Floats:
    """The same by ``stumpy.stump``."""
    import stumpy  # noqa: PLC0415 - not a dependency

    profiles = [
        stumpy.stump(
            np.ascontiguousarray(tested[:, channel]),
            lookback,
            np.ascontiguousarray(fitted[:, channel]),
            ignore_trivial=False,
        )[:, 0].astype(float)
        for channel in varying(fitted)
    ]
    return np.mean(profiles, axis=0)


def bench_profiles(series: Iterable[LabelledSeries]) -> None:
    """Print how far the two are apart and what they cost, a row a series."""
    if find_spec("stumpy") is None:
        print("stumpy is not installed.")
        return
    noise = np.random.default_rng(0).normal(size=(200, 1))
    stumpy_profile(noise, noise, 16)  # it compiles at the first call
    print("| series | steps x channels | furthest apart | AUC-PR | stumpy | CPU over stumpy's |")
    print("|---|---|---:|---:|---:|---:|")
    for one in series:
        print(compare(one), flush=True)


def compare(one: LabelledSeries) -> str:
    """One row: the two profiles of a series."""
    lookback = suggest_lookback(one.fitted)
    fitted, tested = standardised(one)
    found = {
        name: profile(fitted, tested, lookback)
        for name, profile in (("ours", own_profile), ("stumpy", stumpy_profile))
    }
    seconds = take_turns(
        {
            "ours": lambda: own_profile(fitted, tested, lookback),
            "stumpy": lambda: stumpy_profile(fitted, tested, lookback),
        },
        ROUNDS,
    )
    precision = {
        name: average_precision_score(one.labels, spread_back(scores, lookback))
        for name, scores in found.items()
    }
    apart = np.abs(found["ours"] - found["stumpy"]).max()
    return (
        f"| {one.family} {one.name} | {len(fitted):,} and {len(tested):,} x {fitted.shape[1]} "
        f"| {apart:.0e} | {precision['ours']:.4f} | {precision['stumpy']:.4f} "
        f"| {seconds['ours'] / seconds['stumpy']:.2f} |"
    )


def varying(fitted: Floats) -> list[int]:
    """Channels that are not constant."""
    return [number for number, spread in enumerate(fitted.std(axis=0)) if spread >= 1e-12]


def _normalised(windows: Floats) -> Floats:
    centred = windows - windows.mean(axis=1, keepdims=True)
    deviation = centred.std(axis=1, keepdims=True)
    return np.where(deviation > 1e-9, centred / np.maximum(deviation, 1e-9), 0.0)
