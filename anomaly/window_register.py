"""The register of a detector of series: what it cannot see in a stretch of time.

In: a fitted detector, which keeps its normal stretches. Out: its register, measured on what the
encoder has not seen of one of them, against raw-window neighbours and against the same detector
trained without each of its augmentations in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core import Augmentation, Progress, UnknownId, silent
from .blindspots import INJECTIONS, Injection, Register, Samples, Score, measure_register
from .distances import Lengths
from .injection import WINDOW_FAULTS, WindowFault
from .invariances import list_window_invariances
from .series import SeriesDetector
from .series_fit import FittedSeries
from .window_model import WindowModel, learn_window_model
from .windows import Values, cut, whole_ends


def measure_window_register(
    detector: SeriesDetector,
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
        series: Which of its series to measure on; None for the first.
        budget: Share of held-out windows that may alert; None for its false-alarm rate.
        count: Injections a kind and severity.
        seed: Of the injections.
        progress: Display.

    Returns:
        The register.

    Raises:
        UnknownId: No such series.
    """
    detector._require_fitted()
    fitted = detector._of(next(iter(detector.fitted_)) if series is None else series)
    model = fitted.model
    owner = _owner(fitted, series)
    stretch = fitted.stretches[owner]
    ends = stretch.held_ends(model.lookback)
    held = cut(model.standardise(stretch.values), model.lookback, ends)
    seen = stretch.values[: stretch.unseen_from]
    reference = _before(model, owner, stretch.unseen_from)
    rivals: dict[str, Score] = {"raw-window neighbours": _raw_windows(reference)}
    for number, augmentation in enumerate(detector.augmentations):
        if "learned" in detector.parts:
            kept = detector.augmentations[:number] + detector.augmentations[number + 1 :]
            again = _retrained(detector, fitted, seen, kept)
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


def _owner(fitted: FittedSeries, series: Any) -> int:
    """Number of the first stretch of a series; of any where none is asked for."""
    for number, one in enumerate(fitted.stretches):
        if series is None or one.series == series:
            return number
    known = ", ".join(repr(one.series) for one in fitted.stretches)
    raise UnknownId(f"no stretch of series {series!r} was fitted; choose one of {known}")


def _before(model: WindowModel, owner: int, start: int) -> WindowModel:
    """The model that knows no more than what ends before the held-out stretch."""
    reference = model.reference
    keep = np.flatnonzero((reference.owner != owner) | (reference.ends < start))
    return model.as_early(
        replace(
            reference,
            owner=reference.owner[keep],
            ends=reference.ends[keep],
            windows=reference.windows[keep],
        )
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
