"""Shards: users spread over files by a hash of their id, the same on every machine.

In: ids, or a Parquet file of events too large to hold. Out: a shard number an id, or one small
file of events a shard. A user's events always meet in one shard, so shards can be answered one at a
time, in any order, on any number of machines.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .vocabulary import as_id_series


def shard_of(ids: pl.Series, shards: int) -> NDArray[np.int64]:
    """Give the shard of each id, int64 in [0, shards).

    >>> shard_of(pl.Series("user_id", ["ada", "bob", "cy"]), 16).tolist()
    [8, 0, 3]
    """
    series = as_id_series(ids, ids.name)
    if series.dtype == pl.String:
        codes = np.fromiter((zlib.crc32(one.encode()) for one in series), np.uint64, len(series))
    else:
        codes = _mix(series.cast(pl.Int64).to_numpy().astype(np.int64).view(np.uint64))
    return (codes % np.uint64(shards)).astype(np.int64)


def part_events(source: Path, folder: Path, *, shards: int, slice_rows: int) -> None:
    """Part a Parquet file of events into one folder of small files a shard.

    The file is read ``slice_rows`` rows at a time. A folder that is complete already is left alone;
    one that is not (its maker was killed) is made again.

    Args:
        source: Parquet file or glob, with at least ``user_id`` and ``item_id``.
        folder: Where ``shard-00000/part-00000.parquet`` … go.
        shards: How many shards.
        slice_rows: Rows held at a time.
    """
    done = folder / "complete"
    if done.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    table = pl.scan_parquet(source)
    rows = int(table.select(pl.len()).collect().item())
    for number, start in enumerate(range(0, rows, slice_rows)):
        piece = table.slice(start, slice_rows).collect()
        shard = pl.Series("shard", shard_of(piece["user_id"], shards))
        for (key,), part in piece.with_columns(shard).partition_by("shard", as_dict=True).items():
            home = folder / f"shard-{key:05d}"
            home.mkdir(exist_ok=True)
            part.drop("shard").write_parquet(home / f"part-{number:05d}.parquet")
    done.touch()


def read_parts(folder: Path, shard: int) -> pl.DataFrame | None:
    """Read the events of one shard, in the order of the source; None when it has none."""
    files = sorted((folder / f"shard-{shard:05d}").glob("part-*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files]) if files else None


def write_whole(table: pl.DataFrame, path: Path) -> str:
    """Write a Parquet file that is there whole or not at all; give its SHA-256."""
    staged = path.with_name(f".{path.name}.part")
    table.write_parquet(staged, compression="zstd", statistics=False)
    with staged.open("rb+") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    staged.replace(path)
    return digest


def write_text_whole(text: str, path: Path) -> None:
    """Write a text file that is there whole or not at all."""
    staged = path.with_name(f".{path.name}.part")
    with staged.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    staged.replace(path)


def _mix(codes: NDArray[Any]) -> NDArray[Any]:
    """Spread whole numbers evenly over 64 bits (the finaliser of splitmix64)."""
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[Any] = codes ^ (codes >> np.uint64(31))
    return mixed
