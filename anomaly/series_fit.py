"""What is fitted for series that are compared with each other, and how it is kept up to date.

In: normal stretches of one series, or of all of them when pooled. Out: a :class:`FittedSeries`: the
model of their windows and a threshold from the stretches that the encoder has not seen. Each is
immutable, so what was there before an append is what undo goes back to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import Progress, TooFewRows
from .distances import Integers
from .series_settings import Mode, SeriesSettings
from .threshold import Threshold, calibrate
from .window_model import WindowModel, learn_window_model
from .window_reference import ReferenceWindows
from .windows import Values, cover, cut, spread_out, suggest_lookback, whole_ends

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """A stretch of normal time.

    Attributes:
        series: Id of the series it belongs to.
        values: On their own scale, [T, C]; NaN is a gap.
        unseen_from: First step that the encoder has not seen; 0 for a stretch that came later.
    """

    series: Any
    values: Values
    unseen_from: int

    def seen_ends(self, lookback: int) -> Integers:
        """Ends of the windows that the encoder may see."""
        ends = whole_ends(self.values, lookback)
        return ends[ends < self.unseen_from]

    def held_ends(self, lookback: int) -> Integers:
        """Ends of the windows that share no step with one the encoder saw."""
        ends = whole_ends(self.values, lookback)
        return ends[ends >= self.unseen_from + lookback - 1]


@dataclass(frozen=True, slots=True, eq=False)
class FittedSeries:
    """What was fitted for one series, or for all of them together.

    Attributes:
        model: Of normal windows.
        threshold: From held-out stretches.
        held: Their scores, ascending.
        stretches: The normal stretches, in the order in which the model numbers them.
        stale: Why the threshold has to be set again; empty when it stands.
    """

    model: WindowModel
    threshold: Threshold
    held: Floats
    stretches: tuple[Stretch, ...]
    stale: str = ""

    def extended(self, later: Sequence[Stretch]) -> FittedSeries:
        """Compare with later normal stretches as well, as densely as with the first ones.

        Nothing is learned again; the threshold stays and is marked stale.
        """
        reference = self.model.reference
        lookback = self.model.lookback
        known = sum(len(whole_ends(one.values, lookback)) for one in self.stretches)
        owners, ends, windows = [reference.owner], [reference.ends], [reference.windows]
        for number, one in enumerate(later, start=len(self.stretches)):
            every = whole_ends(one.values, lookback)
            if not len(every):
                raise TooFewRows(
                    f"the stretch of {len(one.values)} steps for series {one.series!r} holds no "
                    f"whole window of {lookback}; append a longer one"
                )
            kept = spread_out(every, max(1, round(len(reference) / known * len(every))))
            owners.append(np.full(len(kept), number))
            ends.append(kept)
            windows.append(cut(self.model.standardise(one.values), lookback, kept))
        grown = ReferenceWindows(
            np.concatenate(owners), np.concatenate(ends), np.concatenate(windows)
        )
        return replace(
            self,
            model=self.model.with_reference(grown),
            stretches=(*self.stretches, *later),
            stale=f"{len(later)} stretches were appended",
        )

    def recalibrated(self, false_alarm_rate: float, mode: Mode) -> FittedSeries:
        """Set the threshold again, from everything that the encoder has not seen."""
        held = score_held(self.model, self.stretches, mode)
        return replace(self, threshold=calibrate(held, false_alarm_rate), held=held, stale="")


def fit_stretches(
    settings: SeriesSettings,
    ids: Sequence[Any],
    series: Sequence[Values],
    progress: Progress | None = None,
) -> tuple[FittedSeries, list[str]]:
    """Fit on series that are compared with each other.

    Args:
        settings: Of the detector.
        ids: One a series.
        series: Normal values, [T, C] each; the last share of each is held out.
        progress: Display of the training.

    Returns:
        What was fitted, and what the reader should know about it.

    Raises:
        TooFewRows: Series too short for their windows or for the false-alarm rate.
    """
    lookback = settings.lookback or suggest_lookback(max(series, key=len))
    stretches = [
        Stretch(one, values, len(values) - round(settings.calibration_share * len(values)))
        for one, values in zip(ids, series, strict=True)
    ]
    seen = [one.seen_ends(lookback) for one in stretches]
    held_out = sum(len(one.held_ends(lookback)) for one in stretches)
    if sum(map(len, seen)) < 2 or not held_out:
        raise TooFewRows(
            f"series of {[len(values) for values in series]} steps leave "
            f"{sum(map(len, seen))} windows of {lookback} to learn from and "
            f"{held_out} to calibrate on; fit on longer series or shorten lookback"
        )
    model = learn_window_model(
        series,
        learn_from=seen,
        lookback=lookback,
        k=settings.k,
        parts=settings.parts,
        reference_size=settings.reference_size,
        learning=replace(settings.learning, augmentations=settings.augmentations),
        seed=settings.seed,
        progress=progress,
    )
    notes = []
    windows = sum(len(whole_ends(values, lookback)) for values in series)
    if windows > len(model.reference):
        notes.append(
            f"{len(model.reference)} of {windows} normal windows are compared with, evenly "
            "over time; raise reference_size for more"
        )
    held = score_held(model, stretches, settings.mode)
    notes.append(
        f"windows overlap: {len(held)} held-out scores are worth about "
        f"{max(1, len(held) // lookback)} independent ones"
    )
    threshold = calibrate(held, settings.false_alarm_rate)
    return FittedSeries(model, threshold, held, tuple(stretches)), notes


def score_held(model: WindowModel, stretches: Sequence[Stretch], mode: Mode) -> Floats:
    """Score what the encoder has not seen, references that overlap left out; ascending."""
    scores = [np.empty(0)]
    for number, one in enumerate(stretches):
        ends = one.held_ends(model.lookback)
        if not len(ends):
            continue
        at_end = np.full(len(one.values), np.nan)
        at_end[ends] = model.normal_strangeness(one.values, number, ends)
        judged = at_end if mode == "causal" else cover(at_end, model.lookback)
        scores.append(judged[np.isfinite(judged)])
    return np.sort(np.concatenate(scores))
