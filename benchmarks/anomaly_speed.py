"""How fast rows are scored, kept and fitted: ratios to peers on the same rows, in one run.

CPU seconds of one thread, the contenders of a comparison taking turns, the best of five rounds.
Rows are made from seed 0; what a coreset costs is accuracy, so it is judged on shared sets.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from likewise.anomaly import NeighbourDetector
from likewise.anomaly.distances import Lengths
from pyod.models.knn import KNN
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from benchmarks.anomaly_data import Floats, adbench, split
from benchmarks.timing import take_turns

ROUNDS = 5
REFERENCE, QUERIES, NEIGHBOURS = 20_000, 4_000, 5
THINNED = ("satellite", "landsat", "mnist", "pendigits", "cover", "skin", "http", "ALOI")
"""Sets with so many normal rows that a tenth of a half is a reference worth the name."""
DRAWS = (0, 1, 2, 3, 4)


def bench_speed() -> None:
    """Print every row of the speed bars."""
    torch.set_num_threads(1)
    print("| what | beside | d | ratio |\n|---|---|---:|---:|")
    for width in (16, 32, 64, 128):
        compare_scoring(width)
    compare_upkeep()
    print(f"\nExtra memory, 100,000 x 64 reference and 10,000 queries: {extra_memory():.0f} MB.")
    compare_coresets()
    time_fits()


def compare_scoring(width: int) -> None:
    """Distances to the k nearest rows, beside scikit-learn and PyOD."""
    rows, queries = normal(REFERENCE, width, 0), normal(QUERIES, width, 1)
    own = Lengths(rows)
    brute = NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="brute").fit(rows)
    tree = NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="ball_tree").fit(rows)
    peer = KNN(n_neighbors=NEIGHBOURS, method="mean").fit(rows[:100])
    peer.neigh_.fit(rows)
    peer.tree_ = None
    plain = NeighbourDetector(0.05, learned=False).fit(rows)
    seconds = take_turns(
        {
            "ours": lambda: own.nearest(queries, NEIGHBOURS),
            "brute": lambda: brute.kneighbors(queries),
            "detector": lambda: plain.decision_function(queries),
        },
        ROUNDS,
    )
    # A tree is slow here by an order of magnitude, so a part of the queries stands for all.
    part = queries[: QUERIES // 20]
    slow = take_turns(
        {
            "tree": lambda: tree.kneighbors(part),
            "pyod": lambda: peer.neigh_.kneighbors(part),
        },
        rounds=2,
    )
    for name, beside, ratio in (
        ("exact neighbours", "scikit-learn brute", seconds["ours"] / seconds["brute"]),
        ("detector without a learned part", "scikit-learn brute",
         seconds["detector"] / seconds["brute"]),
        ("ball tree", "exact neighbours", 20 * slow["tree"] / seconds["ours"]),
        ("PyOD KNN", "exact neighbours", 20 * slow["pyod"] / seconds["ours"]),
    ):  # fmt: skip
        print(f"| {name} | {beside} | {width} | {ratio:.2f} |", flush=True)


def compare_upkeep() -> None:
    """Appending 1 % beside fitting again, and a tenth of the rows beside all of them."""
    rows, later, queries = normal(10_000, 32, 0), normal(100, 32, 2), normal(2_000, 32, 1)
    started = time.process_time()
    detector = NeighbourDetector(0.01).fit(rows)
    fitting = time.process_time() - started
    many = normal(REFERENCE, 32, 0)
    whole = NeighbourDetector(0.01, learned=False).fit(many)
    thin = NeighbourDetector(0.01, learned=False).fit(many).thin(REFERENCE // 10)
    learned_thin = NeighbourDetector(0.01).fit(rows).thin(len(rows) // 10)
    seconds = take_turns(
        {
            "append": lambda: detector.append(later).undo(),
            "recalibrate": detector.recalibrate,
            "whole": lambda: whole.decision_function(queries),
            "thin": lambda: thin.decision_function(queries),
            "learned": lambda: detector.decision_function(queries),
            "learned thin": lambda: learned_thin.decision_function(queries),
        },
        ROUNDS,
    )
    for name, beside, ratio in (
        ("append of 1 %", "fit", seconds["append"] / fitting),
        ("append of 1 % and recalibrate", "fit",
         (seconds["append"] + seconds["recalibrate"]) / fitting),
        ("20,000 rows, plain", "10 % coreset", seconds["whole"] / seconds["thin"]),
        ("10,000 rows, learned", "10 % coreset", seconds["learned"] / seconds["learned thin"]),
    ):  # fmt: skip
        print(f"| {name} | {beside} | 32 | {ratio:.3f} |", flush=True)


def compare_coresets() -> None:
    """What keeping a tenth of the rows costs in AUROC, in the mean over draws of the coreset."""
    print("\n| set | all rows | 10 % coreset |\n|---|---:|---:|")
    losses = []
    for name, values, labels in adbench():
        if name not in THINNED:
            continue
        drawn = split(values, labels, 0, 5_000)
        whole, thin = [], []
        for seed in DRAWS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                detector = NeighbourDetector(0.05, learned=False, seed=seed).fit(drawn.fitted)
                whole.append(auroc(detector, drawn.tested, drawn.labels))
                detector.thin(len(drawn.fitted) // 10)
                thin.append(auroc(detector, drawn.tested, drawn.labels))
        losses.append(np.mean(whole) - np.mean(thin))
        print(f"| {name} | {np.mean(whole):.1f} | {np.mean(thin):.1f} |", flush=True)
    print(f"\nMean loss {np.mean(losses):+.2f}, largest {np.max(losses):+.2f} AUROC points.")


def time_fits() -> None:
    """Wall time of a whole fit on 20,000 rows, learned part included."""
    print("\n| fit of 20,000 rows | wall s |\n|---|---:|")
    for width in (3, 32, 100):
        started = time.perf_counter()
        NeighbourDetector(0.01).fit(normal(20_000, width, 0))
        print(f"| d = {width} | {time.perf_counter() - started:.0f} |", flush=True)


def extra_memory() -> float:
    """Growth of a fresh process by a search, in megabytes, beyond rows and queries themselves."""
    code = "from benchmarks.anomaly_speed import search_once; search_once()"
    told = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    return float(told)


def search_once() -> None:
    """Print by how many megabytes the process grows while a reference is made and searched."""
    torch.set_num_threads(1)
    rows, queries = normal(100_000, 64, 0), normal(10_000, 64, 1)
    Lengths(rows[:2_000]).nearest(queries[:500], NEIGHBOURS)
    before = peak_memory()
    Lengths(rows).nearest(queries, NEIGHBOURS)
    print(peak_memory() - before)


def peak_memory() -> float:
    """Most memory this process has held, in megabytes; unlike ru_maxrss, its parent's is not in."""
    told = Path("/proc/self/status").read_text("utf-8")
    return float(told.split("VmHWM:")[1].split()[0]) / 1024


def normal(count: int, width: int, seed: int) -> Floats:
    """Normal rows."""
    return np.random.default_rng(seed).normal(size=(count, width))


def auroc(detector: NeighbourDetector, rows: Floats, labels: np.ndarray) -> float:
    """AUROC in percent."""
    return 100 * float(roc_auc_score(labels, detector.decision_function(rows)))
