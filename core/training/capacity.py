"""Capacity: how many pairs a step takes, since the batch is what a row is told apart from.

In come the pairs, the settings and the encoder; out comes the size of a batch, and in words what
it means: how many negatives a row has, what memory that takes, and which pairs an epoch leaves out.
"""

from __future__ import annotations

import torch

from ..encoders.dual import DualEncoder
from ..seeds import Stage, derive_generator
from .memory import largest_batch, measure_memory
from .pairs import PairSource
from .schedule import TrainerSettings

_SAMPLED = 64  # pairs whose memory is measured


def size_batches(
    encoder: DualEncoder, pairs: PairSource, settings: TrainerSettings, planned: int | None = None
) -> tuple[int, str]:
    """Choose the batch size of a run.

    Args:
        encoder: What is trained.
        pairs: At least two.
        settings: With a batch size, or with a budget of memory for the largest that fits.
        planned: The size an earlier part of the run began with, which then stands.

    Returns:
        Pairs a step, and a note for the history.

    Raises:
        SettingError: Not even two pairs fit into the budget.
    """
    wanted, notes = planned or settings.batch_size, []
    if wanted is None:
        sample = torch.arange(min(len(pairs), _SAMPLED))
        generator = derive_generator(settings.seed, 0, 0, Stage.PAIRS)
        model = measure_memory(encoder, pairs.batch(sample, generator))
        budget = settings.memory_budget or 0
        plan = largest_batch(model, budget, chunk_size=settings.chunk_size, most=len(pairs))
        wanted = plan.batch_size
        notes.append(
            f"{plan.batch_size} pairs a step give a row {plan.negatives} negatives, the most that "
            f"fits: {plan.bytes:,} of {budget:,} bytes"
        )
    size = min(wanted, len(pairs))
    left = len(pairs) % size
    dropped = f"each epoch drops {left} of {len(pairs)} pairs: its last batch would be short"
    return size, "; ".join([*notes, dropped if left else "every batch is full"])
