"""Speed of the index and the bundle beside the tools they are measured against.

One process, one thread, CPU time, the best of five interleaved rounds (so that a slow minute of
the machine hits every contestant). Prints a Markdown table.

    python benchmarks/index.py                 # up to 1e5 rows, a few minutes
    python benchmarks/index.py --rows 1000000  # also the largest exact search
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import torch  # noqa: E402, I001 - before faiss, and after the thread settings

import faiss  # noqa: E402
import numpy as np  # noqa: E402
from likewise.core import ExactIndex, HNSWIndex, load_bundle, save_bundle  # noqa: E402

SEED = 0
WIDTH = 64
QUERIES = 1000
ROUNDS = 5


class Row(NamedTuple):
    """One comparison: seconds of CPU, and the ratio the bar speaks of."""

    what: str
    ours: float
    theirs: float
    ratio: float
    bar: str
    note: str


def main() -> None:
    """Run every comparison and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="largest exact index")
    largest = parser.parse_args().rows
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    print(f"torch {torch.__version__}, faiss {faiss.__version__}, numpy {np.__version__}; ")
    print(f"seed {SEED}, width {WIDTH}, {QUERIES} queries, best of {ROUNDS}, 1 thread, CPU time\n")
    print("| what | ours, s | reference, s | ratio | bar | note |")
    print("|---|---:|---:|---:|---|---|")
    for row in chain(exact(largest), hnsw(), bundle()):
        print(
            f"| {row.what} | {row.ours:.3f} | {row.theirs:.3f} | {row.ratio:.2f} | {row.bar} "
            f"| {row.note} |",
            flush=True,
        )


def exact(largest: int) -> Iterator[Row]:
    """Exact search against faiss's flat index; the ratio is how many times faster we are."""
    queries = isotropic(QUERIES, SEED + 1)
    for rows in sorted({100_000, largest}):
        vectors = isotropic(rows, SEED)
        index = ExactIndex(vectors, fingerprint="benchmark")
        flat = faiss.IndexFlatIP(WIDTH)
        flat.add(vectors)
        for k in (10, 100):
            ours, theirs = interleaved(
                lambda: index.search(queries, k),  # noqa: B023 - called before k moves on
                lambda: flat.search(queries, k),  # noqa: B023
            )
            note = f"same ids: {agreement(index, flat, queries, k):.3%}"
            bar = ">= 2.5" if rows < 1_000_000 else ">= 5"
            what = f"exact search, {rows:,} rows, k={k}, against IndexFlatIP"
            yield Row(what, ours, theirs, theirs / ours, bar, note)


def hnsw() -> Iterator[Row]:
    """The gated index against the graph inside it; the ratio is raw time over ours."""
    vectors, queries, probes = (clustered(n, SEED + s) for s, n in enumerate((100_000, 1000, 200)))
    start = time.process_time()
    index = HNSWIndex(vectors, fingerprint="benchmark", probes=probes)
    build = time.process_time() - start
    raw = index._graph._engine
    unit = index._exact.admit(queries, None)
    for k in (10, 100):
        settings = faiss.SearchParametersHNSW(efSearch=max(index.ef * k // 10, k))
        ours, theirs = interleaved(
            lambda: index.search(queries, k),  # noqa: B023
            lambda: raw.search(unit, k, params=settings),  # noqa: B023
        )
        note = f"ef {settings.efSearch}"
        what = f"HNSW search, 100,000 clustered rows, k={k}, against raw faiss"
        yield Row(what, ours, theirs, theirs / ours, ">= 0.95", note)
    report = index.gate_
    note = f"ef {report.ef}, recall {report.recall:.4f}, {report.speedup:.1f} x exact"
    share = report.seconds / build
    yield Row("recall gate, share of the build", report.seconds, build, share, "<= 0.2", note)


def bundle() -> Iterator[Row]:
    """Loading a bundle of 256 MB against reading its bytes; the ratio is ours over theirs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bundle"
        tensors = {"vectors": isotropic(1_000_000, SEED)}
        save_bundle(path, kind="benchmark", config={}, tensors=tensors, fingerprint="benchmark")
        del tensors
        files = [file for file in path.rglob("*") if file.is_file()]

        def read() -> None:
            for file in files:
                file.read_bytes()

        def check() -> None:
            for file in files:
                hashlib.sha256(file.read_bytes()).digest()

        ours, plain, hashed = interleaved(lambda: load_bundle(path, kind="benchmark"), read, check)
        what = "bundle load, 256 MB, against reading"
        yield Row(f"{what} and hashing its bytes", ours, hashed, ours / hashed, "<= 1.5", "SHA-256")
        yield Row(f"{what} its bytes only", ours, plain, ours / plain, "<= 1.5", "page cache")


def interleaved(*contestants: Callable[[], Any]) -> list[float]:
    """Give each one's best CPU time of several rounds in which all take turns."""
    best = [float("inf")] * len(contestants)
    for _ in range(ROUNDS):
        for place, run in enumerate(contestants):
            start = time.process_time()
            run()
            best[place] = min(best[place], time.process_time() - start)
    return best


def agreement(index: ExactIndex, flat: Any, queries: np.ndarray, k: int) -> float:
    """Share of queries' neighbours that are the same, up to ties within 1e-6."""
    ids, similarity = index.search(queries, k).as_matrix()
    theirs, places = flat.search(queries, k)
    return float(np.mean((ids == places) | (np.abs(similarity - theirs) < 1e-6)))


def isotropic(rows: int, seed: int) -> np.ndarray:
    """Unit vectors, evenly spread."""
    vectors = np.random.default_rng(seed).standard_normal((rows, WIDTH), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def clustered(rows: int, seed: int) -> np.ndarray:
    """Vectors around 500 centres that are the same for every seed."""
    centres = np.random.default_rng(99).standard_normal((500, WIDTH))
    rng = np.random.default_rng(seed)
    noise = 0.5 * rng.standard_normal((rows, WIDTH))
    return (centres[rng.integers(0, 500, rows)] + noise).astype(np.float32)


if __name__ == "__main__":
    main()
