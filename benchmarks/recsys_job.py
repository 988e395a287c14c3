"""The job at size: memory as the users grow, and the time that Parquet adds to scoring.

Events are made from a seed, so that a million users by a hundred thousand items fit on a disk
anywhere: each user takes twenty items, most of them of one of five hundred tastes. The generator
is a tower that learned from a part of the users; the job answers all of them from the file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from likewise.recsys import CandidateGenerator, TowerSettings

from benchmarks.recsys_judging import SEED

EVENTS, TASTES, LOYALTY = 20, 500, 0.7
CHUNK = 50_000
"""Users made, and written, at a time."""
USERS_A_SHARD = 2_500
LEARNED_FROM = 50_000
COLUMNS = (
    "users",
    "shards",
    "candidates",
    "filled",
    "MiB when loaded",
    "MiB at the peak",
    "MiB written",
    "seconds",
    "CPU seconds",
)

_RUN = """
import json, os, sys, time
from likewise.recsys import CandidateGenerator, JobSettings, run_job

def peak():
    # Not ru_maxrss, which a process inherits from the one that started it.
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))

bundle, out, events, shards, k = sys.argv[1:]
generator = CandidateGenerator.load(bundle)
loaded = peak()
wall, cpu = time.perf_counter(), time.process_time()
cut = JobSettings(k=int(k), shards=int(shards))
done = run_job(generator, out, histories=events, settings=cut)
files = [os.path.join(at, name) for at, _, names in os.walk(out) for name in names]
print(json.dumps({
    "users": done.users, "candidates": done.candidates, "fill": done.fill_rate,
    "loaded": loaded, "peak": peak(),
    "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu,
    "mib": sum(map(os.path.getsize, files)) // 2**20,
}))
"""


def job(sizes: list[int], items: int, width: int, k: int) -> None:
    """Peak memory and time of the job, each size in a process of its own.

    Args:
        sizes: Users of each row.
        items: Of the catalogue.
        width: Of the tower.
        k: Candidates a user.
    """
    print(f"{items} items, {EVENTS} events a user, width {width}, {k} candidates a user\n")
    print(
        "| users | shards | candidates | filled | MiB loaded | MiB at peak | MiB out | s | CPU s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        bundle = home / "bundle"
        fit_tower(home / "learned.parquet", items, width).save(bundle)
        for users in sizes:
            events = home / f"{users}.parquet"
            write_events(events, users, items)
            shards = max(1, users // USERS_A_SHARD)
            words = (bundle, home / f"out-{users}", events, shards, k)
            told = subprocess.run(
                [sys.executable, "-c", _RUN, *map(str, words)],
                check=True,
                capture_output=True,
                text=True,
            )
            row = json.loads(told.stdout)
            print(
                f"| {row['users']} | {shards} | {row['candidates']} | {row['fill']:.3f} | "
                f"{row['loaded']} | {row['peak']} | {row['mib']} | {row['wall']:.0f} | "
                f"{row['cpu']:.0f} |",
                flush=True,
            )


def fit_tower(events: Path, items: int, width: int) -> CandidateGenerator:
    """Let a tower learn from some of the users, for one epoch."""
    write_events(events, LEARNED_FROM, items)
    tower = TowerSettings(width=width, epochs=1)
    return CandidateGenerator(
        seed=SEED, tower=tower, cooccurrence=None, spectral=None, linear=None
    ).fit(events)


def write_events(path: Path, users: int, items: int) -> None:
    """Write events to Parquet, a chunk of users at a time; fewer users are the first of more."""
    writer: pq.ParquetWriter | None = None
    for table in make_events(users, items):
        arrow = table.to_arrow()
        writer = writer or pq.ParquetWriter(path, arrow.schema)
        writer.write_table(arrow)
    if writer is not None:
        writer.close()


def make_events(users: int, items: int) -> Iterator[pl.DataFrame]:
    """Make ``user_id, item_id``, one table a chunk of users.

    Popular items are taken more often, within a taste and in the whole catalogue.
    """
    for number, start in enumerate(range(0, users, CHUNK)):
        generator = np.random.default_rng([SEED, number])
        count = min(CHUNK, users - start)
        everywhere = (items * generator.random((CHUNK, EVENTS)) ** 2).astype(np.int64)
        taste = generator.integers(TASTES, size=(CHUNK, 1))
        within = TASTES * (everywhere // TASTES) + taste
        loyal = generator.random((CHUNK, EVENTS)) < LOYALTY
        chosen = np.minimum(np.where(loyal, within, everywhere), items - 1)
        ids = np.repeat(np.arange(start, start + count), EVENTS)
        yield pl.DataFrame({"user_id": ids, "item_id": chosen[:count].ravel()})
