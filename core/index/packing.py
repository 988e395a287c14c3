"""An index taken apart for a bundle, and put together again to the bit.

In: the rows of an index. Out: :class:`Packed`, three parts that a room merges into those of
its own bundle, so that a model and its index are one folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import torch

from ..errors import BundleFormatError
from .stored_rows import StoredRows


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Something fitted, taken apart for a bundle: merge the parts into those of your own bundle.

    Attributes:
        config: Settings; every key begins with the prefix it was packed under.
        tensors: By name, likewise.
        tables: By name, likewise.
    """

    config: dict[str, Any]
    tensors: dict[str, torch.Tensor]
    tables: dict[str, pl.DataFrame]


def pack_rows(rows: StoredRows, fingerprint: str, prefix: str, **settings: int | str) -> Packed:
    """Take rows apart; every name begins with ``prefix``, so that two indexes stay apart."""
    config = {"fingerprint": fingerprint} | settings
    return Packed(
        config={f"{prefix}.{name}": value for name, value in config.items()},
        tensors={f"{prefix}.vectors": torch.from_numpy(rows.vectors)},
        tables={f"{prefix}.ids": pl.DataFrame({"id": rows.ids})},
    )


def unpack_rows(
    config: Mapping[str, Any],
    tensors: Mapping[str, torch.Tensor],
    tables: Mapping[str, pl.DataFrame],
    prefix: str,
) -> tuple[StoredRows, str]:
    """Give the rows and the fingerprint of a packed index."""
    try:
        vectors = tensors[f"{prefix}.vectors"].numpy()
        ids = tables[f"{prefix}.ids"]["id"].to_numpy()
        fingerprint = str(config[f"{prefix}.fingerprint"])
    except KeyError as missing:
        raise BundleFormatError(f"the bundle holds no index: {missing} is missing") from missing
    text = ids.dtype.kind not in "iu"
    return StoredRows.trusted(vectors, ids.astype(np.str_ if text else np.int64)), fingerprint
