"""Training the learned embedding: which windows, against what, judged how.

In: the part of history before the validation cut, and origins behind it. Out: a
:class:`LearnedEmbedding`. After each epoch the towers are judged by what they are for, the skill
of the forecast read through the index at the held-out origins, never by the loss.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import nn

from ..core import (
    ContrastiveObjective,
    DimensionalCollapse,
    DualEncoder,
    Trainer,
    TrainingHistory,
    VectorEncoder,
)
from .continuations import ContinuationIndex, Recipe
from .embeddings import LearnedEmbedding
from .holdout import HeldOut
from .levels import Level, LevelKind
from .pairs import PairPolicy, WindowPairs
from .panel import Panel
from .skill import level_errors
from .windows import Windows

START_TEMPERATURE = 0.1
MOST_TRAINED = 200_000
PROBE_ORIGINS = 512
PROBE_WINDOWS = 16_384
PATIENCE_STEPS = 150


@dataclass(frozen=True, slots=True)
class TowerSettings:
    """Shape and training of the two towers.

    Attributes:
        width: D, length of an embedding.
        hidden: Units of each hidden layer.
        dropout: Share of hidden units dropped while training.
        steps: Optimiser steps, about.
        batch_size: Pairs a step; all the others are negatives.
        learning_rate: Peak rate of AdamW.
    """

    width: int = 64
    hidden: tuple[int, ...] = (128, 128)
    dropout: float = 0.3
    steps: int = 300
    batch_size: int = 512
    learning_rate: float = 1e-3


def train_towers(
    panel: Panel,
    held: HeldOut,
    recipe: Recipe,
    levels: Mapping[LevelKind, Level],
    policy: PairPolicy,
    settings: TowerSettings,
    seed: int,
) -> tuple[LearnedEmbedding, TrainingHistory]:
    """Train two towers on pairs from before the cut.

    Args:
        panel: Holds the truth behind the held-out origins, for the probe.
        held: The cut.
        recipe: How windows are normalised.
        levels: What retrieved continuations are hung on, for the probe.
        policy: What a pair is.
        settings: Shape and training.
        seed: Of weights, order and dropout.

    Raises:
        TooFewNegatives: The history is so short that all windows overlap.
    """
    windows = Windows(held.before, recipe.lookback, recipe.horizon)
    rows = np.arange(0, len(windows), -(-len(windows) // MOST_TRAINED))
    span = _span(held.before, recipe)
    units = recipe.units(held.before)
    pairs = WindowPairs(windows, units, recipe.normaliser, policy, rows=rows, span=span)
    holds = "continuation" if policy == "continuation" else "window"
    towers = _build(recipe, settings, holds, seed)
    objective = ContrastiveObjective(temperature=START_TEMPERATURE, min_negatives=1)
    size = max(2, min(settings.batch_size, len(rows) // 2))
    per_epoch = max(1, len(rows) // size)
    trainer = Trainer(
        towers,
        objective,
        epochs=max(2, math.ceil(settings.steps / per_epoch)),
        batch_size=size,
        learning_rate=settings.learning_rate,
        patience=max(2, math.ceil(PATIENCE_STEPS / per_epoch)),
        seed=seed,
    )
    step = max(1, len(held.origins) // PROBE_ORIGINS)
    origins = held.origins[::step]
    stride = max(1, len(windows) // PROBE_WINDOWS)

    def skill(encoder: nn.Module) -> float:
        assert isinstance(encoder, DualEncoder)
        embedding = LearnedEmbedding(encoder, 1 / objective.temperature, holds=holds)
        index = ContinuationIndex(held.before, recipe, embedding, stride=stride)
        alone, with_index = level_errors(index, panel, origins, levels)
        best = min(alone.values())
        # A level that is never wrong, as on a constant series, leaves no share to be saved.
        return (best - min(with_index.values())) / (best or 1.0)

    # A simple history needs few dimensions: here a low rank is a finding, not a fault.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DimensionalCollapse)
        history = trainer.fit(pairs, skill)
    return LearnedEmbedding(towers, 1 / objective.temperature, holds=holds), history


def _build(recipe: Recipe, settings: TowerSettings, holds: str, seed: int) -> DualEncoder:
    def tower(rows: int, offset: int) -> VectorEncoder:
        return VectorEncoder(
            rows,
            settings.width,
            hidden=settings.hidden,
            dropout=settings.dropout,
            linear_path=True,
            seed=2 * seed + offset,
        )

    asking = tower(recipe.lookback, 0)
    if holds == "window":
        return DualEncoder(asking)
    return DualEncoder(asking, tower(recipe.horizon, 1))


def _span(panel: Panel, recipe: Recipe) -> int:
    """How near two windows of one series may not be negatives of each other.

    The whole of window and continuation where history is long; in short histories at most an
    eighth of the longest series, or nothing would be left to tell apart.
    """
    whole = recipe.lookback + recipe.horizon
    return max(recipe.horizon, min(whole, int(panel.lengths.max()) // 8))
