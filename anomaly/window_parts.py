"""Parts of a window's strangeness: each looks at one thing and says how far it is from normal.

In: standardised windows [N, L, C]. Out: one distance a window. A part is prepared with reference
windows; distances can leave out references that overlap a window in time, so that normal windows
can be measured among themselves. A new view of a window is a class here and a name in ``PARTS``.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from .distances import Integers, Lengths, Matrix, Nearest
from .learned import Directions
from .window_learning import WindowSpace
from .windows import Windows

PartName = Literal["point", "window", "residual", "learned"]
PARTS: tuple[PartName, ...] = ("point", "window", "residual", "learned")
Floats = NDArray[np.float64]


class WindowPart(Protocol):
    """One way for a window to be strange."""

    name: PartName

    def measure(self, windows: Windows, near: int) -> tuple[Floats, Integers]:
        """Give distances to the ``near`` nearest reference windows and their numbers.

        Both are [N, near]; a part without neighbours gives its value and no number, [N, 1] and
        [N, 0].
        """
        ...


class PointPart:
    """The last value alone, in all channels: the amplitude that a unit sphere forgets.

    Args:
        reference: Standardised reference windows, [R, L, C].
    """

    name: PartName = "point"

    def __init__(self, reference: Windows) -> None:
        self._lengths = Lengths(reference[:, -1])

    def measure(self, windows: Windows, near: int) -> tuple[Floats, Integers]:
        """Measure Euclidean distances between last values."""
        return _pair(self._lengths.nearest(windows[:, -1], near))


class MainDirections:
    """The main directions of normal windows.

    Args:
        middle: Mean window, flat, [L * C].
        directions: Orthonormal, [L * C, P].
    """

    def __init__(self, middle: Floats, directions: Matrix) -> None:
        self.middle, self.directions = middle, directions

    @classmethod
    def of(cls, windows: Windows, count: int) -> MainDirections:
        """Find at most ``count`` directions from normal windows; all of them where few differ."""
        flat = windows.reshape(len(windows), -1)
        middle = flat.mean(axis=0)
        centred = flat - middle
        if centred.shape[1] <= centred.shape[0]:
            _, vectors = np.linalg.eigh(centred.T @ centred)
            return cls(middle, np.ascontiguousarray(vectors[:, ::-1][:, :count]))
        values, vectors = np.linalg.eigh(centred @ centred.T)
        kept = np.argsort(-values)[: min(count, int((values > 1e-9 * values.max()).sum()))]
        directions = centred.T @ vectors[:, kept]
        return cls(middle, directions / np.linalg.norm(directions, axis=0))

    def project(self, windows: Windows) -> Matrix:
        """Give coordinates along the directions, [N, P]; each window alone."""
        centred = windows.reshape(len(windows), -1) - self.middle
        projected: Matrix = np.stack([row @ self.directions for row in centred])
        return projected

    def residual(self, windows: Windows) -> Floats:
        """Give the length of what the directions cannot express, [N]."""
        centred = windows.reshape(len(windows), -1) - self.middle
        along = self.project(windows)
        left = np.einsum("nd,nd->n", centred, centred) - np.einsum("np,np->n", along, along)
        rest: Floats = np.sqrt(np.maximum(left, 0.0))
        return rest


class ShapePart:
    """The window in the main directions of normal windows.

    Args:
        main: The directions.
        reference: Standardised reference windows.
    """

    name: PartName = "window"

    def __init__(self, main: MainDirections, reference: Windows) -> None:
        self._main = main
        self._lengths = Lengths(main.project(reference))

    def measure(self, windows: Windows, near: int) -> tuple[Floats, Integers]:
        """Measure Euclidean distances between projected windows."""
        return _pair(self._lengths.nearest(self._main.project(windows), near))


class ResidualPart:
    """What the main directions cannot express; Sub-PCA's score.

    Source: Shyu et al. (2003); on windows as in TSB-AD (NeurIPS 2024).
    """

    name: PartName = "residual"

    def __init__(self, main: MainDirections) -> None:
        self._main = main

    def measure(self, windows: Windows, near: int) -> tuple[Floats, Integers]:
        """Give the length of the residual; there are no neighbours."""
        del near
        empty = np.empty((len(windows), 0), dtype=np.int64)
        return self._main.residual(windows)[:, None], empty


class LearnedPart:
    """The window in the learned space.

    Args:
        space: The trained space.
        reference: Standardised reference windows.
    """

    name: PartName = "learned"

    def __init__(self, space: WindowSpace, reference: Windows) -> None:
        self._space = space
        self._directions = Directions(space.embed(reference), space.fingerprint)

    def measure(self, windows: Windows, near: int) -> tuple[Floats, Integers]:
        """Measure chords between learned vectors."""
        return _pair(self._directions.nearest(self._space.embed(windows), near))


def _pair(nearest: Nearest) -> tuple[Floats, Integers]:
    return nearest.distances, nearest.rows
