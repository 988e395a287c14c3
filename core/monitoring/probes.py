"""The probe set: what held-out vectors measured when the model was good.

In: the index as fitted, and held-out vectors. Out: :class:`ProbeSet`, frozen and saved with the
model, for ``monitoring`` to compare with. A new number to watch is a field here, measured by the
same function then and later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import BundleFormatError, TooFewRows
from ..index.engine import VectorIndex
from ..index.packing import Packed
from ..index.recall import measure_recall
from ..index.stored_rows import VectorLike, unit_vectors

Sample = NDArray[np.float64]

_FEWEST = 20  # rows below which a two-sample test has nothing to say


@dataclass(frozen=True, slots=True, eq=False)
class ProbeSet:
    """Vectors and what they measured when the model was fitted; never changed afterwards.

    Attributes:
        vectors: Probe vectors as the encoder gave them, before normalisation, float32 [P, D].
        norms: Their lengths, [P].
        distances: 1 - similarity to the nearest row of the index, [P].
        scores: Scores of the application on the probes, any length; empty when it has none.
        mean_cosine: Mean pairwise cosine of the probes.
        recall: recall@k through the index.
        k: Neighbours for that recall.
        fingerprint: Of the encoder.
    """

    vectors: NDArray[np.float32]
    norms: Sample
    distances: Sample
    scores: Sample
    mean_cosine: float
    recall: float
    k: int
    fingerprint: str

    def pack(self, prefix: str = "probes") -> Packed:
        """Take the probe set apart for a bundle."""
        numbers = ("mean_cosine", "recall", "k", "fingerprint")
        arrays = ("vectors", "norms", "distances", "scores")
        return Packed(
            config={f"{prefix}.{name}": getattr(self, name) for name in numbers},
            tensors={f"{prefix}.{name}": torch.from_numpy(getattr(self, name)) for name in arrays},
            tables={},
        )

    @classmethod
    def unpack(
        cls,
        config: Mapping[str, Any],
        tensors: Mapping[str, torch.Tensor],
        prefix: str = "probes",
    ) -> ProbeSet:
        """Put a packed probe set together again."""
        try:
            return cls(
                vectors=tensors[f"{prefix}.vectors"].numpy(),
                norms=tensors[f"{prefix}.norms"].numpy(),
                distances=tensors[f"{prefix}.distances"].numpy(),
                scores=tensors[f"{prefix}.scores"].numpy(),
                mean_cosine=config[f"{prefix}.mean_cosine"],
                recall=config[f"{prefix}.recall"],
                k=config[f"{prefix}.k"],
                fingerprint=config[f"{prefix}.fingerprint"],
            )
        except KeyError as missing:
            raise BundleFormatError(
                f"the bundle holds no probe set: {missing} is missing; freeze one and save anew"
            ) from missing


def freeze_probes(
    index: VectorIndex,
    vectors: VectorLike,
    *,
    k: int = 10,
    fingerprint: str,
    scores: VectorLike | None = None,
) -> ProbeSet:
    """Measure held-out vectors now, to compare with later.

    Args:
        index: The index as fitted.
        vectors: Held-out vectors as the encoder gives them, *before* normalisation, [P, D];
            their lengths say something too. At least 20.
        k: Neighbours for recall.
        fingerprint: Of the encoder.
        scores: What the application scores them, where it does.

    Raises:
        TooFewRows: Fewer than 20 probes.
        StaleIndex: The index was built by another encoder.
    """
    raw = as_float64(vectors)
    require_rows(len(raw), "probes")
    index.stale_fraction(fingerprint)
    return ProbeSet(
        vectors=raw.astype(np.float32),
        norms=measure_lengths(raw),
        distances=measure_distances(index, raw),
        scores=np.empty(0) if scores is None else as_float64(scores).reshape(-1),
        mean_cosine=mean_cosine_of(raw),
        recall=measure_recall(index, raw, k),
        k=k,
        fingerprint=fingerprint,
    )


def measure_lengths(raw: Sample) -> Sample:
    """Give lengths to four digits: a smaller difference is rounding, which is no drift."""
    lengths: Sample = np.exp(np.round(np.log(np.linalg.norm(raw, axis=1)), 4))
    return lengths


def measure_distances(index: VectorIndex, raw: Sample) -> Sample:
    """Give each query's distance, 1 - similarity, to its nearest row."""
    nearest = index.search(raw, 1)
    return 1.0 - nearest.similarity.astype(np.float64)


def mean_cosine_of(raw: Sample) -> float:
    """Give the mean cosine of two different rows, without forming the pairs."""
    unit = unit_vectors(raw, "vectors").astype(np.float64)
    total = float(np.square(unit.sum(axis=0)).sum() - np.square(unit).sum())
    return total / (len(unit) * (len(unit) - 1))


def as_float64(values: VectorLike) -> Sample:
    """Give an array of float64, of an array or a tensor."""
    plain = values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else values
    out: Sample = np.asarray(plain, dtype=np.float64)
    return out


def require_rows(rows: int, what: str) -> None:
    """Refuse a sample too small to compare."""
    if rows < _FEWEST:
        raise TooFewRows(
            f"there are {rows} {what}, but a comparison needs at least {_FEWEST}; collect more"
        )
