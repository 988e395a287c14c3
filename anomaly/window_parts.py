"""Parts of a window's strangeness: each looks at one thing and says how far it is from normal.

In: standardised windows [N, L, C]. Out: for each of a part's views, the distances to the nearest
reference windows and their numbers; most parts have one view, the window itself has one a channel.
Numbers let the caller leave out references that overlap a window in time, so that normal windows
can be measured among themselves. A new part is a class here, a name in ``PARTS`` and an entry in
``invariances.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from .distances import Integers, Lengths, Matrix, Nearest
from .learned import Directions
from .window_learning import WindowSpace
from .windows import Windows

PartName = Literal["point", "window", "residual", "levels", "spectrum", "learned"]
PARTS: tuple[PartName, ...] = ("point", "window", "residual", "levels", "spectrum", "learned")
Floats = NDArray[np.float64]
View = tuple[Floats, Integers]
"""Distances [N, near] and numbers of references, [N, near]; [N, 1] and [N, 0] without any."""

EXPRESSED = 0.99
"""Share of the variance of normal windows that the main directions hold."""

MOST_DIRECTIONS = 512
LEAST_SPREAD = 0.01
LEAST_STEP_SPREAD = 0.05
"""Standard deviations; a channel that never varies is judged as if it varied by that much."""


class WindowPart(Protocol):
    """One way for a window to be strange.

    Attributes:
        least: Spread that its distances have at least, so that nothing is divided by zero.
    """

    least: float

    def measure(self, windows: Windows, near: int) -> list[View]:
        """Give distances to the ``near`` nearest reference windows, one entry a view."""
        ...


class FeaturePart:
    """Distances between features of windows.

    Args:
        features: Windows [N, L, C] -> features [N, F], each window alone.
        reference: Standardised reference windows, [R, L, C].
    """

    def __init__(self, features: Callable[[Windows], Matrix], reference: Windows) -> None:
        self.least = LEAST_SPREAD
        self._features = features
        self._lengths = Lengths(features(reference))

    def measure(self, windows: Windows, near: int) -> list[View]:
        """Measure Euclidean distances between features."""
        return [_pair(self._lengths.nearest(self._features(windows), near))]


def last_values(windows: Windows) -> Matrix:
    """The last value alone, in all channels: the amplitude that a unit sphere forgets, [N, C]."""
    values: Matrix = windows[:, -1]
    return values


def levels(windows: Windows) -> Matrix:
    """Where the values lie, whatever their order: mean, deviation, least and largest, [N, 4 C]."""
    return np.concatenate(
        [windows.mean(axis=1), windows.std(axis=1), windows.min(axis=1), windows.max(axis=1)],
        axis=1,
    )


def spectrum(windows: Windows) -> Matrix:
    """How much of each frequency there is, whenever it comes, [N, (L // 2 + 1) C]."""
    swings = windows - windows.mean(axis=1, keepdims=True)
    sizes = np.abs(np.fft.rfft(swings, axis=1)) / np.sqrt(windows.shape[1])
    flat: Matrix = sizes.reshape(len(windows), -1)
    return flat


class ChannelsPart:
    """The window itself: every channel finds its own nearest reference window.

    A fault of one channel does not drown in the others, and a reference has to match no more than
    one channel at a time.

    Args:
        reference: Standardised reference windows, [R, L, C].
    """

    def __init__(self, reference: Windows) -> None:
        self.least = LEAST_STEP_SPREAD * float(np.sqrt(reference.shape[1]))
        self._channels = [Lengths(reference[:, :, c]) for c in range(reference.shape[2])]

    def measure(self, windows: Windows, near: int) -> list[View]:
        """Measure Euclidean distances within each channel."""
        return [
            _pair(lengths.nearest(windows[:, :, channel], near))
            for channel, lengths in enumerate(self._channels)
        ]


class MainDirections:
    """The main directions of normal windows.

    Args:
        middle: Mean window, flat, [L * C].
        directions: Orthonormal, [L * C, P].
    """

    def __init__(self, middle: Floats, directions: Matrix) -> None:
        self.middle, self.directions = middle, directions

    @classmethod
    def of(cls, windows: Windows) -> MainDirections:
        """Find the fewest directions that hold ``EXPRESSED`` of the variance of normal windows."""
        flat = windows.reshape(len(windows), -1)
        middle = flat.mean(axis=0)
        centred = flat - middle
        wide = centred.shape[1] > centred.shape[0]
        values, vectors = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        held = np.cumsum(values)
        count = int(np.searchsorted(held, EXPRESSED * held[-1])) + 1 if held[-1] > 0 else 0
        directions = vectors[:, : min(count, MOST_DIRECTIONS)]
        if wide:
            directions = centred.T @ directions
            directions = directions / np.linalg.norm(directions, axis=0)
        return cls(middle, np.ascontiguousarray(directions))

    def residual(self, windows: Windows) -> Floats:
        """Give the length of what the directions cannot express, each window alone, [N]."""
        centred = windows.reshape(len(windows), -1) - self.middle
        along = [float(np.square(row @ self.directions).sum()) for row in centred]
        left = np.einsum("nd,nd->n", centred, centred) - np.array(along)
        rest: Floats = np.sqrt(np.maximum(left, 0.0))
        return rest


class ResidualPart:
    """What the main directions cannot express; Sub-PCA's score.

    Source: Shyu et al. (2003); on windows as in TSB-AD (NeurIPS 2024).
    """

    least = LEAST_SPREAD

    def __init__(self, main: MainDirections) -> None:
        self._main = main

    def measure(self, windows: Windows, near: int) -> list[View]:
        """Give the length of the residual; there are no neighbours."""
        del near
        return [(self._main.residual(windows)[:, None], np.empty((len(windows), 0), np.int64))]


class LearnedPart:
    """The window in the learned space.

    Args:
        space: The trained space.
        reference: Standardised reference windows.
    """

    least = LEAST_SPREAD

    def __init__(self, space: WindowSpace, reference: Windows) -> None:
        self._space = space
        self._directions = Directions(space.embed(reference), space.fingerprint)

    def measure(self, windows: Windows, near: int) -> list[View]:
        """Measure chords between learned vectors."""
        return [_pair(self._directions.nearest(self._space.embed(windows), near))]


def _pair(nearest: Nearest) -> View:
    return nearest.distances, nearest.rows
