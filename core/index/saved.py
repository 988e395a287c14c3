"""An index as a bundle of its own.

In: an index that can be taken apart and put together again. Out: a folder, and back. Every engine
saves and loads itself the same way; what differs is its kind, and what it packs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar, Self

import polars as pl
import torch

from ..bundle.folder import load_bundle, save_bundle
from .packing import Packed


class SavedIndex(ABC):
    """Saving and loading, for every engine."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Of the encoder that made the vectors."""

    @abstractmethod
    def stale_fraction(self, fingerprint: str) -> float:
        """Refuse the vectors of another encoder than this one."""

    @abstractmethod
    def pack(self, prefix: str = "index") -> Packed:
        """Take the index apart for a bundle; ``prefix`` keeps two indexes apart."""

    @classmethod
    @abstractmethod
    def unpack(
        cls,
        config: Mapping[str, Any],
        tensors: Mapping[str, torch.Tensor],
        tables: Mapping[str, pl.DataFrame],
        prefix: str = "index",
    ) -> Self:
        """Put a packed index together again; it answers to the bit as before."""

    def save(self, path: str | PathLike[str]) -> None:
        """Save the index alone, as a bundle of its engine's kind."""
        parts = self.pack()
        save_bundle(
            path,
            kind=self.kind,
            config=parts.config,
            tensors=parts.tensors,
            tables=parts.tables,
            fingerprint=self.fingerprint,
        )

    @classmethod
    def load(cls, path: str | PathLike[str], *, fingerprint: str | None = None) -> Self:
        """Load a saved index; vectors of another encoder than ``fingerprint`` raise StaleIndex."""
        bundle = load_bundle(path, kind=cls.kind)
        index = cls.unpack(bundle.config, bundle.tensors, bundle.tables)
        if fingerprint is not None:
            index.stale_fraction(fingerprint)
        return index
