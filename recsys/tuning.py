"""Tuning: settings chosen on a part cut out of the training events, never on the test part.

In: training events. Out: settings for a generator, and the table they were chosen from. The
exponents of co-occurrence come first; then each further source is tried beside what was chosen so
far, and gets the weight that finds most, or none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import polars as pl

from ..core import Progress, Table, silent
from .cooccurrence import Cooccurrence, CooccurrenceSettings
from .interactions import Interactions
from .linear import LinearItems, LinearSettings
from .sources import Blend, Source
from .spectral import SpectralItems, SpectralSettings
from .teaching import ask_teacher
from .tower import Tower
from .tower_settings import TowerSettings
from .trial import Found, Trial

USER_EXPONENTS = (0.5, 0.8, 1.0)
HISTORY_EXPONENTS = (0.3, 0.6)
CANDIDATE_EXPONENTS = (0.3, 0.5, 0.7)
"""Exponents that are tried, each with each."""
WEIGHTS = (0.0, 0.3, 0.6, 1.0, 1.5, 2.5, 5.0)
"""Weights of a further source that are tried; what was chosen before it has about 1."""
USUAL_SPECTRAL = SpectralSettings()
USUAL_LINEAR = LinearSettings()


@dataclass(frozen=True, eq=False)
class Choice:
    """Settings, and why these.

    Attributes:
        cooccurrence: Best exponents of the co-occurrence source alone.
        spectral: Of the spectral source; None where it adds nothing.
        linear: Of the linear source; None where it adds nothing or the catalogue is too large.
        weights: Best weights of the blend.
        trials: ``what, recall, ndcg`` on the part held back, one row a trial.
        k: Recall and NDCG count the first k.
    """

    cooccurrence: CooccurrenceSettings
    spectral: SpectralSettings | None
    linear: LinearSettings | None
    weights: Mapping[str, float]
    trials: pl.DataFrame
    k: int

    def as_text(self) -> str:
        """Tell the trials and the choice, for a terminal."""
        best = {"recall": "higher", "ndcg": "higher"}
        shown = Table(self.trials.columns, self.trials.rows(), best=best)  # type: ignore[arg-type]
        weights = ", ".join(f"{name} {weight:g}" for name, weight in self.weights.items())
        return f"{shown.as_text()}\nchosen: {_name(self.cooccurrence)}; weights {weights}"

    def apply(self) -> dict[str, Any]:
        """Give the choice as arguments of :class:`~likewise.recsys.CandidateGenerator`."""
        return {
            "cooccurrence": self.cooccurrence,
            "spectral": self.spectral,
            "linear": self.linear,
            "weights": dict(self.weights),
        }


@dataclass(frozen=True, eq=False)
class Exponents:
    """Exponents of co-occurrence that found most, and all that were tried."""

    settings: CooccurrenceSettings
    trials: list[tuple[str, float, float]]


def choose_exponents(trial: Trial, *, progress: Progress = silent) -> Exponents:
    """Try all exponents of co-occurrence on one trial.

    The product over users depends on their exponent alone, so it is made once for each; the other
    two only scale its rows and columns.
    """
    best, best_value = CooccurrenceSettings(), (-1.0, -1.0)
    trials: list[tuple[str, float, float]] = []
    for user in progress(USER_EXPONENTS, "choosing exponents"):
        plain = replace(best, user_exponent=user, history_exponent=0.0, candidate_exponent=0.0)
        links = Cooccurrence(trial.inner, plain)
        for history, candidate in product(HISTORY_EXPONENTS, CANDIDATE_EXPONENTS):
            setting = replace(plain, history_exponent=history, candidate_exponent=candidate)
            value = trial.measure(links.rescaled(setting).score)
            trials.append((_name(setting), *value))
            if value > best_value:
                best, best_value = setting, value
    return Exponents(best, trials)


def choose_settings(
    interactions: Any,
    *,
    tower: TowerSettings | None = None,
    spectral: SpectralSettings | None = USUAL_SPECTRAL,
    linear: LinearSettings | None = USUAL_LINEAR,
    k: int = 100,
    share: float = 0.2,
    seed: int = 0,
    progress: Progress = silent,
) -> Choice:
    """Choose the exponents of co-occurrence, the sources and their weights on held-back events.

    Args:
        interactions: Training events of any kind, or :class:`Interactions`.
        tower: Settings of the tower; None chooses without one.
        spectral: Of the spectral source; None leaves it out.
        linear: Of the linear source; None leaves it out, as does a catalogue that is too large.
        k: Recall at k decides, NDCG at k between equals.
        share: Share of each history held back.
        seed: Seed of the draw and of what is learned.
        progress: Display of the trials.

    Raises:
        TooFewRows: No history is long enough to hold anything back.
    """
    known = (
        interactions if isinstance(interactions, Interactions) else Interactions.read(interactions)
    )
    trial = Trial.cut(known, k, share=share, seed=seed)
    exponents = choose_exponents(trial, progress=progress)
    links = Cooccurrence(trial.inner, exponents.settings)
    blend, rows = _Blending(trial, links), list(exponents.trials)
    if spectral is not None:
        rows += blend.try_(SpectralItems(trial.inner, spectral, seed=seed))
    if linear is not None and trial.inner.width <= linear.most_items:
        rows += blend.try_(LinearItems(trial.inner, linear))
    if tower is not None:
        answers = (
            ask_teacher(blend.so_far, trial.inner, progress=progress) if tower.taught else None
        )
        learned = Tower(tower, seed=seed).fit(trial.inner, answers=answers, progress=progress)
        rows += blend.try_(learned)
    weights = dict(blend.weights)
    return Choice(
        exponents.settings,
        spectral if weights.get("spectral") else None,
        linear if weights.get("linear") else None,
        # A tower without weight still places new items and sessions, and can be asked alone.
        weights if tower is None else {"tower": 0.0} | weights,
        pl.DataFrame(rows, schema=["what", "recall", "ndcg"], orient="row"),
        k,
    )


class _Blending:
    """What was chosen so far."""

    def __init__(self, trial: Trial, first: Source) -> None:
        self.trial = trial
        self.sources: dict[str, Source] = {first.name: first}
        self.weights: dict[str, float] = {first.name: 1.0}

    @property
    def so_far(self) -> Blend:
        """The sources that were taken in, weighed as they were."""
        return Blend(list(self.sources.values()), self.weights, {})

    def try_(self, further: Source) -> list[tuple[str, float, float]]:
        """Take a further source in with its best weight, if that is not 0; tell all trials."""
        name = further.name
        alone = self.trial.measure(further.score)
        found = self.trial.measure_weights(self.weights, self.sources, further, WEIGHTS)
        best = max(found, key=lambda weight: found[weight])
        if best:
            self.sources[name], self.weights[name] = further, best
        told: list[tuple[str, Found]] = [(f"{name} alone", alone)]
        told += [(f"with {name} x {weight:g}", value) for weight, value in found.items()]
        return [(what, *value) for what, value in told]


def _name(setting: CooccurrenceSettings) -> str:
    return (
        f"co-occurrence {setting.user_exponent:g}/{setting.history_exponent:g}/"
        f"{setting.candidate_exponent:g}"
    )
