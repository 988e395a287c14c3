"""What a bundle holds, and whether it may still be trusted.

In: the folder of any bundle, of whatever kind and whichever room saved it. Out: an
:class:`Inspection`, read from the manifest and the heads of the files, so that a large bundle
costs no more than a small one; or a :class:`Verdict` once every byte was verified and the probe
sets were put to the guards. Nothing here knows a kind: a new one is inspected like the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors import safe_open

from ..bundle.contents import TENSORS_NAME
from ..bundle.folder import Bundle, load_bundle
from ..bundle.manifest import Manifest, read_manifest
from ..errors import BundleFormatError, InputError
from ..index.engine import VectorIndex
from ..index.exact import ExactIndex
from ..index.hnsw import HNSWIndex
from ..index.stored_rows import VectorLike
from ..negatives.audit_page import REPORT, audit_blocks
from ..page.blocks import KeyValues, Table
from ..page.report import Page
from .guards import Check, Guards, Verdict, monitor
from .probes import ProbeSet

_NAMES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class BundlePart:
    """One thing a bundle holds.

    Attributes:
        name: As it was saved.
        sort: "tensor", "table" or "report".
        content: Its shape in words.
        size: Bytes; for a tensor those of its numbers, for a table or report those of its file.
    """

    name: str
    sort: str
    content: str
    size: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a bundle says about itself, and what lies in it.

    Attributes:
        path: Where it is.
        manifest: What it says about itself.
        parts: What it holds, tensors first.
    """

    path: Path
    manifest: Manifest
    parts: tuple[BundlePart, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.size for entry in self.manifest.files.values())

    def facts(self) -> KeyValues:
        """What the bundle is, as a block for a page."""
        manifest = self.manifest
        return KeyValues(
            [
                ("kind", manifest.kind),
                ("format", manifest.format),
                ("written with", ", ".join(f"{n} {v}" for n, v in manifest.written_with.items())),
                ("fingerprint", manifest.fingerprint),
                ("files", f"{len(manifest.files)} of {self.size:,} bytes"),
                ("settings", _list_names(list(manifest.config))),
            ]
        )

    def table(self) -> Table:
        """What the bundle holds, as a block for a page; one row a part."""
        rows = [[part.name, part.sort, part.content, part.size] for part in self.parts]
        return Table(["name", "sort", "content", "bytes"], rows)


def inspect_bundle(path: str | PathLike[str]) -> Inspection:
    """Say what a bundle holds, without reading it whole and without verifying its files.

    Args:
        path: The folder.

    Raises:
        BundleFormatError: No bundle, or a file is missing.
        ChecksumMismatch: The manifest was changed after it was saved.
    """
    source = Path(path)
    manifest = read_manifest(source)
    folder = source / manifest.folder
    missing = [name for name in manifest.files if not (folder / name).is_file()]
    if missing:
        raise BundleFormatError(
            f"{source} lacks {', '.join(missing)}; restore it from a copy, or save anew"
        )
    parts = [*_tensor_parts(folder / TENSORS_NAME)]
    for name, entry in manifest.files.items():
        file = folder / name
        if file.suffix == ".parquet":
            parts.append(BundlePart(file.stem, "table", _describe_table(file), entry.size))
        elif file.suffix == ".json":
            parts.append(BundlePart(file.stem, "report", _describe_report(file), entry.size))
    return Inspection(source, manifest, tuple(parts))


def inspection_page(path: str | PathLike[str], found: Inspection) -> Page:
    """Lay an inspection out as a page, with what the bundle reports of its mining.

    Args:
        path: The bundle's folder; all of it is read and verified for its reports.
        found: What :func:`inspect_bundle` said of it.
    """
    page = Page(f"What {Path(path).name} holds").add(found.facts(), found.table())
    reports = load_bundle(path, kind=found.manifest.kind).reports
    return page.add(*audit_blocks(reports[REPORT])) if REPORT in reports else page


def check_bundle(
    path: str | PathLike[str],
    *,
    queries: VectorLike | None = None,
    guards: Guards | None = None,
) -> Verdict:
    """Verify every byte of a bundle, and put each probe set in it to the guards.

    Args:
        path: The folder.
        queries: Recent vectors of the encoder, before normalisation, [Q, D]. None: the frozen
            probes are asked again, which shows what became of the index, not of the data.
        guards: How much may change.

    Returns:
        The verdict; ``verdict.ok`` is False when a guard fails. A bundle without probes has one
        row: its files.

    Raises:
        BundleError: A file is missing, truncated or changed, or probes have no index.
    """
    bundle = load_bundle(path, kind=read_manifest(Path(path)).kind)
    files = f"{len(bundle.tensors)} tensors, {len(bundle.tables)} tables and "
    files += f"{len(bundle.reports)} reports are as they were saved"
    checks = [Check("damaged files", 0.0, 0.0, 0.0, ok=True, finding=files)]
    guards = Guards() if guards is None else guards
    names, rows = _probe_names(bundle), 0
    for name in names:
        probes = ProbeSet.unpack(bundle.config, bundle.tensors, name)
        asked = probes.vectors if queries is None else queries
        index = _index_for(bundle, probes)
        verdict = monitor(index, probes, asked, fingerprint=probes.fingerprint, guards=guards)
        rows += verdict.probes
        label = f"{name}: " if len(names) > 1 else ""
        checks += [replace(check, name=label + check.name) for check in verdict.checks]
    return Verdict(tuple(checks), guards.false_alarm_rate, rows)


def read_vectors(file: Path) -> NDArray[Any]:
    """Read the vectors of a ``.npy`` file.

    Raises:
        InputError: It is not one matrix of numbers.
    """
    try:
        vectors = np.load(file, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(
            f"{file} cannot be read as numbers ({error}); write it with numpy.save"
        ) from error
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or vectors.dtype.kind not in "iuf":
        raise InputError(f"{file} is not one matrix [Q, D] of numbers; write it with numpy.save")
    return vectors


def _probe_names(bundle: Bundle) -> list[str]:
    """The prefixes under which probe sets were packed."""
    return [
        name.removesuffix(".norms")
        for name in bundle.tensors
        if name.endswith(".norms") and f"{name.removesuffix('.norms')}.mean_cosine" in bundle.config
    ]


def _index_for(bundle: Bundle, probes: ProbeSet) -> VectorIndex:
    """The index the probes were frozen with: of their encoder, or else of their width."""
    packed = [
        name.removesuffix(".ids")
        for name in bundle.tables
        if f"{name[:-4]}.vectors" in bundle.tensors
    ]
    indexes = [_unpack_index(bundle, prefix) for prefix in packed]
    own = [index for index in indexes if index.fingerprint == probes.fingerprint]
    width = probes.vectors.shape[1]
    fitting = [index for index in own or indexes if index.vectors.shape[1] == width]
    if not fitting:
        raise BundleFormatError(
            f"{bundle.path} holds probes of width {width} and no index of that width; save both "
            "together"
        )
    return fitting[0]


def _unpack_index(bundle: Bundle, prefix: str) -> VectorIndex:
    kind = HNSWIndex if f"{prefix}.hnsw" in bundle.config else ExactIndex
    return kind.unpack(bundle.config, bundle.tensors, bundle.tables, prefix)


def _tensor_parts(file: Path) -> Iterator[BundlePart]:
    with safe_open(file, framework="numpy") as opened:
        for name in sorted(opened.keys()):
            one = opened.get_slice(name)
            shape, dtype = one.get_shape(), one.get_dtype()
            count = 1
            for length in shape:
                count *= length
            content = " x ".join(f"{length:,}" for length in shape) or "one number"
            bits = int("".join(c for c in dtype if c.isdigit()) or 8)  # "F32", "I64", "BOOL"
            yield BundlePart(name, "tensor", f"{content} {dtype}", count * bits // 8)


def _describe_table(file: Path) -> str:
    columns = list(pl.read_parquet_schema(file))
    rows = pl.scan_parquet(file).select(pl.len()).collect().item()
    return f"{rows:,} rows of {_list_names(columns)}"


def _describe_report(file: Path) -> str:
    return _list_names(list(msgspec.json.decode(file.read_bytes(), type=dict[str, object])))


def _list_names(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN]) or "nothing"
    more = len(names) - _NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
