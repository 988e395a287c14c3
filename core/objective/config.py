"""The settings of the objective: a frozen record that is saved with the model.

In: what the user asks for. Out: an :class:`ObjectiveConfig` that can work, or a
:class:`SettingError` that says why not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ..errors import DegenerateTemperature, SettingError

Layout = Literal["cross", "both-blocks", "ntxent", "queue", "explicit"]
LAYOUTS: tuple[Layout, ...] = ("cross", "both-blocks", "ntxent", "queue", "explicit")
LEAST_TEMPERATURE = 1e-3
LARGEST_LOG_SCALE = math.log(100.0)


@dataclass(frozen=True, slots=True)
class ObjectiveConfig:
    """Everything that decides what a loss means; saved with the model.

    Attributes:
        layout: Who the candidates are. ``cross``: every positive of the batch. ``both-blocks``:
            positives and anchors. ``ntxent``: both-blocks, read from both sides. ``queue``: the
            positive and the given negatives only. ``explicit``: every positive and the given
            negatives.
        symmetric: Also ask from the positive's side and average (``cross``, ``both-blocks``,
            ``explicit``).
        temperature: Where the temperature starts (or stays), above 0.001.
        learnable: Learn log(1 / temperature), kept in [0, log 100] by ``clamp_``.
        loss: ``softmax`` (InfoNCE) or ``sigmoid`` (every pair judged alone).
        decoupled, debias, hardness: See :class:`~.rows.SoftmaxRows`.
        log_q_weight: How much of the sampling correction is applied, 0 to 1.
        margin: Take columns out whose cosine exceeds the positive's by more than this.
        min_negatives: Refuse rows with fewer.
        variance_weight, covariance_weight: VICReg penalties (2105.04906) added to the loss.
        whitening: Whiten both views before the sphere (W-MSE, 2007.06346).
    """

    layout: Layout
    symmetric: bool
    temperature: float
    learnable: bool
    loss: Literal["softmax", "sigmoid"]
    decoupled: bool
    debias: float
    hardness: float
    log_q_weight: float
    margin: float | None
    min_negatives: int
    variance_weight: float
    covariance_weight: float
    whitening: bool

    def __post_init__(self) -> None:
        require_temperature(self.temperature)
        right = {
            "layout": self.layout in LAYOUTS,
            "loss": self.loss in ("softmax", "sigmoid"),
            "debias": 0 <= self.debias < 1,
            "hardness": 0 <= self.hardness < math.inf,
            "log_q_weight": 0 <= self.log_q_weight <= 1,
            "margin": self.margin is None or math.isfinite(self.margin),
            "min_negatives": self.min_negatives >= 1,
            "variance_weight": 0 <= self.variance_weight < math.inf,
            "covariance_weight": 0 <= self.covariance_weight < math.inf,
        }
        faults = [f"{name}={getattr(self, name)!r}" for name, fine in right.items() if not fine]
        if faults:
            raise SettingError(
                f"the objective cannot work with {', '.join(faults)}; layouts are "
                f"{', '.join(LAYOUTS)}, losses softmax and sigmoid, weights and hardness are 0 or "
                "more, shares lie in [0, 1], and a row needs at least one negative"
            )
        if self.layout == "queue" and self.symmetric:
            raise SettingError(
                "layout 'queue' cannot be symmetric: queued rows have no partner to ask from; "
                "set symmetric=False"
            )
        if self.layout == "ntxent" and not self.symmetric:
            raise SettingError(
                "layout 'ntxent' reads both sides by definition; use 'both-blocks' for one side"
            )
        if self.loss == "sigmoid" and (self.decoupled or self.debias or self.hardness):
            raise SettingError("decoupled, debias and hardness belong to the softmax loss")
        if self.whitening and self.layout in ("queue", "explicit"):
            raise SettingError(
                f"whitening knows the batch alone and layout {self.layout!r} brings further "
                "negatives; use 'cross', 'both-blocks' or 'ntxent'"
            )


def require_temperature(temperature: float) -> None:
    """Refuse a temperature at which the softmax is no longer a comparison."""
    if not LEAST_TEMPERATURE < temperature < math.inf:
        raise DegenerateTemperature(
            f"temperature {temperature} is not a number above {LEAST_TEMPERATURE}: the softmax "
            "would see only the single nearest candidate, or none; start at 0.05 to 0.2"
        )
