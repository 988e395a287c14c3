"""The retrieval forecaster: what followed when it last looked like this.

In: a long frame. Out: forecasts, intervals, and the episodes of history they are made of. Fitting
trains two towers on (window, continuation) pairs from before a validation cut, chooses on the tail
behind it which embedding, level and kernel serve best (raw windows stand among the candidates),
and indexes every continuation there is. A forecast is

    level(past) + sum over history of  weight * (continuation - level(its own past))

with weights that sum to one over everything complete at the origin. Where the level is a direct
forecaster, history tells how far that one was off when things looked like this.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from os import PathLike
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from ..core import SettingError, TooFewNegatives, TooFewRows, TrainingHistory
from .choice import raw_candidates, tell_trials, try_all
from .cold import explain_donors, find_donors, startable
from .continuations import ContinuationIndex
from .draws import DRAWS, draw_lifts, fence
from .embeddings import Embedding
from .episodes import explain_origin
from .explanation import Explanation
from .frames import Gaps
from .frequency import Frequency
from .growth import goes_on
from .holdout import HeldOut
from .kernels import Kernel, Softmax
from .levels import Level, LevelKind, check_level, direct_level, fit_levels, of_kind
from .matching import Match, Rule
from .model import Forecaster
from .normalisers import Normaliser, training_deviations
from .origins import Origins, complete, pasts
from .pairs import PairPolicy
from .panel import Panel, Values
from .recipe import Recipe
from .retrieval_store import load_retrieval, save_retrieval
from .towers import TowerSettings, retrain_towers, train_towers
from .units import Steps
from .windows import Windows

EmbeddingKind = Literal["auto", "learned", "raw"]
Channels = Literal["apart", "joint"]


class RetrievalForecaster(Forecaster):
    """Forecast by the stretches of history that looked like now.

    Args:
        horizon: Steps to forecast, H.
        lookback: Rows of the window that asks, L.
        embedding: ``learned`` towers, ``raw`` windows, or ``auto``: whichever wins on validation.
        pairs: What the towers learn from: ``continuation`` (default), ``augmentation`` or
            ``adjacency``.
        level: What continuations hang on: ``mean``, ``last``, ``recent``, ``trailing``,
            ``halfway``, or ``auto``; or a direct forecaster of this horizon that looks back no
            farther: then history corrects it by how it erred in windows like this one.
        normaliser: Takes base and scale off windows before they are embedded; None takes the
            mean off, and tries ``z`` too for raw windows.
        towers: Shape and training of the towers.
        neighbours: Make each forecast of the K nearest windows only; None weighs all of history,
            which is a little more accurate and harder to read.
        channels: ``apart`` embeds every series by itself; ``joint`` embeds the windows of all
            series up to the same step together, for panels whose series move each other.
            Continuations stay each series' own.
        match: What a window must share with the one that asks, beside its shape: calendar units
            (``"hour"``), periods in rows (24), mappings from series to label; see :class:`Match`.
            Nothing by default.
        stride: Keep every so many windows in the index. Two windows an odd number of rows apart
            never meet under a stride of 2: let it divide the season.
        freq, gaps, alias: As in :class:`Forecaster`.
        seed: Of weights, order and dropout. Same seed, same machine: same fingerprint.

    Attributes:
        choices_: What was tried on validation and what it scored, best first.
        recipe_, embedding_, kernel_, level_: What serves.
        direct_: The direct forecaster that continuations hang on, fitted; None where they do not.
        index_: Every continuation.

    Raises:
        SettingError: Settings that cannot work.
    """

    family = "retrieval"
    index_: ContinuationIndex

    def __init__(
        self,
        horizon: int,
        lookback: int,
        *,
        embedding: EmbeddingKind = "auto",
        pairs: PairPolicy = "continuation",
        level: LevelKind | Forecaster | Literal["auto"] = "auto",
        normaliser: Normaliser | None = None,
        towers: TowerSettings | None = None,
        neighbours: int | None = None,
        channels: Channels = "apart",
        match: Sequence[Rule] = (),
        stride: int = 1,
        freq: str | int | Frequency | None = None,
        gaps: Gaps = "error",
        alias: str | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(horizon, lookback=lookback, freq=freq, gaps=gaps, alias=alias)
        if embedding not in get_args(EmbeddingKind):
            raise SettingError(f"embedding {embedding!r} is not auto, learned or raw")
        check_level(level, horizon, lookback)
        self.embedding = embedding
        self.pairs: PairPolicy = pairs
        self.level = level
        self.normaliser = normaliser
        self.towers = towers or TowerSettings()
        if neighbours is not None and neighbours < 1:
            raise SettingError(f"neighbours starts at 1, found {neighbours}; None weighs all")
        self.neighbours = neighbours
        if channels not in get_args(Channels):
            raise SettingError(f"channels {channels!r} are not apart or joint")
        if channels == "joint" and pairs != "continuation":
            raise SettingError(f"joint channels learn from continuations, not from {pairs} pairs")
        self.channels = channels
        self.match = Match(match)
        self.stride = stride
        self.seed = seed

    @property
    def covariates(self) -> tuple[str, ...]:
        """What the forecaster that continuations hang on looks at beside the target."""
        return self.level.covariates if isinstance(self.level, Forecaster) else ()

    def rehearse(self, panel: Panel, held: HeldOut) -> None:
        """Train before the cut, choose behind it."""
        windows = Windows(held.before, self.lookback, self.horizon)
        if not len(windows):
            raise TooFewRows(
                f"no series has {self.lookback} + {self.horizon} complete rows before the "
                "validation tail; shorten the lookback or the horizon, or close the gaps"
            )
        self.direct_ = copy.deepcopy(self.level) if isinstance(self.level, Forecaster) else None
        if self.direct_ is not None:
            self.direct_.rehearse(panel, held)
            self.direct_.attach(panel)
        units = training_deviations(held.before)
        recipe = Recipe(
            self.lookback,
            self.horizon,
            self.normaliser or Normaliser("mean"),
            held.before.by_id(units),
            self.direct_,
            self.match if self.match.rules else None,
            held.before.ids if self.channels == "joint" else (),
        )
        levels = self._levels(windows, units)
        self.history_: TrainingHistory | None = None
        indexes = (
            self._index(panel, one, embedding, Softmax())
            for one, embedding in self._embeddings(panel, held, recipe, levels)
        )
        trials = try_all(indexes, panel, held, levels)
        best = trials[0]
        self.recipe_, self.embedding_ = best.recipe, best.embedding
        self.kernel_, self.level_ = best.kernel, levels[best.level]
        self.choices_ = tell_trials(trials)

    def learn(self, panel: Panel) -> None:
        """Learn towers and level again on all rows; what was chosen stays chosen."""
        self.learned_until_ = int(panel.end_steps.max())
        windows = Windows(panel, self.lookback, self.horizon)
        if self.direct_ is not None:
            self.direct_.learn(panel)
        self.level_ = self._levels(windows, self.recipe_.units(panel))[self.level_.name]
        if self.history_ is not None and self.embedding_.name == "learned":
            self.embedding_ = retrain_towers(
                panel, self.recipe_, self.pairs, self.towers, self.seed, self.history_
            )

    def attach(self, panel: Panel) -> None:
        """Index every complete window of the panel, in the order they became complete."""
        if self.direct_ is not None:
            self.direct_.attach(panel)
        earlier: ContinuationIndex | None = getattr(self, "index_", None)
        if earlier is not None and not self._still_holds(earlier, panel):
            # Let go of it first: a large history does not fit twice.
            earlier = None
            del self.index_
        if earlier is not None and earlier.windows.panel is panel:
            return
        self.index_ = self._index(
            panel, self.recipe_, self.embedding_, self.kernel_, earlier=earlier
        )

    def _still_holds(self, index: ContinuationIndex, panel: Panel) -> bool:
        """Whether what an index holds can be taken over for a panel that goes on behind its own."""
        return (
            self.direct_ is None
            and index.embedding is self.embedding_
            and index.recipe is self.recipe_
            and goes_on(panel, index.windows.panel)
        )

    def _index(
        self,
        panel: Panel,
        recipe: Recipe,
        embedding: Embedding,
        kernel: Kernel,
        earlier: ContinuationIndex | None = None,
    ) -> ContinuationIndex:
        return ContinuationIndex(
            panel,
            recipe,
            embedding,
            kernel,
            stride=self.stride,
            neighbours=self.neighbours,
            earlier=earlier,
        )

    def _levels(self, windows: Windows, units: Values) -> dict[str, Level]:
        if isinstance(self.level, Forecaster):
            return direct_level(self.lookback, self.horizon)
        return of_kind(fit_levels(windows, units), self.level)

    def latest_candidates(self, steps: Steps) -> list[int | None]:
        """Latest row of a continuation that was complete at each step."""
        counts = self.index_.windows.upto(steps)
        return [int(self.index_.windows.end_steps[n - 1]) if n else None for n in counts]

    def ready(self, panel: Panel, origins: Origins) -> NDArray[np.bool_]:
        """Which origins have rows enough: a window with holes is answered by donors."""
        able = startable(panel, origins, self.lookback)
        index: ContinuationIndex | None = getattr(self, "index_", None)
        return able if index is None else able & index.matched(panel, origins)

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """The weighted continuations, hung on the level of each past, [O, H]."""
        past = pasts(panel, origins, self.lookback)
        whole = complete(past)
        mean = np.empty((len(origins), self.horizon))
        if whole.any():
            recalled = self.index_.recall(panel, origins[whole])
            base = self.level_.base(self.recipe_.summarise(panel, origins[whole], past[whole]))
            mean[whole] = base + recalled.future - self.level_.base(recalled.summary)
        for place in np.flatnonzero(~whole).tolist():
            mean[place] = find_donors(self.index_, panel, origins[place : place + 1]).mean()
        return mean

    def draws(self, panel: Panel, origins: Origins, mean: Values) -> Values:
        """Continuations drawn by their weights, moved so that their mean is the forecast's."""
        past = pasts(panel, origins, self.lookback)
        whole = complete(past)
        drawn = np.empty((len(origins), DRAWS, mean.shape[1]))
        if whole.any():
            base = self.level_.base(self.recipe_.summarise(panel, origins[whole], past[whole]))
            lifts = draw_lifts(self.index_, self.level_, panel, origins[whole])
            drawn[whole] = fence(base[:, None] + lifts, past[whole])
        for place in np.flatnonzero(~whole).tolist():
            drawn[place] = find_donors(self.index_, panel, origins[place : place + 1]).draws(DRAWS)
        moved: Values = drawn + (mean - drawn.mean(axis=1))[:, None]
        return moved

    def explain(
        self, series_id: Hashable | None = None, *, episodes: int = 8, min_gap: int | None = None
    ) -> Explanation:
        """Take the forecast of one series apart into the episodes it is made of.

        Args:
            series_id: Which series; None for the first.
            episodes: How many episodes are told one by one; the rest stands together.
            min_gap: Rows by which the heaviest windows of two episodes of a series differ at
                least; None takes the horizon.

        Returns:
            The explanation; ``total()`` equals the forecast to 1e-6 of the series' unit.

        Raises:
            UnknownId: No such series; names the closest.
            TooFewRows: Its last window is not complete.
        """
        origin = self.explainable_origin(series_id)
        return self.explain_at(self.panel_, origin, episodes=episodes, min_gap=min_gap)

    def explain_at(
        self, panel: Panel, origin: Origins, *, episodes: int = 8, min_gap: int | None = None
    ) -> Explanation:
        """Take the forecast from one origin apart; see :meth:`explain`."""
        if not complete(pasts(panel, origin, self.lookback)).all():
            return explain_donors(self.index_, panel, origin, episodes=episodes)
        return explain_origin(
            self.index_,
            self.level_,
            panel,
            origin,
            episodes=episodes,
            min_gap=self.horizon if min_gap is None else min_gap,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Save everything that was fitted as one verified folder.

        Args:
            path: The folder; a bundle that stands there is replaced, all or nothing.
        """
        save_retrieval(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Load a saved forecaster; it answers to the bit as before.

        Raises:
            BundleError: The folder cannot be trusted, with the file and the cure.
            StaleIndex: The index was made by another encoder than the one in the folder.
        """
        return load_retrieval(cls, path)

    def _embeddings(
        self, panel: Panel, held: HeldOut, recipe: Recipe, levels: Mapping[str, Level]
    ) -> list[tuple[Recipe, Embedding]]:
        found: list[tuple[Recipe, Embedding]] = []
        if self.embedding != "learned":
            windows = Windows(held.before, self.lookback, self.horizon)
            found += raw_candidates(recipe, windows, self.normaliser)
        if self.embedding != "raw":
            usual = {name: one for name, one in levels.items() if one.span is None} or levels
            try:
                learned, self.history_ = train_towers(
                    panel, held, recipe, usual, self.pairs, self.towers, self.seed
                )
                found.append((recipe, learned))
            except TooFewNegatives:
                if self.embedding == "learned":
                    raise
        return found
