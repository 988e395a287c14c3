"""Evidence for a stretch of a series: which normal stretches it was compared with.

In: a fitted detector and the values around an alert. Out: a :class:`WindowAlert` with the window,
its nearest normal windows and how strange they are themselves, what each part says, how strange
each channel is, and the steps that differ most: all that a drawing needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import InputError
from .distances import Integers
from .series import SeriesDetector
from .window_joining import join_channels, join_parts, join_views
from .window_model import WindowModel
from .window_parts import Floats
from .windows import Values, Windows, cut

SHOWN_DIFFERENCES = 5
SHOWN_NEIGHBOURS = 3


@dataclass(frozen=True, slots=True, eq=False)
class NormalWindow:
    """A normal window near the one in question.

    Attributes:
        series: Number of its series in the fit.
        end: Step of that series it ends at.
        distance: Plain distance between whole windows, all channels at once.
        own_score: Its own leave-one-out score.
        values: On their own scale, [L, C].
    """

    series: int
    end: int
    distance: float
    own_score: float
    values: Values


@dataclass(frozen=True, slots=True)
class StepDifference:
    """A step and channel in which a window differs from its nearest normal ones.

    Attributes:
        channel: Its name.
        steps_before: Steps before the end of the window.
        value: On its own scale.
        usual: Mean of the neighbours there.
        spreads: Difference in standard deviations of the channel.
    """

    channel: str
    steps_before: int
    value: float
    usual: float
    spreads: float


@dataclass(frozen=True, slots=True, eq=False)
class WindowAlert:
    """A stretch with the evidence behind its score.

    Attributes:
        end: Step it ends at.
        score: Of the window that ends there.
        margin: Score minus threshold.
        parts: Part -> its distance in normal spreads.
        channels: Channel -> how strange it is, strangest first; empty where no part looks at
            channels one by one.
        values: The window, on its own scale, [L, C].
        neighbours: The nearest normal windows.
        differences: Largest first.
    """

    end: int
    score: float
    margin: float
    parts: dict[str, float]
    channels: dict[str, float]
    values: Values
    neighbours: tuple[NormalWindow, ...]
    differences: tuple[StepDifference, ...]


def explain_window(
    detector: SeriesDetector, values: Values, end: int, series: Any = None
) -> WindowAlert:
    """Gather the evidence for the window that ends at a step.

    Args:
        detector: Fitted.
        values: The series, [T, C], on its own scale.
        end: A step with a whole window before it.
        series: Its id.

    Raises:
        InputError: No whole window ends there.
    """
    fitted = detector._of(series)
    model = fitted.model
    lookback = model.lookback
    if not lookback - 1 <= end < len(values):
        raise InputError(
            f"no window of {lookback} steps ends at step {end} of {len(values)}; choose "
            f"{lookback - 1} to {len(values) - 1}"
        )
    own = values[end - lookback + 1 : end + 1]
    if not np.isfinite(own).all():
        raise InputError(f"the window that ends at step {end} has a gap; choose another step")
    window = cut(model.standardise(values), lookback, np.array([end]))
    looked = model.look(window)
    measured = {name: join_views(spreads) for name, spreads in looked.items()}
    score = float(join_parts(measured)[0])
    shown = min(max(SHOWN_NEIGHBOURS, model.k), len(model.reference))
    found = model.whole_windows.nearest(window.reshape(1, -1), shown)
    rows, distances = found.rows[0], found.distances[0]
    neighbours = tuple(
        _normal_window(model, int(row), float(distance))
        for row, distance in zip(rows, distances, strict=True)
    )
    return WindowAlert(
        end,
        score,
        score - fitted.threshold.value,
        {name: float(value[0]) for name, value in measured.items()},
        _rank_channels(join_channels(looked), detector.channels_),
        own,
        neighbours,
        _differences(model, window[0], rows, detector.channels_),
    )


def _rank_channels(strange: Floats | None, channels: tuple[str, ...]) -> dict[str, float]:
    """Channels of one window [C, 1], strangest first."""
    if strange is None:
        return {}
    order = np.argsort(-strange[:, 0], kind="stable")
    return {channels[int(at)]: float(strange[at, 0]) for at in order}


def _normal_window(model: WindowModel, row: int, distance: float) -> NormalWindow:
    reference = model.reference
    at = np.array([row])
    alone = model.apart(reference.windows[at], reference.owner[at], reference.ends[at])
    values = reference.windows[row] * model.scale + model.centre
    return NormalWindow(
        int(reference.owner[row]), int(reference.ends[row]), distance, float(alone[0]), values
    )


def _differences(
    model: WindowModel, window: NDArray[np.float64], rows: Integers, channels: tuple[str, ...]
) -> tuple[StepDifference, ...]:
    compared: Windows = model.reference.windows[rows] if len(rows) else np.zeros((1, *window.shape))
    usual = compared.mean(axis=0)
    gap = window - usual
    order = np.argsort(-np.abs(gap), axis=None, kind="stable")[:SHOWN_DIFFERENCES]
    picked = [np.unravel_index(at, gap.shape) for at in order]
    return tuple(
        StepDifference(
            channels[int(channel)],
            len(window) - 1 - int(step),
            float(window[step, channel] * model.scale[channel] + model.centre[channel]),
            float(usual[step, channel] * model.scale[channel] + model.centre[channel]),
            float(gap[step, channel]),
        )
        for step, channel in picked
    )
