"""Do thresholds hold: realised against nominal false alarms, and what appending mends.

Random splits say whether the rate holds where nothing changed; file order is the drift test, where
later rows may be of another mode. The plain distance is used: the claim is about thresholds.
"""

from __future__ import annotations

import warnings

import numpy as np
from likewise.anomaly import NeighbourDetector
from likewise.anomaly.drift import is_invalid
from likewise.anomaly.evaluation import realised_rate

from benchmarks.anomaly_data import Floats, adbench

RATES = (0.01, 0.05)


def bench_thresholds(splits: int, cap: int) -> None:
    """Realised against nominal false alarms on random splits and in file order."""
    print("| set | n | a | inside the interval | mean realised | file order realised | fires |")
    print("|---|---:|---:|---:|---:|---:|---|")
    inside: dict[float, list[float]] = {rate: [] for rate in RATES}
    right = []
    for name, rows, labels in adbench():
        normal = rows[labels == 0]
        for rate in RATES:
            if len(normal) // 2 < 1 / rate:
                continue
            held = [_random_split(normal, rate, seed, cap) for seed in range(splits)]
            holds, realised = np.mean(held, axis=0)
            inside[rate].append(float(holds))
            detector, later = _in_order(normal, rate, cap)
            in_order = _alerting(detector, later)
            fires = is_invalid(detector.calibration_, detector.decision_function(later))
            right.append(fires == (in_order > 2 * rate))
            print(
                f"| {name} | {len(normal) // 2} | {rate} | {holds:.0%} | {realised:.4f} | "
                f"{in_order:.4f} | {'yes' if fires else 'no'} |",
                flush=True,
            )
    for rate, shares in inside.items():
        print(f"\na = {rate}: {np.mean(shares):.1%} of {splits} splits over {len(shares)} sets.")
    print(f"\nDrift check right (fires above 2a, quiet below) on {np.mean(right):.0%} of cases.")


def bench_append(cap: int) -> None:
    """File order: what appending half of the later normal rows does for the other half."""
    rate, mended = 0.05, []
    print("| set | realised before | after appending half and recalibrating |\n|---|---:|---:|")
    for name, rows, labels in adbench():
        normal = rows[labels == 0]
        if min(len(normal) // 2, cap) < 60:
            continue
        detector, later = _in_order(normal, rate, cap)
        order = np.random.default_rng(0).permutation(len(later))
        added, kept = later[order[: len(later) // 2]], later[order[len(later) // 2 :]]
        before = _alerting(detector, kept)
        if before <= 2 * rate:
            continue
        detector.append(added).recalibrate()
        after = _alerting(detector, kept)
        mended.append(after <= 2 * rate)
        print(f"| {name} | {before:.3f} | {after:.3f} |", flush=True)
    print(f"\nBack under 2a on {sum(mended)} of {len(mended)} sets that had left it.")


def _random_split(normal: Floats, rate: float, seed: int, cap: int) -> tuple[bool, float]:
    order = np.random.default_rng(seed).permutation(len(normal))[: 2 * cap]
    half = len(order) // 2
    detector = _fitted(normal[order[:half]], rate)
    fresh = detector.decision_function(normal[order[half:]])
    realised = realised_rate(detector.calibration_, fresh)
    return realised.holds, realised.realised


def _in_order(normal: Floats, rate: float, cap: int) -> tuple[NeighbourDetector, Floats]:
    half = min(len(normal) // 2, cap)
    return _fitted(normal[:half], rate), normal[half : 2 * half]


def _fitted(normal: Floats, rate: float) -> NeighbourDetector:
    with warnings.catch_warnings():
        # Sets that are mostly twins have a threshold of 0 and say so at every split.
        warnings.simplefilter("ignore")
        return NeighbourDetector(rate, learned=False).fit(normal)


def _alerting(detector: NeighbourDetector, rows: Floats) -> float:
    return float(detector.calibration_.alerts(detector.decision_function(rows)).mean())
