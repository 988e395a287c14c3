"""Health: when a run must end, and when its space deserves a warning.

In comes a step, or the geometry a run ended with; out comes nothing, an error or a warning. First
weights may look collapsed and recover, so geometry is judged after :data:`SETTLING_STEPS` only.
"""

from __future__ import annotations

import math

from ..errors import NonFiniteError
from ..geometry import COLLAPSE_COSINE, Geometry, check_geometry
from ..objective.step import StepResult
from .runs import Run

SETTLING_STEPS = 50
LOST_SHARE = 0.5
"""Below this share of the rank of the first step, training has lost dimensions."""


def require_healthy(run: Run, step: StepResult, norm: float) -> None:
    """Refuse a step whose loss or gradient is no number, or whose geometry collapsed for good.

    Raises:
        NonFiniteError: By epoch and batch.
        RepresentationCollapse: Everything points the same way, after the run had time to settle.
    """
    loss = float(step.loss)
    if not (math.isfinite(loss) and math.isfinite(norm)):
        raise NonFiniteError(
            f"epoch {run.epoch}, batch {run.batch}: the loss is {loss} and its gradient norm "
            f"{norm}; lower the learning rate or look for extreme values in the pairs"
        )
    if run.steps_done >= SETTLING_STEPS and step.geometry.mean_cosine > COLLAPSE_COSINE:
        check_geometry(step.geometry, candidates=step.candidates_mean)


def warn_of_lost_dimensions(run: Run, geometry: Geometry) -> None:
    """Warn of a thin space that training made thin.

    Simple data fill few dimensions of a wide space however well they are encoded. An encoder that
    knows nothing shows how many: the rank of the first step is what there was to lose.

    Warns:
        DimensionalCollapse: The rank is low, and was more than twice as high at first.
    """
    settled = run.steps_done >= SETTLING_STEPS
    at_first = run.history.steps[0].effective_rank
    if settled and geometry.effective_rank_centred < LOST_SHARE * at_first:
        check_geometry(geometry)
