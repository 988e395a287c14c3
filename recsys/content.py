"""Content: what is known of an item before anyone took it, as numbers.

In: a table of items with text, categories and numbers. Out: :class:`ContentEncoder`, which makes a
row of numbers of any item, also of one that came later: words and categories are hashed into
columns, numbers are standardised by the items it was fitted on. No vocabulary is stored, so an
unseen word changes nothing but its own column.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ..core import ColumnError, NonFiniteError
from .events import to_polars
from .vocabulary import Vocabulary

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentSettings:
    """How content becomes numbers.

    Attributes:
        columns: Hash columns; a power of two keeps the hash even.
        number_weight: Weight of a standardised number beside a word.
    """

    columns: int = 2048
    number_weight: float = 0.5


class ContentEncoder:
    """Turn rows of an item table into sparse feature vectors of length 1.

    Text is split into words, lists hold categories as they are, other text columns are words too,
    and numbers are standardised. Rare words count more: each column is weighed by its inverse
    document frequency on the items fitted.

    Args:
        settings: Sizes and weights.

    >>> items = pl.DataFrame({"item_id": [1, 2], "title": ["green tea", "black tea"]})
    >>> encoder = ContentEncoder().fit(items)
    >>> vectors = encoder.encode(items).toarray()
    >>> bool(0 < vectors[0] @ vectors[1] < 0.5)
    True
    """

    def __init__(self, settings: ContentSettings | None = None) -> None:
        self.settings = ContentSettings() if settings is None else settings

    @property
    def width(self) -> int:
        """Columns of a feature vector."""
        return self.settings.columns + len(self.numbers_)

    def fit(self, items: Any) -> ContentEncoder:
        """Learn the scales from the items at hand; give the encoder back."""
        table = read_items(items)
        self.columns_ = [name for name in table.columns if name != "item_id"]
        self.numbers_ = [name for name in self.columns_ if table[name].dtype.is_numeric()]
        numbers = [table[name].cast(pl.Float64).fill_nan(None) for name in self.numbers_]
        self.centre_ = np.array([column.mean() or 0.0 for column in numbers], dtype=np.float64)
        self.spread_ = np.array([column.std(ddof=0) or 1.0 for column in numbers], dtype=np.float64)
        counts = self._hash(table)
        seen = np.bincount(counts.indices, minlength=self.settings.columns)
        self.rarity_ = (np.log((1 + len(table)) / (1 + seen)) + 1).astype(np.float32)
        return self

    def encode(self, items: Any) -> sparse.csr_matrix:
        """Encode items as csr float32 [I, width], each row of length 1 (0 with no content).

        Raises:
            ColumnError: A column the encoder was fitted on is missing.
        """
        table = read_items(items)
        missing = [name for name in self.columns_ if name not in table.columns]
        if missing:
            raise ColumnError(
                f"items lack the columns {', '.join(missing)} that content was fitted on; give "
                "them, with nulls where unknown"
            )
        words = self._hash(table)
        words.data *= self.rarity_[words.indices]
        if not self.numbers_:
            return _unit(words)
        numbers = table.select(self.numbers_).cast(pl.Float64).to_numpy()
        scaled = np.clip((numbers - self.centre_) / self.spread_, -3, 3)
        # An unknown number says nothing: it stands at the mean.
        scaled = np.nan_to_num(scaled) * self.settings.number_weight
        matrix = sparse.hstack([_unit(words), sparse.csr_matrix(scaled)], format="csr")
        return _unit(matrix.astype(np.float32))

    def state(self) -> dict[str, Any]:
        """Give what was fitted, for a bundle."""
        return {
            "columns": self.columns_,
            "numbers": self.numbers_,
            "centre": self.centre_.tolist(),
            "spread": self.spread_.tolist(),
        }

    @classmethod
    def of_state(
        cls, settings: ContentSettings, state: dict[str, Any], rarity: NDArray[np.float32]
    ) -> ContentEncoder:
        """Make the encoder again from what :meth:`state` gave."""
        encoder = cls(settings)
        encoder.columns_, encoder.numbers_ = list(state["columns"]), list(state["numbers"])
        encoder.centre_, encoder.spread_ = np.array(state["centre"]), np.array(state["spread"])
        encoder.rarity_ = rarity
        return encoder

    def _hash(self, table: pl.DataFrame) -> sparse.csr_matrix:
        words = [name for name in self.columns_ if name not in self.numbers_]
        rows, columns = [], []
        for name in words:
            for row, value in enumerate(table[name].to_list()):
                for token in _tokens(value):
                    # The column's name keeps a brand and a word of a title apart.
                    place = zlib.crc32(f"{name}={token}".encode()) % self.settings.columns
                    rows.append(row)
                    columns.append(place)
        ones = np.ones(len(rows), dtype=np.float32)
        shape = (len(table), self.settings.columns)
        matrix = sparse.coo_matrix((ones, (rows, columns)), shape=shape).tocsr()
        matrix.data[:] = 1.0
        return matrix


def read_items(native: Any) -> pl.DataFrame:
    """Read an item table: ``item_id``, each once, and any columns of content.

    Raises:
        ColumnError: There is no ``item_id``, or ids are missing.
        DuplicateRows: An id stands twice.
        NonFiniteError: A number is infinite.
    """
    table = to_polars(native)
    if "item_id" not in table.columns:
        raise ColumnError(
            f"items need a column item_id, found {', '.join(table.columns)}; rename it"
        )
    Vocabulary(table["item_id"], "item_id")
    for name in table.columns:
        if table[name].dtype.is_float() and bool(table[name].is_infinite().any()):
            row = int(table[name].is_infinite().arg_max() or 0)
            raise NonFiniteError(f"items: {name} is infinite in row {row}; clip or remove it")
    return table


def _tokens(value: object) -> Iterable[str]:
    if value is None:
        return ()
    if isinstance(value, str):
        return set(_WORD.findall(value.lower()))
    if isinstance(value, Iterable):
        return {str(one) for one in value}
    return (str(value),)


def _unit(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    return (sparse.diags(scale) @ matrix).tocsr()
