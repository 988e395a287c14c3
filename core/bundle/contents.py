"""The contents of a bundle, before they are one.

In: settings, tensors, tables and reports. Out: files, flushed to the disk, with their checksums.
Everything is checked before the first byte is written, so a bad name costs no half bundle.
A new kind of content gets a sub-folder in ``Contents.write`` and a branch in ``load_bundle``.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import safetensors.torch
import torch
from numpy.typing import NDArray

from ..errors import InputError
from .manifest import FileEntry

TensorLike = torch.Tensor | NDArray[Any]

TENSORS_NAME = "tensors.safetensors"

_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """What goes into a bundle, checked before a single byte is written."""

    config: dict[str, Any]
    tensors: dict[str, torch.Tensor]
    tables: Mapping[str, pl.DataFrame]
    reports: dict[str, bytes]

    @classmethod
    def checked(
        cls,
        config: Mapping[str, Any],
        tensors: Mapping[str, TensorLike],
        tables: Mapping[str, pl.DataFrame],
        reports: Mapping[str, Mapping[str, Any]],
    ) -> Contents:
        """Refuse what cannot be saved, and bring the rest into the form it is saved in."""
        for name in (*tables, *reports):
            if not _NAME.fullmatch(name):
                raise InputError(
                    f"{name!r} cannot be a file name; use letters, digits, '_', '-' and '.'"
                )
        _check_finite(config, "config")
        return cls(
            config=msgspec.to_builtins(config, enc_hook=_plain, str_keys=True),
            tensors=_apart({name: _as_tensor(one) for name, one in tensors.items()}),
            tables=tables,
            reports={
                name: msgspec.json.encode(one, enc_hook=_plain) for name, one in reports.items()
            },
        )

    def write(self, folder: Path) -> dict[str, FileEntry]:
        """Write and sync all files; give their checksums."""
        (folder / "tables").mkdir(parents=True)
        (folder / "reports").mkdir()
        safetensors.torch.save_file(self.tensors, folder / TENSORS_NAME)
        for name, table in self.tables.items():
            table.write_parquet(folder / "tables" / f"{name}.parquet")
        for name, report in self.reports.items():
            (folder / "reports" / f"{name}.json").write_bytes(report)
        names = sorted(str(file.relative_to(folder)) for file in folder.rglob("*.*"))
        entries = {}
        for name in names:
            with (folder / name).open("rb+") as file:
                os.fsync(file.fileno())
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                entries[name] = FileEntry(sha256=digest, size=file.tell())
        for one in (folder / "tables", folder / "reports", folder):
            sync_folder(one)
        return entries


def write_file(file: Path, payload: bytes) -> None:
    """Write a file and flush it to the disk."""
    with file.open("wb") as opened:
        opened.write(payload)
        opened.flush()
        os.fsync(opened.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _as_tensor(value: TensorLike) -> torch.Tensor:
    """Give a contiguous tensor on the CPU."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().contiguous()
    if value.dtype.kind not in "biuf":
        raise InputError(f"an array of {value.dtype} is no tensor; put text into a table")
    return torch.from_numpy(np.require(value, requirements=["C", "W"]))


def _apart(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copy tensors that share memory (tied weights): the file format keeps each by itself."""
    seen: set[int] = set()
    for name, tensor in tensors.items():
        memory = tensor.untyped_storage().data_ptr()
        tensors[name] = tensor.clone() if memory in seen else tensor
        seen.add(memory)
    return tensors


def _check_finite(value: object, where: str) -> None:
    """JSON has no NaN and no infinity, and a setting must come back as it was."""
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        raise InputError(f"{where} is {value}, which JSON cannot hold; use None or a finite number")
    if isinstance(value, Mapping):
        for key, one in value.items():
            _check_finite(one, f"{where}.{key}")
    elif isinstance(value, (list, tuple)):
        for place, one in enumerate(value):
            _check_finite(one, f"{where}[{place}]")


def _plain(value: object) -> object:
    """Give numpy numbers and arrays as JSON has them."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise InputError(
        f"a {type(value).__name__} cannot stand in a bundle's JSON; give numbers, strings, None, "
        "lists or mappings"
    )
