"""Tuning: settings chosen on a part cut out of the training events, never on the test part.

In: training events. Out: settings for a generator, and the table they were chosen from. The inner
part is what would have been known, the held-back part what users took next: the latest share of
each history where events carry moments, a random share where they do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import Progress, Table, TooFewRows, silent
from .cooccurrence import Cooccurrence, CooccurrenceSettings
from .evaluation import ideal_gains
from .histories import Histories
from .interactions import Interactions
from .ranking import Ranked, rank_rows
from .scale import standardise_
from .sources import Source
from .tower import Tower, TowerSettings

USER_EXPONENTS = (0.5, 0.8, 1.0)
HISTORY_EXPONENTS = (0.3, 0.6)
CANDIDATE_EXPONENTS = (0.3, 0.5, 0.7)
"""Exponents that are tried, each with each."""
TOWER_WEIGHTS = (0.0, 0.3, 0.6, 1.0, 1.5, 2.5)
_MOST_USERS = 1000


@dataclass(frozen=True, eq=False)
class Choice:
    """Settings, and why these.

    Attributes:
        cooccurrence: Best exponents of the co-occurrence source alone.
        weights: Best weights of the blend.
        trials: ``what, recall, ndcg`` on the part held back, one row a trial.
        k: Recall and NDCG count the first k.
    """

    cooccurrence: CooccurrenceSettings
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
        return {"cooccurrence": self.cooccurrence, "weights": dict(self.weights)}


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
    k: int = 100,
    share: float = 0.2,
    seed: int = 0,
    progress: Progress = silent,
) -> Choice:
    """Choose the exponents of co-occurrence and the weights of the blend on held-back events.

    Args:
        interactions: Training events of any kind, or :class:`Interactions`.
        tower: Settings of the tower; None chooses for co-occurrence alone.
        k: Recall at k decides, NDCG at k between equals.
        share: Share of each history held back.
        seed: Seed of the draw and of the tower.
        progress: Display of the trials.

    Raises:
        TooFewRows: No history is long enough to hold anything back.
    """
    known = (
        interactions if isinstance(interactions, Interactions) else Interactions.read(interactions)
    )
    trial = Trial.cut(known, k, share=share, seed=seed)
    exponents = choose_exponents(trial, progress=progress)
    rows, weights = list(exponents.trials), {"cooccurrence": 1.0}
    if tower is not None:
        links = Cooccurrence(trial.inner, exponents.settings)
        learned = Tower(tower, seed=seed).fit(trial.inner, teacher=links, progress=progress)
        rows.append(("tower alone", *trial.measure(learned.score)))
        shares = {weight: measure_blend(trial, links, learned, weight) for weight in TOWER_WEIGHTS}
        rows += [(f"tower x {weight:g}", *value) for weight, value in shares.items()]
        weights["tower"] = max(shares, key=lambda weight: shares[weight])
    trials = pl.DataFrame(rows, schema=["what", "recall", "ndcg"], orient="row")
    return Choice(exponents.settings, weights, trials, k)


@dataclass(frozen=True, eq=False)
class Trial:
    """Histories cut in two, and the users they are judged on.

    Attributes:
        inner: What is known of everybody.
        shown: Of that, the histories of the users judged.
        wanted: What was held back of theirs, at least one item each.
        k: Recall and NDCG count the first k.
    """

    inner: Histories
    shown: Histories
    wanted: Histories
    k: int

    @classmethod
    def cut(cls, known: Interactions, k: int, *, share: float, seed: int) -> Trial:
        """Hold back the latest share of each history, or a random one where nothing is dated.

        Raises:
            TooFewRows: No history is long enough to hold anything back.
        """
        histories, generator = known.histories, np.random.default_rng(seed)
        owners, lengths = histories.owners, histories.lengths
        order = histories.items * 0 + np.arange(len(owners))
        place = order - histories.offsets[:-1][owners]
        if not known.ordered:
            drawn = np.lexsort((generator.random(len(owners)), owners))
            place = np.empty_like(order)
            place[drawn] = order - histories.offsets[:-1][owners]
        later = place >= lengths[owners] - np.floor(share * lengths[owners])
        if not later.any():
            raise TooFewRows(
                f"no history is long enough to hold back {share:g} of it; add events, or set "
                "exponents and weights by hand"
            )
        inner, wanted = histories.keep(~later), histories.keep(later)
        users = np.flatnonzero(wanted.lengths)
        if len(users) > _MOST_USERS:
            users = np.sort(generator.choice(users, _MOST_USERS, replace=False))
        return cls(inner, inner.take(users), wanted.take(users), k)

    def measure(self, score: Any) -> tuple[float, float]:
        """Give recall and NDCG at k of what scores histories."""
        found = [self._measure_batch(score, rows) for rows in self._batches()]
        recall, ndcg = np.concatenate(found, axis=1)
        return round(float(recall.mean()), 6), round(float(ndcg.mean()), 6)

    def _batches(self) -> Iterable[slice]:
        size = max(1, (1 << 24) // self.shown.width)
        return (slice(start, start + size) for start in range(0, len(self.shown), size))

    def _measure_batch(self, score: Any, rows: slice) -> NDArray[np.float64]:
        shown, wanted = self.shown.take(rows), self.wanted.take(rows)
        scores = score(shown)
        scores[shown.owners, shown.items] = -np.inf
        return measure_lists(rank_rows(scores, self.k), wanted, self.k)


def measure_lists(ranked: Ranked, wanted: Histories, k: int) -> NDArray[np.float64]:
    """Give recall and NDCG of each list, float64 [2, B]; every history must want something."""
    width = np.int64(wanted.width)
    keys = wanted.owners * width + wanted.items
    hit = np.isin(ranked.owners * width + ranked.items, keys)
    gain = hit / np.log2(ranked.ranks + 1.0)
    owners, count = ranked.owners, len(wanted)
    ideal = ideal_gains(int(wanted.lengths.max()), k)[wanted.lengths]
    recall = np.bincount(owners, weights=hit, minlength=count) / wanted.lengths
    return np.stack([recall, np.bincount(owners, weights=gain, minlength=count) / ideal])


def measure_blend(
    trial: Trial, first: Source, second: Source, weight: float
) -> tuple[float, float]:
    """Give recall and NDCG of two sources, the second with a weight."""

    def score(histories: Histories) -> NDArray[np.float32]:
        total = standardise_(first.score(histories))
        total += np.float32(weight) * standardise_(second.score(histories))
        return total

    return trial.measure(score)


def _name(setting: CooccurrenceSettings) -> str:
    return (
        f"co-occurrence {setting.user_exponent:g}/{setting.history_exponent:g}/"
        f"{setting.candidate_exponent:g}"
    )
