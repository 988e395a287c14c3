"""The shared real data: where it lies, and which bytes a number was measured on."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data"


def data_path(*parts: str) -> Path:
    """A file of the shared data; ``LIKEWISE_DATA`` names another folder.

    Raises:
        FileNotFoundError: With the path that was looked at and how to name another.
    """
    path = Path(os.environ.get("LIKEWISE_DATA", DEFAULT)).joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"{path} is absent; set LIKEWISE_DATA to the folder with the data")
    return path


def data_hash(path: Path) -> str:
    """First twelve hexadecimal digits of the file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
