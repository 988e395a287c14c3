"""Parts of a window's strangeness: each looks at one thing and says how far it is from normal.

In: standardised windows [N, L, C]. Out: for each of a part's views, the distances to the nearest
reference windows and their numbers. The window itself, its spectrum and its residual have a view of
every channel, so that one channel that has left its range for good does not drown the others.
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
UNLEARNED: tuple[PartName, ...] = PARTS[:-1]
"""What is looked at unless the caller says otherwise: on the series that settings were chosen on,
the learned part changed little and cost nearly all of the time."""

BY_CHANNEL: tuple[PartName, ...] = ("window", "residual", "spectrum")
"""Parts with one view of every channel, which can say where a window is strange."""

Floats = NDArray[np.float64]
View = tuple[Floats, Integers]
"""Distances [N, near] and numbers of references, [N, near]; [N, 1] and [N, 0] without any."""

EXPRESSED = 0.99
"""Share of the variance of normal windows that the main directions hold."""

MOST_DIRECTIONS = 512
LEAST_SPREAD = 0.01
LEAST_STEP_SPREAD = 0.05
"""Standard deviations; a channel that never varies is judged as if it varied by that much at every
step."""


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


def as_they_are(windows: Windows) -> Matrix:
    """The values as they are, [N, L * C]."""
    return windows.reshape(len(windows), -1)


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
    """How much of each frequency there is, whenever it comes, [N, (L // 2 + 1) * C]."""
    swings = windows - windows.mean(axis=1, keepdims=True)
    sizes = np.abs(np.fft.rfft(swings, axis=1)) / np.sqrt(windows.shape[1])
    flat: Matrix = sizes.reshape(len(windows), -1)
    return flat


class ChannelsPart:
    """Features of every channel alone: each finds its own nearest reference window.

    A fault of one channel does not drown in the others, and a reference has to match no more than
    one channel at a time.

    Args:
        features: Windows of one channel [N, L, 1] -> features [N, F], each window alone.
        reference: Standardised reference windows, [R, L, C].
        least: As in :class:`WindowPart`.
    """

    def __init__(
        self, features: Callable[[Windows], Matrix], reference: Windows, least: float
    ) -> None:
        self.least = least
        self._features = features
        self._channels = [
            _searcher(features(reference[:, :, c : c + 1])) for c in range(reference.shape[2])
        ]

    def measure(self, windows: Windows, near: int) -> list[View]:
        """Measure Euclidean distances within each channel."""
        return [
            _pair(searcher.nearest(self._features(windows[:, :, c : c + 1]), near))
            for c, searcher in enumerate(self._channels)
        ]


class SameRows:
    """Reference rows that are all the same: the first ones are the nearest of any query.

    Args:
        rows: [R, F], equal to each other.
    """

    def __init__(self, rows: Matrix) -> None:
        self._row = rows[0]

    def nearest(self, queries: Matrix, k: int) -> Nearest:
        """Answer as :meth:`Lengths.nearest` does, without a search."""
        gap = queries - self._row
        distance = np.sqrt(np.einsum("qf,qf->q", gap, gap))
        rows = np.broadcast_to(np.arange(k, dtype=np.int64), (len(queries), k))
        return Nearest(np.repeat(distance[:, None], k, axis=1), rows)


def _searcher(rows: Matrix) -> Lengths | SameRows:
    """A channel that never varies is common (switches, states), and needs no search."""
    return SameRows(rows) if (rows == rows[0]).all() else Lengths(rows)


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
        """Give the length of what the directions cannot express in each channel, [N, C].

        Each window alone, so that an answer does not depend on its batch.
        """
        lengths = np.empty((len(windows), windows.shape[2]))
        for number, centred in enumerate(windows.reshape(len(windows), -1) - self.middle):
            left = centred - self.directions @ (centred @ self.directions)
            lengths[number] = np.sqrt(np.square(left.reshape(windows.shape[1:])).sum(axis=0))
        return lengths


class ResidualPart:
    """What the main directions of all channels together cannot express, channel by channel.

    Source: Shyu et al. (2003); on windows as in TSB-AD (NeurIPS 2024), Sub-PCA. Channel by channel:
        the contributions of Miller, Swanson and Heckler (1998).
    """

    least = LEAST_SPREAD

    def __init__(self, main: MainDirections) -> None:
        self._main = main

    def measure(self, windows: Windows, near: int) -> list[View]:
        """Give the length of the residual in each channel; there are no neighbours."""
        del near
        nobody = np.empty((len(windows), 0), np.int64)
        return [(channel[:, None], nobody) for channel in self._main.residual(windows).T]


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
