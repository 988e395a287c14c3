"""The register of a detector of rows: what it cannot see in a table.

In: a fitted detector. Out: its register, measured on normal rows its encoder has not seen, against
raw nearest neighbours and against the same detector whose encoder was trained without neighbours
as positives. Which faults are measured is ``corruption.ROW_FAULTS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..core import Progress, silent
from .blindspots import INJECTIONS, Injection, Register, Samples, Score, measure_register
from .corruption import ROW_FAULTS, Population, RowFault
from .detector import NeighbourDetector
from .invariances import list_row_invariances
from .model import Part, Reference, RowModel, learn_model

SEVERITIES: dict[str, tuple[float, ...]] = {
    "cell error": (2.0, 4.0, 8.0),
    "missing code": (0.5, 2.0, 6.0),
    "scale error": (0.5, 1.0, 3.0),
    "swap": (1.0, 2.0, 4.0),
    "broken dependency": (0.1, 0.3, 0.8),
    "between modes": (0.3, 0.6, 1.0),
    "far cluster": (0.5, 1.0, 3.0),
}


def measure_row_register(
    detector: NeighbourDetector,
    *,
    budget: float | None = None,
    count: int = INJECTIONS,
    seed: int = 0,
    progress: Progress = silent,
) -> Register:
    """Measure what a fitted detector of rows sees, and keep the register with it.

    Args:
        detector: Fitted; gets ``register_``.
        budget: Share of held-out normals that may alert; None for its false-alarm rate.
        count: Injections a kind and severity.
        seed: Of the injections.
        progress: Display.

    Returns:
        The register.
    """
    normals = detector.reference_
    held = np.flatnonzero(~normals.trained_on)
    index = detector._index
    model = index.model
    known, population = normals.rows, Population(normals.rows)

    def scorer(reference: Reference) -> Score:
        def score(samples: Samples) -> Samples:
            # The last column carries the row a sample was made from; it must not vouch for itself.
            own = samples[:, -1].astype(np.int64)
            return reference.score(samples[:, :-1], leave_out=own)

        return score

    raw_model = replace(model, parts=model.parts[:1], locality=None)
    rivals = {"raw nearest neighbours": scorer(Reference(raw_model, index.vectors[:1]))}
    if len(model.parts) > 1:
        rivals["without neighbours as positives"] = scorer(_without_neighbours(detector))
    samples = np.column_stack([known[held], held.astype(np.float64)])
    register = measure_register(
        scorer(index),
        rivals,
        samples,
        [_injection(fault, population) for fault in ROW_FAULTS],
        budget=budget or detector.false_alarm_rate,
        invariances=list_row_invariances(learned=len(model.parts) > 1),
        count=count,
        seed=seed,
        progress=progress,
    )
    detector.register_ = register
    return register


def _injection(fault: RowFault, normal: Population) -> Injection:
    def spoil(samples: Samples, severity: float, draw: np.random.Generator) -> Samples:
        spoilt = fault.inject(samples[:, :-1], normal, severity, draw)
        return np.column_stack([spoilt, samples[:, -1]])

    return Injection(fault.name, SEVERITIES[fault.name], spoil)


def _without_neighbours(detector: NeighbourDetector) -> Reference:
    """The detector again, but a row's positive is its single nearest neighbour."""
    normals, model = detector.reference_, detector.model_
    narrow = learn_model(
        normals.rows,
        normals.trained_on,
        k=model.k,
        seed=detector.seed,
        learning=replace(model.learning, neighbours=1),
    )
    weights = {part.space.name: part.weight for part in model.parts}
    parts: Sequence[Part] = [
        replace(part, weight=weights.get(part.space.name, part.weight)) for part in narrow.parts
    ]
    again: RowModel = replace(narrow, parts=tuple(parts))
    return again.reference(normals.rows)
