"""What a training run leaves behind: one record a step, one an epoch, and why it stopped.

Records are frozen and plain, so a checkpoint keeps them exactly; tables are made on demand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """One optimiser step.

    Attributes:
        epoch: From 0.
        batch: Within the epoch, from 0.
        rows: Pairs in the batch.
        loss: Loss of the step, before the update, in nats.
        candidates: Mean number of candidates an anchor was compared with; losses at different
            counts are not comparable.
        chance_loss: log(candidates), the loss of an encoder that knows nothing.
        learning_rate: In force at this step.
        gradient_norm: Before clipping.
        temperature: In force at this step.
        masked: Candidates that masks took out.
        beaten_share: Share of anchors that have another candidate nearer than their positive.
        saturated: Whether the temperature sits at a bound, a hint of collapse.
        alignment: Mean squared distance of the pairs on the sphere, 0 to 4; lower is closer.
        uniformity: How evenly the sphere is filled; lower is more even.
        mean_cosine: Mean cosine of different rows; near 1 is a collapse.
        effective_rank: Centred, 1 to D.
        queue_age: Steps since the oldest queued candidate was written; None without a queue.
    """

    epoch: int
    batch: int
    rows: int
    loss: float
    candidates: float
    chance_loss: float
    learning_rate: float
    gradient_norm: float
    temperature: float
    masked: int
    beaten_share: float
    saturated: bool
    alignment: float
    uniformity: float
    mean_cosine: float
    effective_rank: float
    queue_age: int | None


@dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """One pass over the pairs.

    Attributes:
        epoch: From 0.
        steps: Optimiser steps.
        rows: Pairs used.
        dropped_rows: Pairs left out because the last batch would have been short.
        loss: Mean over the steps.
        probe: Recall through the index after the epoch; None without a probe.
        best: Whether this epoch's weights were the best so far.
        seconds: Time of the steps, probe not counted.
        rows_per_second: Throughput.
    """

    epoch: int
    steps: int
    rows: int
    dropped_rows: int
    loss: float
    probe: float | None
    best: bool
    seconds: float
    rows_per_second: float


@dataclass(kw_only=True, repr=False)
class TrainingHistory:
    """A run, as far as it has come.

    Attributes:
        batch_size: Pairs in a batch.
        batch_note: What was done about batches that do not come out even.
        sampler: Name of the negative sampler.
        device: Where it ran.
        steps: One record a step.
        epochs: One record an epoch.
        best_epoch: Epoch whose weights are kept; None before the first epoch ended.
        best_probe: Its probe recall; None without a probe.
        stopped: Why it ended; empty while it runs.
    """

    batch_size: int
    batch_note: str
    sampler: str
    device: str
    steps: list[StepRecord] = field(default_factory=list)
    epochs: list[EpochRecord] = field(default_factory=list)
    best_epoch: int | None = None
    best_probe: float | None = None
    stopped: str = ""

    def __repr__(self) -> str:
        told = [f"{len(self.epochs)} epochs", f"{len(self.steps)} steps of {self.batch_size} pairs"]
        if self.best_probe is not None:
            told.append(f"best probe {self.best_probe:.3f} after epoch {self.best_epoch}")
        if self.steps:
            told.append(f"temperature {self.steps[-1].temperature:.3f}")
        told.append(f"{sum(epoch.seconds for epoch in self.epochs):.1f} s")
        return f"TrainingHistory({', '.join(told)})"

    def as_state(self) -> dict[str, Any]:
        """Write the history as plain values for a checkpoint; :meth:`of_state` reads it."""
        return asdict(self)

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> TrainingHistory:
        """Read what :meth:`as_state` wrote."""
        steps = [StepRecord(**record) for record in state["steps"]]
        epochs = [EpochRecord(**record) for record in state["epochs"]]
        return cls(**{**state, "steps": steps, "epochs": epochs})

    def steps_table(self) -> pl.DataFrame:
        """Make a table of the steps, one row a step."""
        return _table(self.steps)

    def epochs_table(self) -> pl.DataFrame:
        """Make a table of the epochs, one row an epoch."""
        return _table(self.epochs)


def _table(records: Sequence[StepRecord] | Sequence[EpochRecord]) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 - a run without tables needs no frames

    return pl.DataFrame([asdict(record) for record in records], infer_schema_length=None)
