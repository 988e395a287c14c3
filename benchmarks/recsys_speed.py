"""Speed of candidates beside implicit's: same width, same users, seen items out, one thread.

CPU seconds, the contenders taking turns, the best round of each. Implicit gives arrays of rows; we
give a table with ids, ranks and sources.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from implicit.als import AlternatingLeastSquares
from implicit.ann.faiss import FaissModel
from likewise.core import ExactIndex, HNSWIndex
from likewise.recsys import CandidateGenerator, JobSettings, TowerSettings, run_job

from benchmarks.recsys_data import read_gowalla
from benchmarks.recsys_judging import SEED
from benchmarks.timing import take_turns

ROUNDS = 5
USERS, ASKED, FEW = 8_000, 4_096, 512
WIDTH, K = 128, 100


def speed() -> None:
    """Print every row of the speed bars that concern answering."""
    torch.set_num_threads(1)
    train, _ = read_gowalla()
    part = train.filter(pl.col("user_id") < USERS)
    tower = replace(TowerSettings(), width=WIDTH, epochs=1)
    model = CandidateGenerator(
        seed=SEED, tower=tower, cooccurrence=None, spectral=None, linear=None
    ).fit(part)
    users = model.interactions_.users.ids.head(ASKED)
    compare_scoring(model, users)
    compare_graph(model, users)
    compare_job(model)


def compare_scoring(model: CandidateGenerator, users: pl.Series) -> None:
    """Exact candidates beside implicit's exact ones, and beside its model over FAISS."""
    known = model.interactions_
    rows, matrix = known.users.known_rows(users), known.matrix
    als = AlternatingLeastSquares(WIDTH, iterations=1, num_threads=1, random_state=SEED)
    als.fit(matrix, show_progress=False)
    over_faiss = FaissModel(als, use_gpu=False)
    over_faiss.fit(matrix, show_progress=False)
    few = rows[:FEW]
    seconds = take_turns(
        {
            "implicit ALS recommend": lambda: als.recommend(rows, matrix[rows], N=K),
            "likewise recommend": lambda: model.recommend(users, K),
            "implicit FaissModel recommend": lambda: over_faiss.recommend(few, matrix[few], N=K),
        },
        ROUNDS,
    )
    speeds = {
        name: (FEW if "Faiss" in name else len(rows)) / taken for name, taken in seconds.items()
    }
    base = speeds["implicit ALS recommend"]
    print(f"{known}\n\n| | users a CPU second | times implicit ALS |\n|---|---|---|")
    for name, value in speeds.items():
        print(f"| {name} | {value:.0f} | {value / base:.2f} |")
    ratio = speeds["likewise recommend"] / speeds["implicit FaissModel recommend"]
    found, _ = over_faiss.recommend(few, matrix[few], N=K)
    truth, _ = als.recommend(few, matrix[few], N=K)
    print(f"\nexact, beside implicit's FaissModel with filters: {ratio:.1f} x")
    print(f"FaissModel's share of its own exact answer: {share_kept(found, truth):.3f}")


def compare_graph(model: CandidateGenerator, users: pl.Series) -> None:
    """The graph index beside the exact one, with seen items filtered."""
    tower: Any = model.sources_["tower"]
    histories = model.histories_of(users.head(FEW))
    queries, vectors = tower.encode(histories), tower.item_vectors
    eligible = np.ones((len(queries), histories.width), dtype=bool)
    eligible[histories.owners, histories.items] = False
    exact = ExactIndex(vectors, fingerprint=model.fingerprint)
    probes = tower.encode(model.histories_of(users.tail(FEW)))
    graph = HNSWIndex(vectors, fingerprint=model.fingerprint, probes=probes)
    truth = exact.search(queries, K, eligible=eligible).as_matrix()[0]
    found = graph.search(queries, K, eligible=eligible).as_matrix()[0]
    seconds = take_turns(
        {
            "exact": lambda: exact.search(queries, K, eligible=eligible),
            "graph": lambda: graph.search(queries, K, eligible=eligible),
        },
        ROUNDS,
    )
    print(
        f"\ngraph index: share of the exact answer after filters {share_kept(found, truth):.4f}, "
        f"{seconds['exact'] / seconds['graph']:.2f} x its speed"
    )


def compare_job(model: CandidateGenerator) -> None:
    """The job to Parquet beside scoring the same users in memory."""

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            run_job(model, Path(folder) / "job", settings=JobSettings(k=K, shards=8))

    seconds = take_turns({"scoring": lambda: model.answer(k=K), "job": work}, ROUNDS)
    users = len(model.interactions_.users)
    ratio = seconds["scoring"] / seconds["job"]
    print(f"\njob with Parquet, {users} users: {ratio:.2f} x pure scoring")


def share_kept(found: np.ndarray, truth: np.ndarray) -> float:
    """Mean share of each true list that was found."""
    pairs = zip(found, truth, strict=True)
    return float(np.mean([len(np.intersect1d(one, other)) / len(other) for one, other in pairs]))
