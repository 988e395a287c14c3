"""Recommendation, measured: accuracy and speed beside implicit and EASE, in one run.

``python benchmarks/recsys.py --data ../shared/data gowalla s3rec retail cold logq speed memory``
prints one markdown section for each name, with command, seed, data hash and wall time. Settings
were chosen on parts cut out of the training data (``choose_settings``); the test part is looked at
once, here.
"""

from __future__ import annotations

import argparse
import datetime as dt
import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from implicit.als import AlternatingLeastSquares
from implicit.ann.faiss import FaissModel
from likewise.core import ExactIndex, HNSWIndex
from likewise.recsys import (
    CandidateGenerator,
    CooccurrenceSettings,
    Evaluation,
    ImplicitModel,
    Interactions,
    SpectralSettings,
    TowerSettings,
    choose_settings,
    evaluate,
    leave_one_out,
    run_job,
    split_by_time,
    usual_baselines,
)
from likewise.recsys.content import ContentEncoder
from likewise.recsys.job import JobSettings

SEED = 0
_FEW = 256
MEASURES = (
    "recall",
    "ndcg",
    "recall_head",
    "recall_torso",
    "recall_tail",
    "coverage",
    "gini",
    "bestseller_overlap",
)


def main() -> None:
    """Print the sections asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="+", choices=sorted(SECTIONS))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--epochs", type=int, default=TowerSettings().epochs)
    asked = parser.parse_args()
    for name in asked.sections:
        started = time.perf_counter()
        print(f"\n## {name}\n")
        print(f"`python {' '.join(sys.argv)}`, seed {SEED}, {torch.get_num_threads()} threads\n")
        SECTIONS[name](asked.data, asked.epochs)
        print(f"\nwhole section: {time.perf_counter() - started:.0f} s")


# --- accuracy ------------------------------------------------------------------------------------


def gowalla(data: Path, epochs: int) -> None:
    """LightGCN's split, full ranking, by the settings that a random part held back favours."""
    judge_gowalla(data, epochs, CooccurrenceSettings(), spectral=0.4)


def gowalla_tail(data: Path, epochs: int) -> None:
    """The same with a candidate exponent that brings the tail forward."""
    links = CooccurrenceSettings(user_exponent=0.7, history_exponent=0.6, candidate_exponent=0.5)
    judge_gowalla(data, epochs, links, spectral=0.55)


def gowalla_baselines(data: Path, epochs: int) -> None:
    """The baselines on the same split."""
    del epochs
    train, test = read_gowalla(data)
    tell(judge_baselines(train, test, (20, 100)), (20, 100))


def judge_gowalla(data: Path, epochs: int, links: CooccurrenceSettings, *, spectral: float) -> None:
    """Judge the union, its closed forms and each source alone."""
    train, test = read_gowalla(data)
    model = CandidateGenerator(
        seed=SEED,
        tower=replace(TowerSettings(), epochs=epochs),
        cooccurrence=links,
        spectral=SpectralSettings(),
        linear=None,
        weights={"cooccurrence": 1.0, "spectral": spectral, "tower": 0.3},
    )
    ks = (20, 100)
    judged = judge_generator("likewise union", model, train, test, ks)
    whole = dict(model.settings.weights)
    set_weights(model, **{name: weight for name, weight in whole.items() if name != "tower"})
    judged |= judge_fitted("likewise closed forms", model, train, test, ks)
    set_weights(model, **whole)
    for source in whole:
        judged |= judge_source(f"likewise {source}", model, source, train, test, ks)
    tell(judged, ks)
    for k in ks:
        bounds = judged["likewise union"][0][k].interval("recall")
        print(f"\nunion, recall@{k}: {bounds.mean:.4f} [{bounds.low:.4f}, {bounds.high:.4f}]")


def read_gowalla(data: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read LightGCN's split and tell its hashes."""
    paths = [data / "gowalla-lightgcn" / f"{part}.txt.gz" for part in ("train", "test")]
    tell_hash(*paths)
    train, test = (read_lists(path) for path in paths)
    return train, test


def s3rec(data: Path, epochs: int) -> None:
    """Beauty and Toys, the last item of each user to be found among all items."""
    for name in ("Beauty", "Toys_and_Games"):
        path = data / "s3rec" / f"{name}.txt.gz"
        print(f"\n### {name}\n")
        tell_hash(path)
        split = leave_one_out(read_lists(path))
        order = TowerSettings(
            kind="sequence", width=64, epochs=2 * epochs, batch_size=256, learning_rate=2e-3
        )
        bag = replace(TowerSettings(), epochs=epochs, width=64)
        judged = judge_baselines(split.train, split.test, (10, 20))
        choice = choose_settings(split.train, tower=bag, k=10)
        print(f"\nchosen on training data: {choice.as_text().splitlines()[-1]}\n")
        union = CandidateGenerator(seed=SEED, tower=bag, **choice.apply())
        judged |= judge_generator("likewise union", union, split.train, split.test, (10, 20))
        ordered = CandidateGenerator(
            seed=SEED, tower=order, cooccurrence=choice.cooccurrence, weights={"tower": 1.0}
        )
        judged |= judge_generator("likewise sequence", ordered, split.train, split.test, (10, 20))
        set_weights(ordered, tower=1.0, cooccurrence=0.5)
        judged |= judge_fitted(
            "sequence + co-occurrence", ordered, split.train, split.test, (10, 20)
        )
        tell(judged, (10, 20))


def retail(data: Path, epochs: int) -> None:
    """online_retail by time: items new to each customer from October 2011 on."""
    path = data / "online_retail" / "online_retail.parquet"
    tell_hash(path)
    lines = pl.read_parquet(path)
    clean = lines.filter(
        pl.col("CustomerID").is_not_null()
        & (pl.col("Quantity") > 0)
        & (pl.col("UnitPrice") > 0)
        & pl.col("StockCode").str.contains(r"^\d{5}")
    )
    events = clean.select(
        user_id=pl.col("CustomerID").cast(pl.Int64),
        item_id=pl.col("StockCode"),
        datetime=pl.col("InvoiceDate").cast(pl.Datetime("us")),
    )
    items = clean.group_by("StockCode", maintain_order=True).agg(
        pl.col("Description").first(), pl.col("UnitPrice").median()
    )
    items = items.rename({"StockCode": "item_id", "Description": "title", "UnitPrice": "price"})
    split = split_by_time(events, dt.datetime(2011, 10, 1))
    known = split.train.select("user_id").unique()
    test = split.test.join(known, on="user_id", how="semi")
    tower = replace(TowerSettings(), epochs=epochs, width=64)
    choice = choose_settings(split.train, tower=tower, k=20)
    print(f"chosen on training data: {choice.as_text().splitlines()[-1]}\n")
    judged = judge_baselines(split.train, test, (20, 100))
    model = CandidateGenerator(seed=SEED, tower=tower, **choice.apply())
    judged |= judge_generator("likewise union", model, split.train, test, (20, 100), items)
    judged |= judge_source("likewise tower", model, "tower", split.train, test, (20, 100))
    judged |= judge_source(
        "likewise co-occurrence", model, "cooccurrence", split.train, test, (20, 100)
    )
    tell(judged, (20, 100))


def cold(data: Path, epochs: int) -> None:
    """Items nobody took in training, found from their content among all such items."""
    for name, events, items in cold_sets(data):
        ids = events["item_id"].unique().sort()
        chosen = np.random.default_rng(SEED).permutation(len(ids))[: len(ids) // 10]
        hidden = ids.gather(np.sort(chosen)).implode()
        train = events.filter(~pl.col("item_id").is_in(hidden))
        test = events.filter(pl.col("item_id").is_in(hidden))
        test = test.join(train.select("user_id").unique(), on="user_id", how="semi")
        tower = replace(TowerSettings(), epochs=epochs, width=64)
        model = CandidateGenerator(seed=SEED, tower=tower, weights={"tower": 1.0})
        model.fit(train, items)
        wanted = test["item_id"].unique()
        frame = model.recommend(test["user_id"].unique(), 100, include=wanted)
        near = nearest_content(train, items, wanted, test["user_id"].unique().sort())
        print(f"\n### {name}: {len(wanted)} cold items\n")
        print("| | recall@20 | recall@100 |\n|---|---|---|")
        for told, listed in (("content nearest neighbour", near), ("likewise cold tower", frame)):
            values = [evaluate(listed, test, train=train, k=k).mean("recall") for k in (20, 100)]
            print(f"| {told} | {values[0]:.4f} | {values[1]:.4f} |")


def logq(data: Path, epochs: int) -> None:
    """The sampling correction on and off, mixtures and the popularity exponent, on Gowalla."""
    train, test = read_gowalla(data)
    plain = replace(TowerSettings(), epochs=epochs, width=64, teacher_share=0.0)
    variants = {
        "log q subtracted": plain,
        "log q left out": replace(plain, correct=0.0),
        "drawn by popularity, subtracted": replace(plain, sampled_exponent=1.0, uniform=0.0),
        "drawn uniformly, subtracted": replace(plain, uniform=1.0),
        "popularity exponent 0.25": replace(plain, popularity_exponent=0.25),
        "popularity exponent 0.5": replace(plain, popularity_exponent=0.5),
    }
    judged: dict[str, tuple[dict[int, Evaluation], float]] = {}
    for name, settings in variants.items():
        model = CandidateGenerator(seed=SEED, tower=settings, cooccurrence=None)
        judged |= judge_generator(name, model, train, test, (100,))
    tell(judged, (100,))


Judged = dict[str, tuple[dict[int, Evaluation], float]]


def judge_baselines(train: pl.DataFrame, test: pl.DataFrame, ks: tuple[int, ...]) -> Judged:
    """Judge every baseline at every k."""
    known, judged = Interactions.read(train), {}
    for model in usual_baselines(len(known.items), seed=SEED):
        started = time.perf_counter()
        frame = model.candidates(known, max(ks))
        seconds = time.perf_counter() - started
        judged[model.name] = (judge(frame, train, test, ks), seconds)
        print(f"<!-- {model.name} {seconds:.0f} s -->", flush=True)
    return judged


def judge_generator(
    name: str,
    model: CandidateGenerator,
    train: pl.DataFrame,
    test: pl.DataFrame,
    ks: tuple[int, ...],
    items: pl.DataFrame | None = None,
) -> Judged:
    """Fit a generator and judge it."""
    started = time.perf_counter()
    model.fit(train, items)
    fitted = time.perf_counter() - started
    print(f"<!-- {name} fitted in {fitted:.0f} s -->", flush=True)
    judged = judge_fitted(name, model, train, test, ks)
    return {key: (value, seconds + fitted) for key, (value, seconds) in judged.items()}


def judge_fitted(
    name: str,
    model: CandidateGenerator,
    train: pl.DataFrame,
    test: pl.DataFrame,
    ks: tuple[int, ...],
) -> Judged:
    """Judge a fitted generator."""
    started = time.perf_counter()
    frame = model.recommend(k=max(ks))
    seconds = time.perf_counter() - started
    return {name: (judge(frame, train, test, ks), seconds)}


def judge_source(
    name: str,
    model: CandidateGenerator,
    source: str,
    train: pl.DataFrame,
    test: pl.DataFrame,
    ks: tuple[int, ...],
) -> Judged:
    """Judge one source of a fitted generator alone."""
    kept = dict(model.settings.weights)
    set_weights(model, **{source: 1.0})
    judged = judge_fitted(name, model, train, test, ks)
    set_weights(model, **kept)
    return judged


def set_weights(model: CandidateGenerator, **weights: float) -> None:
    """Blend a fitted generator's sources otherwise."""
    model.settings = replace(model.settings, weights=weights)


def judge(
    frame: pl.DataFrame, train: pl.DataFrame, test: pl.DataFrame, ks: tuple[int, ...]
) -> dict[int, Evaluation]:
    """Evaluate one table of candidates at every k."""
    return {k: evaluate(frame, test, train=train, k=k) for k in ks}


def tell(judged: Mapping[str, tuple[dict[int, Evaluation], float]], ks: tuple[int, ...]) -> None:
    """Print one markdown table a k."""
    for k in ks:
        print(f"\n| at {k} | {' | '.join(MEASURES)} | seconds |")
        print("|---" * (len(MEASURES) + 2) + "|")
        for name, (by_k, seconds) in judged.items():
            values = " | ".join(f"{by_k[k].summary[measure]:.4f}" for measure in MEASURES)
            print(f"| {name} | {values} | {seconds:.0f} |", flush=True)


# --- speed ---------------------------------------------------------------------------------------


def speed(data: Path, epochs: int) -> None:
    """Candidates a second beside implicit, of the same width, after filters, on one thread."""
    del epochs
    torch.set_num_threads(1)
    train = read_lists(data / "gowalla-lightgcn" / "train.txt.gz")
    tell_hash(data / "gowalla-lightgcn" / "train.txt.gz")
    users = train["user_id"].unique().sort().head(4096)
    part = train.filter(pl.col("user_id") < 8000)
    model = CandidateGenerator(
        seed=SEED, tower=replace(TowerSettings(), epochs=1), cooccurrence=None
    ).fit(part)
    known = model.interactions_
    als = ImplicitModel("als", factors=128, iterations=1).fit(known.matrix)
    rows = known.users.known_rows(users)
    matrix = known.matrix
    approximate = fit_faiss(matrix)
    few = rows[:_FEW]
    timings: dict[str, tuple[int, Callable[[], object]]] = {
        "implicit ALS recommend, arrays": (
            len(rows),
            lambda: als.recommend(rows, matrix[rows], N=100),
        ),
        "likewise recommend, table with ids": (len(rows), lambda: model.recommend(users, 100)),
        "implicit FaissModel recommend, filters, arrays": (
            len(few),
            lambda: approximate.recommend(few, matrix[few], N=100),
        ),
    }
    speeds = {name: count / best_of(3, call) for name, (count, call) in timings.items()}
    base = speeds["implicit ALS recommend, arrays"]
    print("| | users a second | times implicit ALS |\n|---|---|---|")
    for name, value in speeds.items():
        print(f"| {name} | {value:.0f} | {value / base:.2f} |")
    speed_of_approximation(model, users)
    speed_of_job(model)


def fit_faiss(matrix: Any) -> Any:
    """Implicit's model over a FAISS index, of the same width."""
    inner = AlternatingLeastSquares(128, iterations=1, num_threads=1, random_state=SEED)
    found = FaissModel(inner, use_gpu=False)
    found.fit(matrix, show_progress=False)
    return found


def speed_of_job(model: CandidateGenerator) -> None:
    """The job to Parquet beside scoring alone, by turns, so that both meet the same machine."""
    ratios = []
    for _ in range(3):
        scored = best_of(1, lambda: model.answer(k=100))
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            run_job(model, Path(folder) / "job", settings=JobSettings(shards=8))
            ratios.append(scored / (time.perf_counter() - started))
    users = len(model.interactions_.users)
    told = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"\njob with Parquet, {users} users: {told} x pure scoring")


def speed_of_approximation(model: CandidateGenerator, users: pl.Series) -> None:
    """The graph index beside the exact one, with seen items filtered."""
    tower = model.sources_["tower"]
    histories = model.histories_of(users.head(512))
    queries = tower.encode(histories)  # type: ignore[attr-defined]
    eligible = np.ones((len(queries), histories.width), dtype=bool)
    eligible[histories.owners, histories.items] = False
    vectors = tower.item_vectors  # type: ignore[attr-defined]
    exact = ExactIndex(vectors, fingerprint=model.fingerprint)
    probes = tower.encode(model.histories_of(users.tail(512)))  # type: ignore[attr-defined]
    graph = HNSWIndex(vectors, fingerprint=model.fingerprint, probes=probes)
    truth = exact.search(queries, 100, eligible=eligible)
    found = graph.search(queries, 100, eligible=eligible)
    kept = np.mean(
        [len(np.intersect1d(truth[row][0], found[row][0])) / 100 for row in range(len(queries))]
    )
    slow = best_of(2, lambda: exact.search(queries, 100, eligible=eligible))
    quick = best_of(2, lambda: graph.search(queries, 100, eligible=eligible))
    print(
        f"\ngraph index: recall of the exact answer after filters {kept:.4f}, "
        f"{slow / quick:.1f} x its speed"
    )


def memory(data: Path, epochs: int) -> None:
    """Peak memory of the job as the number of users grows, each in a process of its own."""
    del data, epochs
    script = (
        "import resource, sys\n"
        "from likewise.recsys import CandidateGenerator, JobSettings, run_job\n"
        "bundle, out, events, shards = sys.argv[1:]\n"
        "cut = JobSettings(k=50, shards=int(shards), slice_rows=200_000)\n"
        "done = run_job(CandidateGenerator.load(bundle), out, histories=events, settings=cut)\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "print(done.users, done.candidates, peak)"
    )
    generator = np.random.default_rng(SEED)
    print("| users | shards | candidates | peak MiB | seconds |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        model = CandidateGenerator(tower=None, linear=None, cooccurrence=CooccurrenceSettings())
        model.fit(random_events(generator, 5_000, 5_000)).save(home / "bundle")
        for users in (5_000, 20_000, 80_000):
            random_events(generator, users, 5_000).write_parquet(home / f"{users}.parquet")
            started, shards = time.perf_counter(), users // 1000
            words = (home / "bundle", home / f"out-{users}", home / f"{users}.parquet", shards)
            told = subprocess.run(
                [sys.executable, "-c", script, *map(str, words)],
                check=True,
                capture_output=True,
                text=True,
            )
            asked, written, peak = told.stdout.split()
            seconds = time.perf_counter() - started
            print(f"| {asked} | {shards} | {written} | {peak} | {seconds:.0f} |", flush=True)


def random_events(generator: np.random.Generator, users: int, items: int) -> pl.DataFrame:
    """Ten events a user, popular items more often."""
    chosen = (items * generator.random(10 * users) ** 3).astype(np.int64)
    return pl.DataFrame({"user_id": np.repeat(np.arange(users), 10), "item_id": chosen})


def best_of(times: int, call: Callable[[], object]) -> float:
    """Seconds of the quickest of several runs."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return min(taken)


# --- data ----------------------------------------------------------------------------------------


def read_lists(path: Path) -> pl.DataFrame:
    """Read ``user item item …`` lines in their order."""
    users: list[int] = []
    items: list[int] = []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            user, *taken = map(int, line.split())
            users += [user] * len(taken)
            items += taken
    return pl.DataFrame({"user_id": users, "item_id": items})


def tell_hash(*paths: Path) -> None:
    """Print the first digits of each file's SHA-256."""
    for path in paths:
        print(f"data: {path.name} sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}…  ")
    print()


def cold_sets(data: Path) -> list[tuple[str, pl.DataFrame, pl.DataFrame]]:
    """Sets with content: films by genre and title, Amazon goods by attribute."""
    films = data / "ml-latest-small-2016"
    ratings = pl.read_csv(films / "ratings.csv").select(
        user_id="userId", item_id="movieId", datetime="timestamp"
    )
    movies = pl.read_csv(films / "movies.csv").select(
        item_id="movieId", title="title", genres=pl.col("genres").str.split("|")
    )
    attributes = json.loads(
        gzip.decompress((data / "s3rec" / "Beauty_item2attributes.json.gz").read_bytes())
    )
    goods = pl.DataFrame(
        {
            "item_id": [int(item) for item in attributes],
            "attributes": [[str(one) for one in values] for values in attributes.values()],
        }
    )
    beauty = read_lists(data / "s3rec" / "Beauty.txt.gz")
    return [("ml-latest-small", ratings, movies), ("s3rec Beauty", beauty, goods)]


def nearest_content(
    train: pl.DataFrame, items: pl.DataFrame, wanted: pl.Series, users: pl.Series
) -> pl.DataFrame:
    """Cold items nearest to the mean content of what each user took."""
    encoder = ContentEncoder().fit(items)
    known = Interactions.read(train, further_items=items["item_id"])
    place = {item: row for row, item in enumerate(items["item_id"])}
    features = encoder.encode(items)
    rows = [place.get(item, -1) for item in known.items.ids]
    content = features[np.maximum(rows, 0)].multiply(np.array(rows)[:, None] >= 0).tocsr()
    asked = known.users.known_rows(users)
    targets = known.items.known_rows(wanted)
    scores = np.asarray((known.matrix[asked] @ content @ content[targets].T).todense())
    order = np.argsort(-scores, axis=1, kind="stable")[:, :100]
    return pl.DataFrame(
        {
            "user_id": users.gather(np.repeat(np.arange(len(users)), order.shape[1])),
            "item_id": wanted.gather(order.ravel()),
            "rank": np.tile(np.arange(1, order.shape[1] + 1), len(users)),
        }
    )


SECTIONS: dict[str, Callable[[Path, int], None]] = {
    "gowalla": gowalla,
    "gowalla_tail": gowalla_tail,
    "gowalla_baselines": gowalla_baselines,
    "s3rec": s3rec,
    "retail": retail,
    "cold": cold,
    "logq": logq,
    "speed": speed,
    "memory": memory,
}

if __name__ == "__main__":
    main()
