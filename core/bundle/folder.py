"""The bundle: everything that was fitted, as one folder of plain files.

In: settings, tensors, tables and reports. Out: a folder with a manifest (JSON), tensors
(safetensors), tables (Parquet) and reports (JSON); nothing in it is code. Loading verifies every
byte. A new bundle appears whole or not at all; replacing one writes the new files beside the old
and then exchanges the manifest, so at any moment the folder holds one intact bundle.

::

    my-bundle/
      manifest.json             what it is; SHA-256 and size of every file
      files-1/tensors.safetensors
      files-1/tables/<name>.parquet
      files-1/reports/<name>.json
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import safetensors.torch
import torch

from ..errors import BundleFormatError, BundleKindError, ChecksumMismatch
from .contents import TENSORS_NAME, Contents, TensorLike, sync_folder, write_file
from .manifest import FORMAT, MANIFEST_NAME, FileEntry, Manifest, read_manifest, write_manifest

_FOLDER = re.compile(r"files-(\d+)")
_FILE = re.compile(r"tensors\.safetensors|tables/\w[\w.-]*\.parquet|reports/\w[\w.-]*\.json")


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """A loaded and verified bundle.

    Attributes:
        path: Where it was loaded from.
        kind: What it holds, e.g. "exact-index".
        fingerprint: Of the encoder.
        config: Settings; tuples come back as lists.
        tensors: By name, on the CPU.
        tables: By name.
        reports: By name; a NaN comes back as None.
        written_with: Library name to version.
    """

    path: Path
    kind: str
    fingerprint: str
    config: Mapping[str, Any]
    tensors: Mapping[str, torch.Tensor]
    tables: Mapping[str, pl.DataFrame]
    reports: Mapping[str, Mapping[str, Any]]
    written_with: Mapping[str, str]


def save_bundle(
    path: str | PathLike[str],
    *,
    kind: str,
    config: Mapping[str, Any],
    tensors: Mapping[str, TensorLike],
    tables: Mapping[str, pl.DataFrame] | None = None,
    reports: Mapping[str, Mapping[str, Any]] | None = None,
    fingerprint: str,
) -> None:
    """Save everything that was fitted as one folder, all or nothing.

    Killed at any point, or with the disk full, the folder is as it was before: absent, or the old
    bundle, complete. An existing folder is replaced only if it is a bundle.

    Args:
        path: The folder.
        kind: What it holds; ``load_bundle`` asks for the same kind.
        config: Settings: numbers, strings, None, lists and mappings. All numbers finite.
        tensors: Name to tensor or array.
        tables: Name to polars frame.
        reports: Name to a mapping of JSON values; NaN becomes null.
        fingerprint: Of the encoder; see :func:`~likewise.core.fingerprint`.

    Raises:
        InputError: A name that cannot be a file name, or a setting that JSON does not know.
        BundleFormatError: The folder exists and is not a bundle.
    """
    target = Path(path)
    contents = Contents.checked(config, tensors, tables or {}, reports or {})
    number = _next_number(target)
    staging = target.parent / f".{target.name}.saving"
    shutil.rmtree(staging, ignore_errors=True)  # of a writer that was killed
    try:
        files = contents.write(staging / f"files-{number}")
        manifest = Manifest(
            format=FORMAT,
            kind=kind,
            fingerprint=fingerprint,
            written_with={name: version(name) for name in ("likewise", "numpy", "polars", "torch")},
            folder=f"files-{number}",
            files=files,
            config=contents.config,
        )
        write_file(staging / MANIFEST_NAME, write_manifest(manifest))
        sync_folder(staging)
        _publish(staging, target, manifest.folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def load_bundle(path: str | PathLike[str], *, kind: str) -> Bundle:
    """Load a bundle and verify every byte of it.

    Raises:
        BundleKindError: It holds something else.
        BundleFormatError: A file is missing or truncated, or the format is newer than this
            version; the message names the file.
        ChecksumMismatch: A file is not the one that was saved; the message names it.
    """
    source = Path(path)
    manifest = read_manifest(source)
    if manifest.kind != kind:
        raise BundleKindError(
            f"{source} holds a {manifest.kind!r}, not a {kind!r}; load it with the class that "
            "saved it"
        )
    if not _FOLDER.fullmatch(manifest.folder) or TENSORS_NAME not in manifest.files:
        raise BundleFormatError(f"{source / MANIFEST_NAME} lists no tensors; save the bundle anew")
    folder = source / manifest.folder
    tables, reports = {}, {}
    for name, entry in manifest.files.items():
        _verify(folder, name, entry)
        file = folder / name
        if file.suffix == ".parquet":
            tables[file.name.removesuffix(".parquet")] = pl.read_parquet(file)
        elif file.suffix == ".json":
            reports[file.name.removesuffix(".json")] = msgspec.json.decode(file.read_bytes())
    return Bundle(
        path=source,
        kind=manifest.kind,
        fingerprint=manifest.fingerprint,
        config=manifest.config,
        tensors=safetensors.torch.load_file(folder / TENSORS_NAME),
        tables=tables,
        reports=reports,
        written_with=manifest.written_with,
    )


def _publish(staging: Path, target: Path, folder: str) -> None:
    """Make the staged bundle the bundle: one rename, of the folder or of the manifest."""
    if not target.exists():
        staging.rename(target)
        sync_folder(target.parent)
        return
    shutil.rmtree(target / folder, ignore_errors=True)
    (staging / folder).rename(target / folder)
    sync_folder(target)
    (staging / MANIFEST_NAME).replace(target / MANIFEST_NAME)
    sync_folder(target)
    for old in target.iterdir():
        if _FOLDER.fullmatch(old.name) and old.name != folder:
            shutil.rmtree(old)


def _next_number(target: Path) -> int:
    """Give the number of the next files folder; refuse a folder that is not a bundle."""
    if not target.exists():
        return 1
    if not (target / MANIFEST_NAME).is_file():
        raise BundleFormatError(
            f"{target} exists and is not a bundle, so it is not overwritten; "
            "choose another path or remove it"
        )
    taken = [_FOLDER.fullmatch(one.name) for one in target.iterdir()]
    return 1 + max((int(match[1]) for match in taken if match), default=0)


def _verify(folder: Path, name: str, entry: FileEntry) -> None:
    file = folder / name
    if not _FILE.fullmatch(name):
        raise BundleFormatError(f"the manifest lists {name!r}, which is no file of a bundle")
    if not file.is_file():
        raise BundleFormatError(f"{file} is missing; restore it from a copy, or save anew")
    if file.stat().st_size != entry.size:
        raise BundleFormatError(
            f"{file} has {file.stat().st_size} bytes but was saved with {entry.size}; "
            "restore it from a copy, or save anew"
        )
    with file.open("rb") as opened:
        if hashlib.file_digest(opened, "sha256").hexdigest() != entry.sha256:
            raise ChecksumMismatch(
                f"{file} is not the file that was saved (its SHA-256 differs); "
                "restore it from a copy, or save anew"
            )
