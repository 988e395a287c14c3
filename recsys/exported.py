"""Exported candidates, read back the way a ranker would read them.

In: a Parquet file, a folder of shards, or a table. Out: the candidates, one row a user and item,
ranks counted anew from 1. What is judged is what was written, not what a model had in memory, so
padding, duplicates and broken ranks show here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from ..core import ColumnError, InputError
from .events import to_polars
from .vocabulary import as_id_series


def read_candidates(native: Any) -> pl.DataFrame:
    """Read candidates and settle them.

    Args:
        native: Path of a Parquet file or of a folder of ``*.parquet`` shards, or a table with
            ``user_id, item_id`` and ``rank`` (or, without it, ``score``).

    Returns:
        ``user_id, item_id, rank[, source]`` sorted by user and rank. A pair that stands twice
        keeps its best rank and the ranks close up.

    Raises:
        InputError: The folder holds no Parquet file.
        ColumnError: A column is missing.
    """
    table = _read_shards(Path(native)) if isinstance(native, str | Path) else to_polars(native)
    missing = [name for name in ("user_id", "item_id") if name not in table.columns]
    if missing or not {"rank", "score"} & set(table.columns):
        raise ColumnError(
            "candidates need user_id, item_id and rank (or score), found "
            f"{', '.join(table.columns)}; read what `recommend` or the job has written"
        )
    for name in ("user_id", "item_id"):
        as_id_series(table[name], name)
    order = pl.col("rank") if "rank" in table.columns else -pl.col("score")
    kept = [name for name in ("source",) if name in table.columns]
    return (
        table.with_columns(order=order)
        .sort("user_id", "order", "item_id")
        .unique(["user_id", "item_id"], keep="first", maintain_order=True)
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("user_id"))
        .select("user_id", "item_id", "rank", *kept)
    )


def _read_shards(path: Path) -> pl.DataFrame:
    if not path.is_dir():
        return pl.read_parquet(path)
    files = sorted(path.glob("*.parquet"))
    if not files:
        raise InputError(f"{path} holds no Parquet file; give the folder the job has written to")
    return pl.concat([pl.read_parquet(file) for file in files])
