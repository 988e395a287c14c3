"""The shared sets of rows that anomaly is measured on, and how they are split.

Protocol: fit on a random half of the normal rows, test on the other half and all anomalies,
standardised on the fitted half; sets over the cap are drawn down to it. No bootstrap, so no row
stands on both sides unless the set itself repeats it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import data_path

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

CHOSEN_ON = (
    "Wilt", "cardio", "landsat", "vowels", "Pima", "satimage-2", "breastw", "mnist", "WBC",
    "glass", "Lymphography", "Cardiotocography", "satellite", "smtp", "http",
)  # fmt: skip
"""Sets that settings were chosen on (seed 0, drawn down to 2,000); the others confirm."""

FAMILIES = {
    "Cardiotocography": "cardio", "WBC": "breastw", "smtp": "http",
    "satellite": "landsat", "satimage-2": "landsat",
}  # fmt: skip
"""Sets cut from the same recordings as another one."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One random split of a set.

    Attributes:
        fitted: Normal rows, [N, D], standard scale.
        tested: Other normal rows and anomalies, [Q, D].
        labels: 1 for an anomaly, [Q].
    """

    fitted: Floats
    tested: Floats
    labels: Labels


def adbench() -> Iterator[tuple[str, Floats, Labels]]:
    """Name, rows and labels of every set, small ones first."""
    for path in sorted(data_path("adbench").glob("*.npz"), key=lambda one: one.stat().st_size):
        held = np.load(path)
        yield path.stem.split("_", 1)[1], held["X"].astype(float), held["y"].astype(int)


def split(rows: Floats, labels: Labels, seed: int, cap: int) -> Split:
    """Split a set by the protocol above."""
    draw = np.random.default_rng(seed)
    normal = draw.permutation(np.flatnonzero(labels == 0))
    odd = draw.permutation(np.flatnonzero(labels == 1))
    half = len(normal) // 2
    fitted, fresh = normal[:half], normal[half:]
    share = min(1.0, cap / len(fresh))
    fitted, fresh = fitted[: round(share * half)], fresh[: round(share * len(fresh))]
    odd = odd[: max(20, round(share * len(odd)))]
    centre, scale = rows[fitted].mean(axis=0), rows[fitted].std(axis=0)
    scaled = (rows - centre) / np.where(scale > 1e-12, scale, 1.0)
    tested = np.concatenate([fresh, odd])
    return Split(scaled[fitted], scaled[tested], labels[tested])


def folders_hash(folders: Sequence[str]) -> str:
    """First sixteen digits of the SHA-256 over every file of the folders, in order of name."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(data_path(folder).rglob("*")):
            if path.is_file():
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
