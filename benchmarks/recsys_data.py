"""The data of the recommendation benchmarks, as tables of events and of items."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl

from benchmarks.data import data_hash, data_path


def read_gowalla() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read LightGCN's split and tell its hashes."""
    paths = [data_path("gowalla-lightgcn", f"{part}.txt.gz") for part in ("train", "test")]
    tell_hash(*paths)
    train, test = (read_lists(path) for path in paths)
    return train, test


def read_retail() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read online_retail: events of known customers with goods, and a table of the goods."""
    path = data_path("online_retail", "online_retail.parquet")
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
    return events, items.rename(
        {"StockCode": "item_id", "Description": "title", "UnitPrice": "price"}
    )


def read_films() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read ml-latest-small: who rated what and when, and the films' titles and genres."""
    folder = data_path("ml-latest-small-2016")
    tell_hash(folder / "ratings.csv", folder / "movies.csv")
    events = pl.read_csv(folder / "ratings.csv").select(
        user_id="userId", item_id="movieId", datetime="timestamp"
    )
    items = pl.read_csv(folder / "movies.csv").select(
        item_id="movieId", title="title", genres=pl.col("genres").str.split("|")
    )
    return events, items


def read_goods(name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read one of s3rec's Amazon sets: who took what in which order, and the goods' attributes."""
    taken = data_path("s3rec", f"{name}.txt.gz")
    described = data_path("s3rec", f"{name}_item2attributes.json.gz")
    tell_hash(taken, described)
    attributes = json.loads(gzip.decompress(described.read_bytes()))
    items = pl.DataFrame(
        {
            "item_id": [int(item) for item in attributes],
            "attributes": [[str(one) for one in values] for values in attributes.values()],
        }
    )
    return read_lists(taken), items


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
        print(f"data: {path.name} sha256 {data_hash(path)}…  ")
    print()
