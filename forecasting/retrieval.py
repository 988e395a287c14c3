"""The retrieval forecaster: what followed when it last looked like this.

In: a long frame. Out: forecasts, intervals, and the episodes of history they are made of. Fitting
trains two towers on (window, continuation) pairs from before a validation cut, chooses on the tail
behind it which embedding, level and softness of weights serve best (raw windows stand among the
candidates), and indexes every continuation there is. A forecast is

    level(past) + sum over history of  weight * (continuation - level(its own past))

with weights ``softmax(scale * cosine)`` that sum to one over everything complete at the origin.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from os import PathLike
from typing import Literal, Self, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import SettingError, TooFewNegatives, TooFewRows, TrainingHistory
from .cold import explain_donors, find_donors, startable
from .continuations import ContinuationIndex, Recipe
from .draws import DRAWS, draw_lifts
from .embeddings import Embedding, RawEmbedding
from .episodes import Explanation, explain_origin
from .frames import Gaps
from .frequency import Frequency
from .holdout import HeldOut
from .levels import Level, LevelKind, check_level, fit_levels, summarise
from .model import Forecaster
from .normalisers import Normaliser, training_deviations
from .origins import Origins, complete, pasts
from .pairs import PairPolicy
from .panel import Panel, Values
from .retrieval_store import load_retrieval, save_retrieval
from .skill import level_errors
from .towers import TowerSettings, retrain_towers, train_towers
from .units import Steps
from .windows import Windows

EmbeddingKind = Literal["auto", "learned", "raw"]
SOFTNESS = (1.0,)
"""The learned temperature serves as it is: at it, and only at it, the softmax of scores is a
density ratio, and its weights are a forecast distribution."""
RAW_SOFTNESS = tuple(0.125 * 2**power for power in range(12))
"""The same for raw windows, whose scale nobody learned."""
CHOICE_ORIGINS = 768


class RetrievalForecaster(Forecaster):
    """Forecast by the stretches of history that looked like now.

    Args:
        horizon: Steps to forecast, H.
        lookback: Rows of the window that asks, L.
        embedding: ``learned`` towers, ``raw`` windows, or ``auto``: whichever wins on validation.
        pairs: What the towers learn from: ``continuation`` (default), ``augmentation`` or
            ``adjacency``.
        level: What continuations hang on: ``mean``, ``last``, ``trailing``, or ``auto``.
        normaliser: Takes base and scale off windows before they are embedded.
        towers: Shape and training of the towers.
        neighbours: Make each forecast of the K nearest windows only; None weighs all of history,
            which is a little more accurate and harder to read.
        stride: Keep every so many windows in the index.
        freq, gaps, alias: As in :class:`Forecaster`.
        seed: Of weights, order and dropout. Same seed, same machine: same fingerprint.

    Attributes:
        choices_: What was tried on validation and what it scored, best first.
        embedding_, level_: What serves.
        index_: Every continuation.

    Raises:
        SettingError: Settings that cannot work.
    """

    family = "retrieval"

    def __init__(
        self,
        horizon: int,
        lookback: int,
        *,
        embedding: EmbeddingKind = "auto",
        pairs: PairPolicy = "continuation",
        level: LevelKind | Literal["auto"] = "auto",
        normaliser: Normaliser | None = None,
        towers: TowerSettings | None = None,
        neighbours: int | None = None,
        stride: int = 1,
        freq: str | int | Frequency | None = None,
        gaps: Gaps = "error",
        alias: str | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(horizon, lookback=lookback, freq=freq, gaps=gaps, alias=alias)
        if embedding not in get_args(EmbeddingKind):
            raise SettingError(f"embedding {embedding!r} is not auto, learned or raw")
        if level != "auto":
            check_level(level)
        self.embedding = embedding
        self.pairs: PairPolicy = pairs
        self.level = level
        self.normaliser = normaliser or Normaliser("mean")
        self.towers = towers or TowerSettings()
        if neighbours is not None and neighbours < 1:
            raise SettingError(f"neighbours starts at 1, found {neighbours}; None weighs all")
        self.neighbours = neighbours
        self.stride = stride
        self.seed = seed

    def rehearse(self, panel: Panel, held: HeldOut) -> None:
        """Train before the cut, choose behind it."""
        windows = Windows(held.before, self.lookback, self.horizon)
        if not len(windows):
            raise TooFewRows(
                f"no series has {self.lookback} + {self.horizon} complete rows before the "
                "validation tail; shorten the lookback or the horizon, or close the gaps"
            )
        self.embedding_: Embedding
        self.level_: Level
        units = training_deviations(held.before)
        self.recipe_ = Recipe(
            self.lookback,
            self.horizon,
            self.normaliser,
            dict(zip(held.before.ids, units.tolist(), strict=True)),
        )
        levels = fit_levels(windows, units)
        self.history_: TrainingHistory | None = None
        candidates = self._embeddings(panel, held, levels)
        self.choices_ = self._choose(panel, held, levels, candidates)

    def learn(self, panel: Panel) -> None:
        """Learn towers and level again on all rows; what was chosen stays chosen."""
        self.learned_until_ = int(panel.end_steps.max())
        windows = Windows(panel, self.lookback, self.horizon)
        self.level_ = fit_levels(windows, self.recipe_.units(panel))[self.level_.kind]
        if self.history_ is not None and self.embedding_.name == "learned":
            softness = float(self.choices_["softness"][0])
            again = retrain_towers(
                panel, self.recipe_, self.pairs, self.towers, self.seed, self.history_
            )
            again.scale *= softness
            self.embedding_ = again

    def attach(self, panel: Panel) -> None:
        """Index every complete window of the panel, in the order they became complete."""
        self.index_ = self._index(panel, self.embedding_)

    def _index(self, panel: Panel, embedding: Embedding) -> ContinuationIndex:
        return ContinuationIndex(
            panel, self.recipe_, embedding, stride=self.stride, neighbours=self.neighbours
        )

    def latest_candidates(self, steps: Steps) -> list[int | None]:
        """Latest row of a continuation that was complete at each step."""
        counts = self.index_.windows.upto(steps)
        return [int(self.index_.windows.end_steps[n - 1]) if n else None for n in counts]

    def ready(self, panel: Panel, origins: Origins) -> NDArray[np.bool_]:
        """Which origins have rows enough: a window with holes is answered by donors."""
        return startable(panel, origins, self.lookback)

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """The weighted continuations, hung on the level of each past, [O, H]."""
        past = pasts(panel, origins, self.lookback)
        whole = complete(past)
        mean = np.empty((len(origins), self.horizon))
        if whole.any():
            recalled = self.index_.recall(panel, origins[whole])
            base = self.level_.base(summarise(past[whole]))
            mean[whole] = base + recalled.future - self.level_.base(recalled.summary)
        for place in np.flatnonzero(~whole).tolist():
            mean[place] = find_donors(self.index_, panel, origins[place : place + 1]).mean()
        return mean

    def draws(self, panel: Panel, origins: Origins, mean: Values) -> Values:
        """Continuations drawn by their weights, hung on the level of each past, [O, M, H]."""
        past = pasts(panel, origins, self.lookback)
        whole = complete(past)
        drawn = np.empty((len(origins), DRAWS, mean.shape[1]))
        if whole.any():
            base = self.level_.base(summarise(past[whole]))
            lifts = draw_lifts(self.index_, self.level_, panel, origins[whole])
            drawn[whole] = base[:, None] + lifts
        for place in np.flatnonzero(~whole).tolist():
            drawn[place] = find_donors(self.index_, panel, origins[place : place + 1]).draws(DRAWS)
        return drawn

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
        self, panel: Panel, held: HeldOut, levels: Mapping[LevelKind, Level]
    ) -> list[Embedding]:
        found: list[Embedding] = []
        if self.embedding != "learned":
            windows = Windows(held.before, self.lookback, self.horizon)
            found.append(self._raw(windows))
        if self.embedding != "raw":
            try:
                learned, self.history_ = train_towers(
                    panel, held, self.recipe_, levels, self.pairs, self.towers, self.seed
                )
                found.append(learned)
            except TooFewNegatives:
                if self.embedding == "learned":
                    raise
        return found

    def _raw(self, windows: Windows) -> RawEmbedding:
        rows = np.arange(0, len(windows), max(1, len(windows) // 8192))
        past = windows.pasts(rows)
        unit = self.recipe_.units(windows.panel)[windows.series_of(rows)]
        base, scale = self.normaliser.measure(past, unit)
        return RawEmbedding.around(self.normaliser.apply(past, base, scale))

    def _choose(
        self,
        panel: Panel,
        held: HeldOut,
        levels: Mapping[LevelKind, Level],
        embeddings: list[Embedding],
    ) -> pl.DataFrame:
        """Try embeddings, softness and levels on the tail; keep the best."""
        origins = held.origins[:: max(1, len(held.origins) // CHOICE_ORIGINS)]
        kept = levels if self.level == "auto" else {self.level: levels[self.level]}
        trials: list[tuple[float, Embedding, float, LevelKind]] = []
        for embedding in embeddings:
            index = self._index(panel, embedding)
            for softness in RAW_SOFTNESS if embedding.name == "raw" else SOFTNESS:
                scale = softness * embedding.scale
                _, errors = level_errors(index, panel, origins, kept, scale)
                trials += [(error, embedding, softness, kind) for kind, error in errors.items()]
        trials.sort(key=lambda trial: trial[0])
        _, self.embedding_, softness, kind = trials[0]
        self.embedding_.scale *= softness
        self.level_ = levels[kind]
        return pl.DataFrame(
            {
                "embedding": [trial[1].name for trial in trials],
                "level": [trial[3] for trial in trials],
                "softness": [trial[2] for trial in trials],
                "validation_mse": [trial[0] for trial in trials],
            }
        )
