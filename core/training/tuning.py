"""Tuning: temperature and learning rate together, judged on recall through the index.

The two belong together: a lower temperature multiplies the gradient as a higher rate does, so the
best of one depends on the other. In comes a function that builds a trainer for a pair of them,
out comes every trial and the best. The loss plays no part, since it changes with the temperature
by definition. :func:`analyse_temperature` shows what a temperature does to given vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..errors import GeometryError, NonFiniteError, SettingError, TooFewRows
from ..geometry import check_pair, normalize
from .pairs import PairSource
from .recall_probe import Probe
from .trainer import Trainer

if TYPE_CHECKING:
    import polars as pl

_TILE = 1024


@dataclass(frozen=True)
class Trial:
    """One trained pair of settings.

    Attributes:
        temperature: At the start of the trial.
        learning_rate: Peak rate.
        recall: Best probe recall; None where the trial broke.
        best_epoch: Epoch of that recall; None where the trial broke.
        fault: Why the trial broke; empty where it did not.
    """

    temperature: float
    learning_rate: float
    recall: float | None
    best_epoch: int | None
    fault: str = ""


@dataclass(frozen=True)
class Sweep:
    """All trials of a sweep, in the order in which they ran."""

    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """The trial with the largest recall; the earlier one of equals."""
        return max(self._whole(), key=lambda trial: trial.recall or 0.0)

    def table(self) -> pl.DataFrame:
        """Make a table, one row a trial."""
        import polars as pl  # noqa: PLC0415 - a sweep without a table needs no frames

        return pl.DataFrame([asdict(trial) for trial in self.trials], infer_schema_length=None)

    def _whole(self) -> list[Trial]:
        whole = [trial for trial in self.trials if trial.recall is not None]
        if not whole:
            raise SettingError(
                f"all {len(self.trials)} trials broke, the first with: {self.trials[0].fault}"
            )
        return whole


def sweep(
    build: Callable[[float, float], Trainer],
    pairs: PairSource,
    probe: Probe,
    *,
    temperatures: Sequence[float] = (0.05, 0.1, 0.2),
    learning_rates: Sequence[float] = (3e-4, 1e-3, 3e-3),
) -> Sweep:
    """Train once for every temperature and learning rate.

    Args:
        build: Makes a fresh trainer from (temperature, learning rate); the same first weights each
            time make the trials comparable.
        pairs: What to train on.
        probe: Recall through the index on validation rows.
        temperatures: To try, each above 0.001.
        learning_rates: To try, each positive.

    Returns:
        The sweep. A trial that diverges or collapses is kept with its fault, without a recall.

    Raises:
        SettingError: There is nothing to try.
    """
    if not temperatures or not learning_rates:
        raise SettingError("a sweep needs at least one temperature and one learning rate")
    return Sweep(
        tuple(
            _try(build(temperature, rate), pairs, probe, temperature, rate)
            for temperature in temperatures
            for rate in learning_rates
        )
    )


def _try(
    trainer: Trainer, pairs: PairSource, probe: Probe, temperature: float, rate: float
) -> Trial:
    try:
        history = trainer.fit(pairs, probe)
    except (NonFiniteError, GeometryError) as fault:
        return Trial(temperature, rate, None, None, str(fault))
    return Trial(temperature, rate, history.best_probe, history.best_epoch)


@dataclass(frozen=True)
class TemperatureReading:
    """What one temperature makes of a batch.

    Attributes:
        temperature: As given.
        entropy: Mean entropy of an anchor's softmax over all candidates, in nats.
        log_candidates: log(B), the entropy of a softmax that sees no difference.
        share: entropy / log_candidates, 0 (one candidate takes all) to 1 (no difference).
        largest_weight: Mean of the largest weight an anchor gives, 1 / B to 1.
        positive_weight: Mean of the weight given to the positive.
    """

    temperature: float
    entropy: float
    log_candidates: float
    share: float
    largest_weight: float
    positive_weight: float


@torch.no_grad()
def analyse_temperature(
    anchors: Tensor, positives: Tensor, temperatures: Sequence[float]
) -> tuple[TemperatureReading, ...]:
    """Read entropy and largest weight of the softmax at given temperatures.

    A share near 0 means that the gradient comes from one or two candidates, near 1 that all weigh
    the same and the temperature hides what was learned.

    Args:
        anchors: [B, D], of any length.
        positives: [B, D], the candidates of every anchor.
        temperatures: Positive numbers.

    Raises:
        ShapeError: The two are not [B, D] alike.
        TooFewRows: Fewer than two rows.
        SettingError: A temperature that is not positive.

    Source: ours, after the gradient analysis of arXiv 2012.09740.

    >>> flat = analyse_temperature(torch.eye(8), torch.eye(8), [100.0])[0]
    >>> round(flat.share, 3), round(flat.largest_weight, 3)
    (1.0, 0.126)
    """
    check_pair(anchors, positives)
    if len(anchors) < 2:
        raise TooFewRows(f"a softmax over {len(anchors)} candidate compares nothing; pass 2 rows")
    if not all(temperature > 0 for temperature in temperatures):
        raise SettingError(f"temperatures must be positive, found {list(temperatures)}")
    a, p = normalize(anchors), normalize(positives)
    return tuple(_read(a, p, temperature) for temperature in temperatures)


def _read(a: Tensor, p: Tensor, temperature: float) -> TemperatureReading:
    rows = len(a)
    entropy = largest = positive = 0.0
    for start in range(0, rows, _TILE):
        logits = (a[start : start + _TILE] @ p.T) / temperature
        log_weights = torch.log_softmax(logits.double(), dim=1)
        weights = log_weights.exp()
        entropy -= float((weights * log_weights).sum())
        largest += float(weights.amax(dim=1).sum())
        positive += float(weights.diagonal(offset=start).sum())
    log_candidates = math.log(rows)
    return TemperatureReading(
        temperature=temperature,
        entropy=entropy / rows,
        log_candidates=log_candidates,
        share=entropy / rows / log_candidates,
        largest_weight=largest / rows,
        positive_weight=positive / rows,
    )
