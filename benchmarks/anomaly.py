"""Anomaly: accuracy, thresholds and speed beside peers, as markdown.

    python -m benchmarks.anomaly rows --seeds 0 1 2 3 4 --cap 5000 --keep rows.jsonl
    python -m benchmarks.anomaly thresholds --splits 100 --cap 600
    python -m benchmarks.anomaly append --cap 600
    python -m benchmarks.anomaly contamination --seeds 0 1 2 --cap 800
    python -m benchmarks.anomaly series --most 8 --keep series.jsonl
    python -m benchmarks.anomaly outside --most 8 --families skab asd
    python -m benchmarks.anomaly causes --families asd smd
    python -m benchmarks.anomaly profiles --most 1
    python -m benchmarks.anomaly speed

Each part is a module beside this one; a long one keeps what it measured in the ``--keep`` file and
goes on from there. Every table names its command, its seeds and the SHA-256 of what was read.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.anomaly_causes import bench_causes
from benchmarks.anomaly_contamination import bench_contamination
from benchmarks.anomaly_data import folders_hash
from benchmarks.anomaly_kept import Kept
from benchmarks.anomaly_outside import bench_outside
from benchmarks.anomaly_profile import bench_profiles
from benchmarks.anomaly_rows import SCORERS as ROW_SCORERS
from benchmarks.anomaly_rows import bench_rows
from benchmarks.anomaly_series import SCORERS as SERIES_SCORERS
from benchmarks.anomaly_series import bench_series, choose
from benchmarks.anomaly_series_data import FAMILIES
from benchmarks.anomaly_speed import bench_speed
from benchmarks.anomaly_thresholds import bench_append, bench_thresholds

PARTS = (
    "rows", "thresholds", "append", "contamination", "series", "outside", "causes", "profiles",
    "speed",
)  # fmt: skip


def main() -> None:
    """Run one part and print it."""
    chosen = read_arguments()
    kept = Kept(chosen.keep)
    print(f"`python -m benchmarks.anomaly {' '.join(sys.argv[1:])}`", end="")
    families = chosen.families
    on_series = dict.fromkeys(("series", "outside", "causes", "profiles"), families)
    folders = {"speed": [], **on_series}.get(chosen.part, ["adbench"])
    print(f", data {folders_hash(folders)}\n" if folders else "\n", flush=True)
    if chosen.part == "rows":
        bench_rows(chosen.seeds, chosen.cap, kept, chosen.scorers or list(ROW_SCORERS))
    elif chosen.part == "thresholds":
        bench_thresholds(chosen.splits, chosen.cap)
    elif chosen.part == "append":
        bench_append(chosen.cap)
    elif chosen.part == "contamination":
        bench_contamination(chosen.seeds, chosen.cap)
    elif chosen.part == "series":
        scorers = chosen.scorers or list(SERIES_SCORERS)
        bench_series(chosen.most, families, kept, scorers)
    elif chosen.part == "outside":
        bench_outside(chosen.most, families)
    elif chosen.part == "causes":
        bench_causes(families)
    elif chosen.part == "profiles":
        bench_profiles(choose(chosen.most, families))
    else:
        bench_speed()


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--cap", type=int, default=20_000, help="rows of a half")
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--most", type=int, default=1_000, help="series of a family")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--scorers", nargs="+", help="some of the scorers, by name")
    parser.add_argument("--keep", type=Path, help="file of measurements to go on from")
    return parser.parse_args()


if __name__ == "__main__":
    main()
