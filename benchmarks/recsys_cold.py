"""Cold items: a tenth of a catalogue that nobody took in training, found from its content."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from likewise.recsys import CandidateGenerator, Interactions, TowerSettings, evaluate
from likewise.recsys.content import ContentEncoder

from benchmarks.recsys_data import read_films, read_goods
from benchmarks.recsys_judging import SEED


def cold(epochs: int) -> None:
    """Items nobody took in training, found from their content among all such items."""
    sets = {"ml-latest-small": read_films(), "s3rec Beauty": read_goods("Beauty")}
    for name, (events, items) in sets.items():
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
