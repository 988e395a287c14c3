"""The model of normal windows: several ways to be strange, each in its own normal spread.

In: normal series [T, C] of one kind. Out: a :class:`WindowModel` that scores the windows ending at
given steps. Its parts (``window_parts.py``) look at the last value, the window itself, what the
main directions of normal windows cannot express, its levels, its spectrum and, where an encoder was
asked for, the window in a learned space. Each part's distance is measured in units of what nine in
ten normal windows stay within (leave-one-out, with everything that overlaps left out too); how they
are joined is in ``window_joining.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from ..core import Progress
from .distances import Integers, Lengths
from .window_joining import join_parts, join_views
from .window_learning import NeighbourWindows, WindowLearning, WindowSpace, learn_windows
from .window_parts import (
    LEAST_SPREAD,
    LEAST_STEP_SPREAD,
    ChannelsPart,
    FeaturePart,
    Floats,
    LearnedPart,
    MainDirections,
    PartName,
    ResidualPart,
    View,
    WindowPart,
    as_they_are,
    last_values,
    levels,
    spectrum,
)
from .window_reference import ReferenceWindows, choose_reference
from .windows import Values, Windows, cut, spread_out

WITHIN = 0.9
"""Share of normal windows that stay within the spread of a part."""

MOST_TO_MEASURE = 1000
CHUNK = 4096
"""Windows scored at a time: bounds the memory, not the answer."""


class WindowModel:
    """What was learned about normal windows, and how far others are from it.

    Args:
        centre: Of each channel, [C].
        scale: Of each channel, [C].
        k: Neighbours that a distance is the mean of.
        main: Main directions of normal windows.
        early: The same of those windows alone that the encoder may see, to judge the others by.
        space: The learned space, or None without that part.
        spreads: Part -> the spread of each of its views, [V]; the keys are the parts in use, in
            order.
        reference: The normal windows.
    """

    def __init__(
        self,
        centre: Floats,
        scale: Floats,
        k: int,
        main: MainDirections,
        early: MainDirections,
        space: WindowSpace | None,
        spreads: Mapping[PartName, Floats],
        reference: ReferenceWindows,
    ) -> None:
        self.centre, self.scale, self.k = centre, scale, k
        self.main, self.early, self.space, self.spreads = main, early, space, dict(spreads)
        self.reference = reference
        self.parts = {name: _build(name, main, space, reference.windows) for name in spreads}

    @property
    def lookback(self) -> int:
        """L, steps of a window."""
        return int(self.reference.windows.shape[1])

    def with_reference(self, reference: ReferenceWindows) -> WindowModel:
        """Give the same model beside other normal windows."""
        return self._beside(reference, self.main)

    def as_early(self, reference: ReferenceWindows) -> WindowModel:
        """Give the model as one that never saw the held-out windows, beside other normal ones."""
        return self._beside(reference, self.early)

    def _beside(self, reference: ReferenceWindows, main: MainDirections) -> WindowModel:
        return WindowModel(
            self.centre, self.scale, self.k, main, self.early, self.space, self.spreads, reference
        )

    def standardise(self, values: Values) -> Values:
        """Put values [..., C] on the standard scale."""
        scaled: Values = (values - self.centre) / self.scale
        return scaled

    @cached_property
    def whole_windows(self) -> Lengths:
        """Reference windows with all their channels at once, [R, L * C]; what evidence shows."""
        return Lengths(self.reference.windows.reshape(len(self.reference), -1))

    def strangeness(self, windows: Windows) -> dict[PartName, Floats]:
        """Measure standardised windows, each part in its normal spread, [N] a part."""
        out = {name: np.empty(len(windows)) for name in self.spreads}
        for start in range(0, len(windows), CHUNK):
            piece = slice(start, start + CHUNK)
            for name, spreads in self.look(windows[piece]).items():
                out[name][piece] = join_views(spreads)
        return out

    def look(self, windows: Windows) -> dict[PartName, Floats]:
        """Measure every view of standardised windows in its normal spread, [V, N] a part."""
        looked: dict[PartName, Floats] = {}
        for name, part in self.parts.items():
            views = [distances.mean(axis=1) for distances, _ in part.measure(windows, self.k)]
            looked[name] = np.stack(views) / self.spreads[name][:, None]
        return looked

    def normal_strangeness(self, values: Values, owner: int, ends: Integers) -> Floats:
        """Score windows of a fitted series, references that overlap them left out, [N]."""
        windows = cut(self.standardise(values), self.lookback, ends)
        return self.apart(windows, np.full(len(ends), owner), ends)

    def apart(self, windows: Windows, owner: Integers, ends: Integers) -> Floats:
        """Score standardised windows of known origin as if they were new, [N].

        References that overlap them are left out, and directions come from windows before them.
        """
        measured = {}
        for name, known in self.parts.items():
            part = ResidualPart(self.early) if name == "residual" else known
            views = _apart(part, windows, owner, ends, self.reference, self.k)
            measured[name] = join_views(views / self.spreads[name][:, None])
        return join_parts(measured)

    def score_windows(self, windows: Windows) -> Floats:
        """Score standardised windows [N, L, C]; larger is stranger, [N]."""
        return join_parts(self.strangeness(windows))


def learn_window_model(
    series: Sequence[Values],
    *,
    learn_from: Sequence[Integers],
    lookback: int,
    k: int,
    parts: Sequence[PartName],
    reference_size: int,
    learning: WindowLearning,
    seed: int,
    progress: Progress | None = None,
) -> WindowModel:
    """Learn what normal windows look like.

    Args:
        series: Normal values, one [T, C] a series; NaN marks a gap.
        learn_from: Ends of the windows the encoder may see, a series.
        lookback: L.
        k: Neighbours a distance is the mean of.
        parts: Which parts to use.
        reference_size: Most windows to keep, evenly over time and series.
        learning: Of the encoder.
        seed: Of everything random.
        progress: Display of the training.
    """
    every = np.concatenate(series)
    centre, scale = np.nanmean(every, axis=0), np.nanstd(every, axis=0)
    scale = np.where(scale > 1e-12 * np.maximum(1.0, np.abs(centre)), scale, 1.0)
    scaled = [(values - centre) / scale for values in series]
    reference = choose_reference(scaled, lookback, reference_size)
    early = np.concatenate(
        [
            cut(values, lookback, spread_out(ends, max(1, reference_size // len(series))))
            for values, ends in zip(scaled, learn_from, strict=True)
            if len(ends)
        ]
    )
    main, early_main = MainDirections.of(reference.windows), MainDirections.of(early)
    space = None
    if "learned" in parts:
        owner = np.concatenate([np.full(len(e), i) for i, e in enumerate(learn_from)])
        pairs = NeighbourWindows(scaled, owner, np.concatenate(learn_from), lookback, learning)
        space = learn_windows(pairs, seed=seed, progress=progress)
    k = min(k, max(1, len(reference) - reference.crowding()))
    at = spread_out(np.arange(len(reference)), MOST_TO_MEASURE)
    spreads: dict[PartName, Floats] = {}
    for name in parts:
        part = _build(name, main, space, reference.windows)
        views = _apart(
            part, reference.windows[at], reference.owner[at], reference.ends[at], reference, k
        )
        spreads[name] = np.array([max(_spread_of(one), part.least) for one in views])
    return WindowModel(centre, scale, k, main, early_main, space, spreads, reference)


def _spread_of(distances: Floats) -> float:
    """What nine in ten known distances stay within; 0 where none is known."""
    known = distances[np.isfinite(distances)]
    return float(np.quantile(known, WITHIN)) if len(known) else 0.0


def _build(
    name: PartName, main: MainDirections, space: WindowSpace | None, reference: Windows
) -> WindowPart:
    if name == "window":
        least = LEAST_STEP_SPREAD * float(np.sqrt(reference.shape[1]))
        return ChannelsPart(as_they_are, reference, least)
    if name == "spectrum":
        return ChannelsPart(spectrum, reference, LEAST_SPREAD)
    if name == "residual":
        return ResidualPart(main)
    if name == "learned":
        assert space is not None
        return LearnedPart(space, reference)
    return FeaturePart(last_values if name == "point" else levels, reference)


def _apart(
    part: WindowPart,
    windows: Windows,
    owner: Integers,
    ends: Integers,
    reference: ReferenceWindows,
    k: int,
) -> Floats:
    """Mean distance to the k nearest references that do not overlap, [V, N]."""
    views = part.measure(windows, min(len(reference), k + reference.crowding()))
    return np.stack([_nearest_apart(view, owner, ends, reference, k) for view in views])


def _nearest_apart(
    view: View, owner: Integers, ends: Integers, reference: ReferenceWindows, k: int
) -> Floats:
    distances, rows = view
    if not rows.shape[1]:
        return distances[:, 0]
    usable = ~reference.overlapping(owner, ends, rows)
    first = usable & (np.cumsum(usable, axis=1) <= k)
    counts = first.sum(axis=1)
    sums = np.where(first, distances, 0.0).sum(axis=1)
    mean: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return mean
