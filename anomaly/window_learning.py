"""The learned space of windows: an encoder that was shown faults as negatives.

In: normal series on the standard scale. Out: a :class:`WindowSpace`. A window and one that ends a
few steps away are a positive pair, through the augmentations the caller names, if any; windows with
an injected fault are negatives. An augmentation teaches the encoder to ignore something, so faults
of the kinds it hides are left out of the negatives: what was declared invisible is not also
declared wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..core import Augmentation, Pairs, Progress, WindowEncoder, fingerprint
from .distances import Integers
from .injection import WINDOW_FAULTS, draw_faults
from .invariances import kinds_hidden_by
from .learning import Serving, Units, train
from .windows import Values, Windows, cut


@dataclass(frozen=True, slots=True)
class WindowLearning:
    """How the window encoder is trained.

    Attributes:
        steps: Optimiser steps, about.
        batch_size: Pairs a step.
        negatives: Faulty windows a pair.
        reach: A positive ends at most that many steps away.
        temperature: Of the objective, fixed.
        learning_rate: Peak rate.
        width: Length of a vector.
        hidden: Units between features and vector.
        augmentations: Views of the positive, in order; what they change is ignored.
        faults: Whether faults are negatives.
    """

    steps: int = 300
    batch_size: int = 128
    negatives: int = 1
    reach: int = 2
    temperature: float = 0.1
    learning_rate: float = 2e-3
    width: int = 32
    hidden: int = 128
    augmentations: tuple[Augmentation, ...] = ()
    faults: bool = True


class WindowSpace:
    """Windows as the encoder sees them, on the unit sphere.

    Args:
        encoder: The trained encoder.
    """

    def __init__(self, encoder: WindowEncoder) -> None:
        self.encoder = encoder
        self._serving = Serving(encoder)
        config = encoder.config
        self.fingerprint = fingerprint(
            encoder, preprocessing={"lookback": config.lookback, "channels": config.channels}
        )

    def embed(self, windows: Windows) -> Units:
        """Encode standardised windows [N, L, C] as unit vectors, [N, width]."""
        return self._serving.embed(windows)


class NeighbourWindows:
    """Pairs of windows a few steps apart, with faulty windows as negatives.

    Args:
        series: Values on the standard scale, one [T, C] a series.
        owner: Series number of each window, [N].
        ends: Step each window ends at, [N].
        lookback: L.
        settings: Of the training.
    """

    def __init__(
        self,
        series: Sequence[Values],
        owner: Integers,
        ends: Integers,
        lookback: int,
        settings: WindowLearning,
    ) -> None:
        self.series, self.owner, self.ends = series, owner, ends
        self.lookback, self.settings = lookback, settings
        hidden = kinds_hidden_by(settings.augmentations)
        self.faults = tuple(fault for fault in WINDOW_FAULTS if fault.name not in hidden)

    def __len__(self) -> int:
        return len(self.ends)

    def batch(self, rows: torch.Tensor, generator: torch.Generator) -> Pairs:
        """Make the pairs of windows ``rows``."""
        draw = np.random.default_rng(int(torch.randint(2**62, (1,), generator=generator)))
        at = rows.numpy()
        anchors = self._cut(self.owner[at], self.ends[at])
        moved = self.ends[at] + draw.integers(
            -self.settings.reach, self.settings.reach + 1, len(at)
        )
        positives = torch.from_numpy(self._cut(self.owner[at], moved)).float()
        for augmentation in self.settings.augmentations:
            positives = augmentation(positives, generator)
        count = self.settings.negatives * len(at)
        faulty = (
            draw_faults(anchors, count, draw, self.faults) if self.settings.faults else anchors[:0]
        )
        return Pairs(
            anchors=torch.from_numpy(anchors).float(),
            positives=positives,
            negatives=torch.from_numpy(faulty).float(),
        )

    def _cut(self, owner: Integers, ends: Integers) -> Windows:
        windows = np.empty((len(ends), self.lookback, self.series[0].shape[1]))
        for number in np.unique(owner):
            own = owner == number
            last = len(self.series[number]) - 1
            inside = np.clip(ends[own], self.lookback - 1, last)
            cutting = cut(self.series[number], self.lookback, inside)
            # A neighbour that meets a gap is replaced by the window itself.
            finite = np.all(np.isfinite(cutting), axis=(1, 2))
            if not finite.all():
                whole = cut(self.series[number], self.lookback, self._nearest_whole(number, inside))
                cutting = np.where(finite[:, None, None], cutting, whole)
            windows[own] = cutting
        return windows

    def _nearest_whole(self, number: int, ends: Integers) -> Integers:
        known = self.ends[self.owner == number]
        place = np.clip(np.searchsorted(known, ends), 0, len(known) - 1)
        nearest: Integers = known[place]
        return nearest


def learn_windows(
    pairs: NeighbourWindows, *, seed: int, progress: Progress | None = None
) -> WindowSpace:
    """Train an encoder on pairs of windows.

    Raises:
        RepresentationCollapse: The encoder answers the same for everything.
    """
    settings = pairs.settings
    encoder = WindowEncoder(
        pairs.lookback,
        settings.width,
        channels=pairs.series[0].shape[1],
        hidden=settings.hidden,
        linear_path=False,
        seed=seed,
    )
    return WindowSpace(train(encoder, pairs, settings, seed=seed, progress=progress))
