"""Where randomness comes from: one run seed, spread over stages by ``numpy.random.SeedSequence``.

In come a run's seed and a path of whole numbers (epoch, batch, stage); out come generators that
depend on that path alone. Nothing is carried from draw to draw, so a run that is resumed in the
middle of an epoch draws what the unbroken run would have drawn. A new consumer of randomness takes
a new :class:`Stage`; it never shares one.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


class Stage(enum.IntEnum):
    """Who is drawing. The numbers are part of every saved run: append, never renumber."""

    MODEL = 0
    ORDER = 1
    PAIRS = 2
    DROPOUT = 3
    SAMPLER = 4
    FIRST_VIEW = 5
    SECOND_VIEW = 6
    FOREIGN = 7


def derive_seed(*path: int) -> int:
    """Turn a path such as ``(run, epoch, batch, stage)`` into one seed of 63 bits.

    Args:
        *path: Whole numbers >= 0, the run's seed first.

    Returns:
        A seed that differs for every path and is the same on every machine.

    >>> derive_seed(0, 1, 2) == derive_seed(0, 1, 2), derive_seed(0, 1, 2) == derive_seed(0, 2, 1)
    (True, False)
    """
    low, high = np.random.SeedSequence(list(path)).generate_state(2, np.uint32).tolist()
    return (int(high) << 32 | int(low)) >> 1


def derive_generator(*path: int) -> torch.Generator:
    """Give a CPU generator that depends on ``path`` alone (see :func:`derive_seed`)."""
    return torch.Generator().manual_seed(derive_seed(*path))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generators inside the block and put them back after it.

    Weight initialisation and dropout draw from the global generators and take no other; this is
    the only way the library lets them.

    Args:
        seed: Whole number >= 0.
    """
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield
