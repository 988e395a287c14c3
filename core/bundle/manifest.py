"""The manifest: what a bundle says about itself, in one sealed JSON file.

In: the facts of a bundle. Out: ``manifest.json``, whose first line carries the SHA-256 of the
rest, so that a changed setting is noticed like a changed weight. Format numbers only grow: a
newer one is refused, an older one is carried up by :data:`MIGRATIONS`.

To change the format: raise :data:`FORMAT`, add the step from the old number, keep a golden bundle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..errors import BundleFormatError, ChecksumMismatch

FORMAT = 1
MANIFEST_NAME = "manifest.json"

Migration = Callable[[dict[str, Any]], dict[str, Any]]
MIGRATIONS: dict[int, Migration] = {}
"""Format number to the step that leads from it to the next one."""

_TAIL = b"}\n"


class FileEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: its SHA-256 in hexadecimal, and its size in bytes."""

    sha256: str
    size: int


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a bundle says about itself.

    Attributes:
        format: Format number of the folder.
        kind: What the bundle holds, e.g. "exact-index".
        fingerprint: Of the encoder.
        written_with: Library name to version.
        folder: Name of the sub-folder the files are in.
        files: Path inside that folder to its checksum.
        config: Settings, as JSON has them.
    """

    format: int
    kind: str
    fingerprint: str
    written_with: dict[str, str]
    folder: str
    files: dict[str, FileEntry]
    config: dict[str, Any]


def seal(body: bytes) -> bytes:
    """Wrap a JSON body together with its checksum; the whole is JSON again.

    >>> seal(b"{}").startswith(b'{"sha256": "44136fa3')
    True
    """
    return _head(body) + body + _TAIL


def unseal(sealed: bytes, path: Path) -> bytes:
    """Give back the body, if it is the one that was sealed."""
    length = len(_head(b""))
    if len(sealed) <= length + len(_TAIL) or not sealed.endswith(_TAIL):
        raise BundleFormatError(f"{path} is truncated at {len(sealed)} bytes; save the bundle anew")
    body = sealed[length : -len(_TAIL)]
    if sealed != seal(body):
        raise ChecksumMismatch(
            f"{path} was changed after it was saved; restore it from a copy, or save the "
            "bundle anew"
        )
    return body


def write_manifest(manifest: Manifest) -> bytes:
    """Give the bytes of ``manifest.json``: readable, sorted, sealed."""
    return seal(msgspec.json.format(msgspec.json.encode(manifest, order="sorted"), indent=2))


def read_manifest(path: Path, migrations: Mapping[int, Migration] = MIGRATIONS) -> Manifest:
    """Read and check the manifest of the bundle at ``path``.

    Raises:
        BundleFormatError: Missing, truncated, of a newer format, or with a field it should not
            have; the message names the field.
        ChecksumMismatch: Changed after it was saved.
    """
    file = path / MANIFEST_NAME
    if not file.is_file():
        raise BundleFormatError(
            f"{path} is no bundle: there is no {MANIFEST_NAME}; check the path, or save again"
        )
    body = unseal(file.read_bytes(), file)
    try:
        plain = migrate(msgspec.json.decode(body, type=dict[str, Any]), file, migrations)
        return msgspec.convert(plain, Manifest)
    except msgspec.MsgspecError as error:
        raise BundleFormatError(
            f"{file} cannot be read: {error}; save the bundle anew with this version"
        ) from error


def migrate(
    plain: dict[str, Any],
    file: Path,
    migrations: Mapping[int, Migration] = MIGRATIONS,
    target: int = FORMAT,
) -> dict[str, Any]:
    """Carry a manifest of an older format up to the target, one step at a time."""
    found = plain.get("format")
    if not isinstance(found, int):
        raise BundleFormatError(f"{file} has no format number; save the bundle anew")
    if found > target:
        raise BundleFormatError(
            f"{file} has format {found} but this version reads formats up to {target}; "
            "install a newer version of the library"
        )
    for step in range(found, target):
        if step not in migrations:
            raise BundleFormatError(
                f"{file} has format {found} and nothing leads from {step} to {step + 1}; "
                "load it with the version that wrote it and save it anew"
            )
        plain = migrations[step](plain) | {"format": step + 1}
    return plain


def _head(body: bytes) -> bytes:
    return b'{"sha256": "' + hashlib.sha256(body).hexdigest().encode() + b'", "manifest":\n'
