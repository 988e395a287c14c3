"""Recommendation, measured: accuracy and speed beside implicit and EASE, as markdown.

    python -m benchmarks.recsys gowalla gowalla_tail gowalla_baselines
    python -m benchmarks.recsys beauty toys --epochs 4
    python -m benchmarks.recsys retail --epochs 5
    python -m benchmarks.recsys cold --epochs 4
    python -m benchmarks.recsys logq --epochs 3
    python -m benchmarks.recsys speed training
    python -m benchmarks.recsys job --users 100000 1000000 --items 100000

Each part is a function of a module beside this one. Every table names its command, its seed and
the SHA-256 of what was read; ``LIKEWISE_DATA`` names another folder of data.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import torch
from likewise.recsys import TowerSettings

from benchmarks import recsys_accuracy as accuracy
from benchmarks.recsys_cold import cold
from benchmarks.recsys_job import job
from benchmarks.recsys_judging import SEED
from benchmarks.recsys_speed import speed
from benchmarks.recsys_training import training

ACCURACY: dict[str, Callable[[int], None]] = {
    "gowalla": accuracy.gowalla,
    "gowalla_tail": accuracy.gowalla_tail,
    "gowalla_baselines": accuracy.gowalla_baselines,
    "beauty": accuracy.beauty,
    "toys": accuracy.toys,
    "retail": accuracy.retail,
    "logq": accuracy.logq,
    "cold": cold,
}
PARTS = (*ACCURACY, "speed", "training", "job")


def main() -> None:
    """Run the parts asked for, one after the other, and print them."""
    asked = read_arguments()
    for name in asked.parts:
        started = time.perf_counter()
        print(f"\n## {name}\n\n`python -m benchmarks.recsys {' '.join(sys.argv[1:])}`", end="")
        print(f", seed {SEED}, {torch.get_num_threads()} threads\n", flush=True)
        if name == "speed":
            speed()
        elif name == "training":
            training()
        elif name == "job":
            job(asked.users, asked.items, asked.width, asked.k)
        else:
            ACCURACY[name](asked.epochs)
        print(f"\nwhole part: {time.perf_counter() - started:.0f} s")


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--epochs", type=int, default=TowerSettings().epochs)
    parser.add_argument("--users", type=int, nargs="+", default=[100_000, 1_000_000], help="job")
    parser.add_argument("--items", type=int, default=100_000, help="of the job's catalogue")
    parser.add_argument("--width", type=int, default=64, help="of the job's tower")
    parser.add_argument("--k", type=int, default=100, help="candidates a user of the job")
    return parser.parse_args()


if __name__ == "__main__":
    main()
