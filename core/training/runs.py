"""The state of one training run: where it stands, and the records it has made.

In come finished steps and epochs; out come records in the history and the position to go on from.
The trainer moves it, a checkpoint keeps it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..objective.step import StepResult
from .history import EpochRecord, StepRecord, TrainingHistory


@dataclass
class Run:
    """Where a run stands between two steps.

    Attributes:
        optimiser: With its moments.
        history: Records so far.
        rows: Pairs.
        batches: Steps an epoch.
        epoch: Epoch to train, from 0.
        batch: Batch to train next, from 0.
        stale: Epochs since the probe was last better.
        best: Weights of the best epoch; None without a probe.
        seconds: Time spent on the steps of this epoch.
        updating: Whether an update is half done, so that the state must not be saved.
    """

    optimiser: torch.optim.AdamW
    history: TrainingHistory
    rows: int
    batches: int
    epoch: int = 0
    batch: int = 0
    stale: int = 0
    best: dict[str, dict[str, Tensor]] | None = None
    seconds: float = 0.0
    updating: bool = False

    @property
    def steps_done(self) -> int:
        """Count the optimiser steps taken."""
        return self.epoch * self.batches + self.batch

    def parameters(self) -> list[Tensor]:
        """List everything that is trained."""
        return [p for group in self.optimiser.param_groups for p in group["params"]]

    def record(self, step: StepResult, rows: int, rate: float, norm: float) -> None:
        """Write down a finished step and move to the next batch."""
        self.history.steps.append(
            StepRecord(
                epoch=self.epoch,
                batch=self.batch,
                rows=rows,
                loss=float(step.loss),
                candidates=step.candidates_mean,
                chance_loss=step.chance_loss,
                learning_rate=rate,
                gradient_norm=norm,
                temperature=step.temperature,
                masked=step.masked,
                beaten_share=step.beaten_share,
                saturated=step.saturated,
                alignment=step.geometry.alignment,
                uniformity=step.geometry.uniformity,
                mean_cosine=step.geometry.mean_cosine,
                effective_rank=step.geometry.effective_rank_centred,
                queue_age=step.queue_age,
            )
        )
        self.batch += 1

    def close_epoch(self, recall: float | None) -> None:
        """Write down a finished epoch, say whether it is the best, and move to the next."""
        history, used = self.history, self.batches * self.history.batch_size
        best = recall is None or history.best_probe is None or recall > history.best_probe
        if best:
            history.best_epoch, history.best_probe = self.epoch, recall
        self.stale = 0 if best else self.stale + 1
        losses = [record.loss for record in history.steps[-self.batches :]]
        history.epochs.append(
            EpochRecord(
                epoch=self.epoch,
                steps=self.batches,
                rows=used,
                dropped_rows=self.rows - used,
                loss=math.fsum(losses) / len(losses),
                probe=recall,
                best=best,
                seconds=self.seconds,
                rows_per_second=used / max(self.seconds, 1e-9),
            )
        )
        self.epoch, self.batch, self.seconds = self.epoch + 1, 0, 0.0
