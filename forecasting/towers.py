"""Training the learned embedding: which windows, against what, judged how.

In: the part of history before the validation cut, and origins behind it. Out: a
:class:`LearnedEmbedding`. After each epoch the towers are judged by what they are for, the skill
of the forecast read through the index at the held-out origins, never by the loss.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from torch import nn

from ..core import (
    ContrastiveObjective,
    DimensionalCollapse,
    DualEncoder,
    TooFewNegatives,
    Trainer,
    TrainingHistory,
    VectorEncoder,
)
from .continuations import ContinuationIndex
from .embeddings import LearnedEmbedding
from .holdout import HeldOut
from .levels import Level
from .pairs import PairPolicy, WindowPairs
from .panel import Panel
from .recipe import Recipe
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
    levels: Mapping[str, Level],
    policy: PairPolicy,
    settings: TowerSettings,
    seed: int,
) -> tuple[LearnedEmbedding, TrainingHistory]:
    """Train two towers on pairs from before the cut, and keep the epoch that forecasts best.

    Args:
        panel: Holds the truth behind the held-out origins, for the probe.
        held: The cut.
        recipe: How windows are normalised.
        levels: What retrieved continuations are hung on, for the probe.
        policy: What a pair is.
        settings: Shape and training.
        seed: Of weights, order and dropout.

    Raises:
        TooFewNegatives: The history is so short that all windows overlap, or there is only one.
    """
    pairs = _pairs(held.before, recipe, policy)
    if len(pairs) < 2:
        raise TooFewNegatives(
            "there is one window before the validation tail and nothing to tell it apart from; "
            "shorten the lookback or the horizon, or pass embedding='raw'"
        )
    trainer = _trainer(recipe, policy, settings, seed, len(pairs), epochs=None)
    origins = held.origins[:: max(1, len(held.origins) // PROBE_ORIGINS)]
    stride = max(1, len(pairs.windows) // PROBE_WINDOWS)

    def skill(encoder: nn.Module) -> float:
        assert isinstance(encoder, DualEncoder)
        index = ContinuationIndex(held.before, recipe, _embedding(trainer, policy), stride=stride)
        seen = origins[index.matched(panel, origins)]
        alone, with_index = level_errors(index, panel, seen, levels)
        best = min(alone.values())
        # A level that is never wrong, as on a constant series, leaves no share to be saved.
        return (best - min(with_index.values())) / (best or 1.0)

    history = _run(trainer, pairs, skill)
    return _embedding(trainer, policy), history


def retrain_towers(
    panel: Panel,
    recipe: Recipe,
    policy: PairPolicy,
    settings: TowerSettings,
    seed: int,
    history: TrainingHistory,
) -> LearnedEmbedding:
    """Train again on everything, for as long as turned out best before the cut.

    Args:
        panel: All rows that may be seen.
        recipe: How windows are normalised.
        policy: What a pair is.
        settings: Shape and training.
        seed: As in the first training.
        history: Of the first training.
    """
    pairs = _pairs(panel, recipe, policy)
    best = next(epoch for epoch in history.epochs if epoch.epoch == history.best_epoch)
    steps = best.steps * (best.epoch + 1)
    size = min(settings.batch_size, len(pairs) // 2)
    epochs = max(1, round(steps * size / len(pairs)))
    trainer = _trainer(recipe, policy, settings, seed, len(pairs), epochs=epochs)
    _run(trainer, pairs, None)
    return _embedding(trainer, policy)


def _pairs(panel: Panel, recipe: Recipe, policy: PairPolicy) -> WindowPairs:
    windows = Windows(panel, recipe.lookback, recipe.horizon)
    rows = np.arange(0, len(windows), -(-len(windows) // MOST_TRAINED))
    return WindowPairs(windows, recipe, policy, rows=rows, span=_span(panel, recipe))


def _trainer(
    recipe: Recipe,
    policy: PairPolicy,
    settings: TowerSettings,
    seed: int,
    rows: int,
    *,
    epochs: int | None,
) -> Trainer:
    size = max(2, min(settings.batch_size, rows // 2))
    per_epoch = max(1, rows // size)
    return Trainer(
        _build(recipe, settings, _holds(policy), seed),
        ContrastiveObjective(temperature=START_TEMPERATURE, min_negatives=1),
        epochs=epochs or max(2, math.ceil(settings.steps / per_epoch)),
        batch_size=size,
        learning_rate=settings.learning_rate,
        patience=max(2, math.ceil(PATIENCE_STEPS / per_epoch)),
        seed=seed,
    )


def _run(
    trainer: Trainer, pairs: WindowPairs, probe: Callable[[nn.Module], float] | None
) -> TrainingHistory:
    # A simple history needs few dimensions: here a low rank is a finding, not a fault.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DimensionalCollapse)
        return trainer.fit(pairs, probe)


def _embedding(trainer: Trainer, policy: PairPolicy) -> LearnedEmbedding:
    scale = 1 / trainer.objective.temperature
    return LearnedEmbedding(trainer.encoder, scale, holds=_holds(policy))


def _holds(policy: PairPolicy) -> str:
    return "continuation" if policy == "continuation" else "window"


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

    asking = tower(recipe.shown, 0)
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
