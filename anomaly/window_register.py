"""The register of a detector of series: what it cannot see in a stretch of time.

In: a fitted detector and the frame it was fitted on. Out: its register, measured on the held-out
stretch, against raw-window neighbours and against the same detector trained without each of its
augmentations in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core import Augmentation, Progress, silent
from .blindspots import INJECTIONS, Injection, Register, Samples, Score, measure_register
from .distances import Lengths
from .injection import WINDOW_FAULTS, WindowFault
from .invariances import list_window_invariances
from .series import FittedSeries, SeriesDetector
from .series_frame import read_series
from .window_model import WindowModel, learn_window_model
from .windows import Values, cut, whole_ends


def measure_window_register(
    detector: SeriesDetector,
    frame: Any,
    *,
    series: Any = None,
    budget: float | None = None,
    count: int = INJECTIONS,
    seed: int = 0,
    progress: Progress = silent,
) -> Register:
    """Measure what a fitted detector of series sees, and keep the register with it.

    Args:
        detector: Fitted; gets ``register_``.
        frame: The frame it was fitted on.
        series: Which of its series to measure on; None for the first.
        budget: Share of held-out windows that may alert; None for its false-alarm rate.
        count: Injections a kind and severity.
        seed: Of the injections.
        progress: Display.

    Returns:
        The register.
    """
    read = read_series(
        frame, id_col=detector.id_col, time_col=detector.time_col, channels=detector.channels_
    )
    chosen = read.ids[0] if series is None else series
    values = read.values[read.ids.index(chosen)]
    fitted = detector._of(chosen)
    model = fitted.model
    start = fitted.held_out[chosen]
    ends = whole_ends(values, model.lookback)
    held = cut(model.standardise(values), model.lookback, ends[ends >= start + model.lookback - 1])
    owner = list(fitted.held_out).index(chosen)
    reference = _before(model, owner, start)
    rivals: dict[str, Score] = {"raw-window neighbours": _raw_windows(reference)}
    for number, augmentation in enumerate(detector.augmentations):
        if "learned" in detector.parts:
            kept = detector.augmentations[:number] + detector.augmentations[number + 1 :]
            again = _retrained(detector, fitted, values[:start], kept)
            rivals[f"without {augmentation.name}"] = _rescaled(again, model)
    register = measure_register(
        reference.score_windows,
        rivals,
        held,
        [_injection(fault) for fault in _possible(held.shape[2])],
        budget=budget or detector.false_alarm_rate,
        invariances=list_window_invariances(detector.parts, detector.augmentations),
        count=count,
        seed=seed,
        progress=progress,
    )
    detector.register_ = register
    return register


def _before(model: WindowModel, owner: int, start: int) -> WindowModel:
    """The model with only those references that end before the held-out stretch."""
    reference = model.reference
    keep = np.flatnonzero((reference.owner != owner) | (reference.ends < start))
    return WindowModel(
        model.centre,
        model.scale,
        model.k,
        model.main,
        model.space,
        model.spreads,
        replace(
            reference,
            owner=reference.owner[keep],
            ends=reference.ends[keep],
            windows=reference.windows[keep],
        ),
    )


def _raw_windows(model: WindowModel) -> Score:
    lengths = Lengths(model.reference.windows.reshape(len(model.reference), -1))

    def score(windows: Samples) -> Samples:
        return lengths.nearest(windows.reshape(len(windows), -1), 1).distances[:, 0]

    return score


def _retrained(
    detector: SeriesDetector,
    fitted: FittedSeries,
    values: Values,
    augmentations: Sequence[Augmentation],
) -> WindowModel:
    return learn_window_model(
        [values],
        learn_from=[whole_ends(values, fitted.model.lookback)],
        lookback=fitted.model.lookback,
        k=detector.k,
        parts=detector.parts,
        reference_size=detector.reference_size,
        learning=replace(detector.learning, augmentations=tuple(augmentations)),
        seed=detector.seed,
    )


def _rescaled(again: WindowModel, model: WindowModel) -> Score:
    """Score windows on one model's scale by another model."""

    def score(windows: Samples) -> Samples:
        return again.score_windows(again.standardise(windows * model.scale + model.centre))

    return score


def _possible(channels: int) -> list[WindowFault]:
    """The faults that a series of so many channels can have."""
    return [one for one in WINDOW_FAULTS if channels > 1 or one.name != "channel decorrelation"]


def _injection(fault: WindowFault) -> Injection:
    severities = tuple(dict.fromkeys(fault.severities))
    return Injection(fault.name, severities, fault.inject)
