"""How what several views and parts say of a window becomes one number.

In: distances in normal spreads, of every view of a part, then of every part. Out: strangeness; 1 is
the end of what is normal. Whatever is strange for good, one channel of many or one part of several,
must leave room for the others to be heard: so logarithms of views are added, and a part that is far
beyond its spread is heard by its logarithm.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .window_parts import BY_CHANNEL, Floats, PartName

EASE = 0.1
"""Added to distances in their spread, so that no view can say that all is well."""

LOUD = 2.0
"""Spreads beyond which a part is heard by its logarithm."""

LOUDEST = 100.0
"""Most that the views of a part say together, as a logarithm: nothing runs out of numbers."""

WEIGHTS: dict[PartName, float] = {"point": 0.5, "window": 2.0}
"""How much a part is heard; 1 where it is not named."""


def join_views(spreads: Floats) -> Floats:
    """Join what a part's views say [V, N], 1 where each is at the end of its spread, [N].

    Logarithms of distances are added, since one view tells little about another, and divided by the
    root of their number, which is what such a sum varies by.
    """
    total = np.log((spreads + EASE) / (1 + EASE)).sum(axis=0) / np.sqrt(len(spreads))
    said: Floats = np.exp(np.minimum(total, LOUDEST))
    return said


def join_parts(measured: Mapping[PartName, Floats]) -> Floats:
    """Join what the parts say: the root of the summed squares, [N] or whatever each has.

    >>> join_parts({"levels": np.array([0.8, 1.0]), "residual": np.array([0.6, 0.0])}).round(2)
    array([1., 1.])
    """
    heard = [_soften(WEIGHTS.get(name, 1.0) * said) for name, said in measured.items()]
    joined: Floats = np.sqrt(np.sum(np.square(heard), axis=0))
    return joined


def join_channels(looked: Mapping[PartName, Floats]) -> Floats | None:
    """Join what is said of each channel by the parts that look at channels one by one, [C, N].

    Args:
        looked: Part -> distances of its views in their normal spreads, [V, N].

    Returns:
        None where no part looks at channels one by one.
    """
    by_channel = {name: spreads for name, spreads in looked.items() if name in BY_CHANNEL}
    return join_parts(by_channel) if by_channel else None


def _soften(said: Floats) -> Floats:
    """Leave spreads up to ``LOUD`` as they are; beyond, count them by their logarithm, [N]."""
    beyond = LOUD * (1 + np.log(np.maximum(said, LOUD) / LOUD))
    softened: Floats = np.where(said > LOUD, beyond, said)
    return softened
