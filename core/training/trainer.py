"""Training: the one optimisation loop.

In come a dual encoder, an objective, a source of pairs and (nearly always) a probe; out come the
encoder with the weights of its best epoch and a history. Which epoch is best is decided by the
probe, recall through the index, and never by the loss: losses at different candidate counts are
not comparable, and a collapsed encoder has a respectable one. All randomness hangs on the run's
seed and the position (epoch, batch), so a resumed run equals an unbroken one bit for bit.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..encoders.dual import DualEncoder, describe_dual
from ..errors import NonFiniteError, TooFewRows
from ..geometry import Geometry
from ..negatives.samplers import InBatch, NegativeSampler
from ..objective.objective import ContrastiveObjective
from ..objective.step import StepResult
from ..seeds import Stage, derive_generator, derive_seed
from ..shell.progress import Progress, silent
from .batches import Place, gather_batch
from .capacity import size_batches
from .checkpoint import read_checkpoint, require_same_run, write_checkpoint
from .chunking import chunked_step
from .distributed import distributed_step, place_of_process
from .health import require_healthy, warn_of_lost_dimensions
from .history import TrainingHistory
from .pairs import PairSource
from .recall_probe import Probe
from .runs import Run
from .schedule import TrainerSettings, learning_rate_at, make_optimiser

LATEST = "latest.checkpoint"


class Trainer:
    """Train a dual encoder on pairs.

    The last batch of an epoch is dropped when it would be short, since a loss over fewer
    candidates is another loss; the history says how many pairs that was. With fewer pairs than
    ``batch_size`` the batch is all of them. Under torchrun every process trains on its part of each
    batch against the candidates of all.

    Args:
        encoder: What is trained, in place.
        objective: The loss; a learnable temperature is trained along.
        epochs: Passes over the pairs at most.
        batch_size: B, pairs a step. The batch is the capacity: B - 1 negatives a row. None for the
            largest power of two whose step fits into ``memory_budget``.
        memory_budget: Bytes a step may take; only with ``batch_size=None``. The plan is told in
            ``history.batch_note``.
        learning_rate: Peak rate of AdamW.
        weight_decay: On weight matrices only, not on biases or the temperature.
        warmup_share: Share of all steps in which the rate climbs; then it falls along a cosine.
        clip_norm: Largest gradient norm.
        patience: Epochs without a better probe before stopping.
        chunk_size: Rows encoded at a time; larger batches go through
            :func:`~likewise.core.chunked_step` with the same gradient and less memory.
        seed: Seed of order, pairs, sampler and dropout. First weights have the encoder's own.
        sampler: Negatives beyond the batch; None for those of the batch.
        checkpoint_dir: Folder for ``latest.checkpoint``; None writes none.
        checkpoint_every: Steps between checkpoints; None for one an epoch.
        progress: Display of the epochs; None for silence.
        device: Where to train; None for a GPU where there is one.

    Raises:
        SettingError: Settings that cannot work, all named.
    """

    def __init__(
        self,
        encoder: DualEncoder,
        objective: ContrastiveObjective,
        *,
        epochs: int = 20,
        batch_size: int | None = 512,
        memory_budget: int | None = None,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-2,
        warmup_share: float = 0.1,
        clip_norm: float = 1.0,
        patience: int = 5,
        chunk_size: int = 1024,
        seed: int = 0,
        sampler: NegativeSampler | None = None,
        checkpoint_dir: Path | str | None = None,
        checkpoint_every: int | None = None,
        progress: Progress | None = None,
        device: str | None = None,
    ) -> None:
        self.encoder = encoder
        self.objective = objective
        self.settings = TrainerSettings(
            epochs=epochs,
            batch_size=batch_size,
            memory_budget=memory_budget,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            warmup_share=warmup_share,
            clip_norm=clip_norm,
            patience=patience,
            chunk_size=chunk_size,
            seed=seed,
        )
        self.sampler = InBatch() if sampler is None else sampler
        self.checkpoint_dir = None if checkpoint_dir is None else Path(checkpoint_dir)
        self.checkpoint_every = checkpoint_every
        self.progress = silent if progress is None else progress
        self._rank, self._ranks = place_of_process()
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def fit(self, pairs: PairSource, probe: Probe | None = None) -> TrainingHistory:
        """Train from the encoder's present weights.

        Args:
            pairs: What to train on.
            probe: Recall through the index for an encoder, larger = better; asked after every
                epoch. None trains all epochs and keeps the last weights.

        Returns:
            The history; the encoder holds the weights of ``history.best_epoch``.

        Raises:
            TooFewRows: Fewer than two pairs.
            NonFiniteError: The loss, its gradient or the probe is not a number, by step.
            RepresentationCollapse: The geometry collapsed and stayed so.
            TooFewNegatives: A row of a batch had too little to be told apart from.

        Warns:
            DimensionalCollapse: The space uses far fewer dimensions than it has, and than it used
                before training.
        """
        return self._train(self._begin(pairs), pairs, probe)

    def resume(
        self, path: Path | str, pairs: PairSource, probe: Probe | None = None
    ) -> TrainingHistory:
        """Go on from a checkpoint as if the run had not been broken.

        Args:
            path: The checkpoint file.
            pairs: The same pairs in the same order.
            probe: The same probe.

        Returns:
            The history of the whole run.

        Raises:
            SettingError: The checkpoint is of a run with other settings, sampler or pairs.
            BundleFormatError, ChecksumMismatch: The file cannot be trusted.
        """
        state = read_checkpoint(Path(path))
        # The batch the run began with: another machine's memory must not change it.
        run = self._begin(pairs, state["history"]["batch_size"])
        require_same_run(state["identity"], self._identity(run))
        self.encoder.load_state_dict(state["encoder"])
        self.objective.load_state_dict(state["objective"])
        self.sampler.load_state_dict(state["sampler"])
        moments = {int(place): moment for place, moment in state["optimiser"].items()}
        run.optimiser.load_state_dict({**run.optimiser.state_dict(), "state": moments})
        run.history = TrainingHistory.of_state(state["history"])
        for name in ("epoch", "batch", "stale", "best", "seconds"):
            setattr(run, name, state[name])
        return self._train(run, pairs, probe)

    def _begin(self, pairs: PairSource, planned: int | None = None) -> Run:
        rows = len(pairs)
        if rows < 2:
            raise TooFewRows(f"training needs 2 pairs or more, found {rows}; add pairs")
        self.encoder.to(self.device)
        self.objective.to(self.device)
        self.sampler.begin(self.encoder)
        size, note = size_batches(self.encoder, pairs, self.settings, planned)
        optimiser = make_optimiser(self.encoder, self.objective, self.settings)
        history = TrainingHistory(
            batch_size=size,
            batch_note=note,
            sampler=self.sampler.name,
            device=_name_of(self.device),
        )
        return Run(optimiser, history, rows, rows // size)

    def _train(self, run: Run, pairs: PairSource, probe: Probe | None) -> TrainingHistory:
        geometry = None
        try:
            remaining = range(run.epoch, self.settings.epochs)
            for _ in self.progress(remaining, "training", len(remaining)):
                if run.stale >= self.settings.patience:
                    break
                geometry = self._train_epoch(run, pairs)
                self._close_epoch(run, probe)
        except BaseException:
            # Between two updates the state is whole. Inside one it is not: then the last written
            # checkpoint stands.
            if not run.updating:
                self._save(run)
            raise
        return self._finish(run, geometry)

    def _train_epoch(self, run: Run, pairs: PairSource) -> Geometry | None:
        size, where = run.history.batch_size, (self.settings.seed, run.epoch)
        order = torch.randperm(run.rows, generator=derive_generator(*where, 0, Stage.ORDER))
        geometry = None
        self.encoder.train()
        self.objective.train()
        while run.batch < run.batches:
            started = time.perf_counter()
            step = self._step(run, pairs, order[run.batch * size : (run.batch + 1) * size])
            geometry = step.geometry
            run.seconds += time.perf_counter() - started
            if self.checkpoint_every and run.steps_done % self.checkpoint_every == 0:
                self._save(run)
        return geometry

    def _step(self, run: Run, pairs: PairSource, rows: Tensor) -> StepResult:
        where = (self.settings.seed, run.epoch, run.batch)
        total = self.settings.epochs * run.batches
        rate = learning_rate_at(run.steps_done, total, self.settings)
        place = Place(where, run.steps_done / total, self._rank, self._ranks)
        batch, age = gather_batch(pairs, rows, self.sampler, place)
        run.optimiser.zero_grad(set_to_none=True)
        seed, chunk = derive_seed(*where, Stage.DROPOUT), self.settings.chunk_size
        if self._ranks > 1:
            step = distributed_step(self.encoder, self.objective, batch, chunk, seed=seed)
        else:
            step = chunked_step(self.encoder, self.objective, batch, chunk, seed=seed)
        step = replace(step, sampler=self.sampler.name, queue_age=age)
        norm = float(nn.utils.clip_grad_norm_(run.parameters(), self.settings.clip_norm))
        require_healthy(run, step, norm)

        run.updating = True
        for group in run.optimiser.param_groups:
            group["lr"] = rate
        run.optimiser.step()
        self.objective.clamp_()
        self.sampler.commit(self.encoder)
        run.record(step, len(rows), rate, norm)
        run.updating = False
        return step

    def _close_epoch(self, run: Run, probe: Probe | None) -> None:
        recall = None if probe is None else float(probe(self.encoder))
        if recall is not None and not math.isfinite(recall):
            raise NonFiniteError(
                f"the probe after epoch {run.epoch} gave {recall}; it must give a recall of 0 to 1"
            )
        run.close_epoch(recall)
        if recall is not None and run.stale == 0:
            run.best = {
                "encoder": _copy_state(self.encoder),
                "objective": _copy_state(self.objective),
            }
        self._save(run)

    def _finish(self, run: Run, geometry: Geometry | None) -> TrainingHistory:
        patience = self.settings.patience
        run.history.stopped = (
            f"no better probe for {patience} epochs"
            if run.stale >= patience
            else f"all {self.settings.epochs} epochs done"
        )
        if run.best is not None:
            self.encoder.load_state_dict(run.best["encoder"])
            self.objective.load_state_dict(run.best["objective"])
        self.encoder.eval()
        if geometry is not None:
            warn_of_lost_dimensions(run, geometry)
        return run.history

    def _identity(self, run: Run) -> dict[str, Any]:
        return {
            "settings": asdict(self.settings),
            "encoder": describe_dual(self.encoder),
            "objective": asdict(self.objective.config),
            "sampler": {"name": self.sampler.name, **self.sampler.config},
            "pairs": run.rows,
        }

    def _save(self, run: Run) -> None:
        if self.checkpoint_dir is None or self._rank > 0:
            return
        state = {
            "identity": self._identity(run),
            "encoder": self.encoder.state_dict(),
            "objective": self.objective.state_dict(),
            "sampler": self.sampler.state_dict(),
            "optimiser": run.optimiser.state_dict()["state"],
            "history": run.history.as_state(),
            "epoch": run.epoch,
            "batch": run.batch,
            "stale": run.stale,
            "best": run.best,
            "seconds": run.seconds,
        }
        write_checkpoint(self.checkpoint_dir / LATEST, state)


def _name_of(device: torch.device) -> str:
    if device.type != "cuda":
        return device.type
    return f"cuda ({torch.cuda.get_device_name(device)})"


def _copy_state(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}
