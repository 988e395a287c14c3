"""Fitting: events in, sources that can score any history out.

The closed-form source comes first, because it teaches the tower; content comes last, because it is
learned from the tower's item vectors. In: interactions, settings and perhaps an item table. Out:
:class:`Fitted`, which a generator asks and ``storage.py`` keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray
from torch import nn

from ..core import Progress, TooFewRows, fingerprint
from .cold import ColdTower, ContentMap
from .content import ContentEncoder
from .cooccurrence import Cooccurrence, CooccurrenceSettings
from .histories import Histories
from .interactions import Interactions
from .linear import LinearItems, LinearSettings
from .popularity import Popularity
from .settings import GeneratorSettings
from .sources import Blend, Source
from .spectral import SpectralItems, SpectralSettings
from .teaching import ask_teacher
from .tower import Tower
from .tower_settings import TowerSettings
from .trial import Trial
from .tuning import choose_exponents
from .vocabulary import Vocabulary

_HELD_BACK = 0.2
_CHOSEN_AT = 100


@dataclass(eq=False)
class Fitted:
    """Everything that was learned.

    Attributes:
        interactions: From what.
        popularity: The bestseller list.
        cooccurrence: The closed form, or None.
        linear: The linear source, or None.
        spectral: The spectral source, or None.
        tower: The learned tower, or None.
        content: How an item table becomes numbers, or None.
        content_map: Where content lies on the tower's sphere, or None.
        content_vectors: Unit vectors of all items by content, float32 [I, D], or None.
    """

    interactions: Interactions
    popularity: Popularity
    cooccurrence: Cooccurrence | None = None
    linear: LinearItems | None = None
    spectral: SpectralItems | None = None
    tower: Tower | None = None
    content: ContentEncoder | None = None
    content_map: ContentMap | None = None
    content_vectors: NDArray[np.float32] | None = field(default=None, repr=False)

    @property
    def sources(self) -> dict[str, Source]:
        """All sources there are, by name."""
        found: list[Source | None] = [
            self.popularity,
            self.cooccurrence,
            self.spectral,
            self.linear,
            self.tower,
        ]
        if self.tower is not None and self.content_vectors is not None:
            found.append(ColdTower(self.tower, self.content_vectors))
        return {source.name: source for source in found if source is not None}

    @property
    def answerable(self) -> NDArray[np.bool_]:
        """Items that were taken, or whose content places them, bool [I]."""
        answerable = self.interactions.item_counts > 0
        if self.content_vectors is not None:
            answerable |= np.abs(self.content_vectors).sum(axis=1) > 0
        return answerable

    @property
    def fingerprint(self) -> str:
        """Name of what makes the vectors; of the closed forms where there is no tower.

        Content is part of it: how tables become numbers, and where those lie on the sphere.
        """
        if self.tower is None:
            return self._closed_fingerprint
        if self.content is None or self.content_map is None:
            return self.tower.fingerprint_
        return fingerprint(
            nn.Identity(),
            preprocessing={
                "tower": self.tower.fingerprint_,
                "content": self.content.state(),
                "rarity": self.content.rarity_,
                "weights": self.content_map.weights,
            },
        )

    @property
    def _closed_fingerprint(self) -> str:
        links, linear, spectral = self.cooccurrence, self.linear, self.spectral
        return fingerprint(
            nn.Identity(),
            preprocessing={
                "cooccurrence": None if links is None else asdict(links.settings),
                "linear": None if linear is None else asdict(linear.settings),
                "spectral": None if spectral is None else asdict(spectral.settings),
                "taken": self.interactions.histories.items,
            },
        )

    def place_content_(self, vectors: NDArray[np.float32]) -> None:
        """Set the content vectors of all items; those nobody took get them in the tower too.

        Args:
            vectors: Unit vectors, float32 [I, D]; zeros where nothing is known.
        """
        self.content_vectors = vectors
        if self.tower is not None:
            self.tower.place_(np.flatnonzero(self.interactions.item_counts == 0), vectors)

    def widen_(self, ids: pl.Series) -> None:
        """Make room for items that nobody took; the encoder and all scores stay as they are."""
        known = self.interactions
        items = known.items.extended(ids)
        histories = known.histories.widened(len(items))
        self.interactions = Interactions(known.users, items, histories, known.ordered)
        self.popularity = Popularity(self.interactions.item_counts)
        for source in (self.cooccurrence, self.spectral, self.linear, self.tower):
            if source is not None:
                source.widen_(len(ids))


def fit_sources(
    interactions: Interactions,
    settings: GeneratorSettings,
    items: pl.DataFrame | None,
    progress: Progress,
) -> Fitted:
    """Fit every source the settings ask for.

    Args:
        interactions: What users took; its catalogue covers ``items``.
        settings: What is asked for.
        items: Table of items with content, or None.
        progress: Display of long loops.
    """
    fitted = Fitted(interactions, Popularity(interactions.item_counts))
    histories = interactions.histories
    trial = _cut_trial(interactions, settings)
    if (links := _choose_links(trial, settings, progress)) is not None:
        fitted.cooccurrence = Cooccurrence(histories, links)
    if (spectral := _choose_spectral(trial, settings, links)) is not None:
        fitted.spectral = SpectralItems(histories, spectral, seed=settings.seed)
    if (linear := _choose_linear(trial, settings, links)) is not None:
        fitted.linear = LinearItems(histories, linear)
    if settings.tower is not None:
        answers = _teach(fitted, settings.tower, settings.weights, progress)
        fitted.tower = Tower(settings.tower, seed=settings.seed).fit(
            histories, answers=answers, progress=progress
        )
        if items is not None and len(items.columns) > 1:
            _learn_content(fitted, fitted.tower, settings, items)
    return fitted


def _cut_trial(interactions: Interactions, settings: GeneratorSettings) -> Trial | None:
    """Hold a part back, if there is anything to choose and anything to hold back."""
    if "choose" not in (settings.cooccurrence, settings.linear, settings.spectral):
        return None
    try:
        return Trial.cut(interactions, _CHOSEN_AT, share=_HELD_BACK, seed=settings.seed)
    except TooFewRows:
        return None


def _choose_links(
    trial: Trial | None, settings: GeneratorSettings, progress: Progress
) -> CooccurrenceSettings | None:
    asked = settings.cooccurrence
    if not isinstance(asked, str):
        return asked
    # Histories too short to hold anything back say nothing against the usual exponents.
    return (
        CooccurrenceSettings()
        if trial is None
        else choose_exponents(trial, progress=progress).settings
    )


def _choose_linear(
    trial: Trial | None, settings: GeneratorSettings, links: CooccurrenceSettings | None
) -> LinearSettings | None:
    asked, usual = settings.linear, LinearSettings()
    if not isinstance(asked, str):
        return asked
    weight = settings.weights.get("linear", 0.0)
    if trial is None or links is None or not weight or trial.inner.width > usual.most_items:
        return None
    return usual if _helps(trial, links, LinearItems(trial.inner, usual), weight) else None


def _choose_spectral(
    trial: Trial | None, settings: GeneratorSettings, links: CooccurrenceSettings | None
) -> SpectralSettings | None:
    asked, usual = settings.spectral, SpectralSettings()
    if not isinstance(asked, str):
        return asked
    weight = settings.weights.get("spectral", 0.0)
    if trial is None or links is None or not weight:
        return None
    second = SpectralItems(trial.inner, usual, seed=settings.seed)
    return usual if _helps(trial, links, second, weight) else None


def _helps(trial: Trial, links: CooccurrenceSettings, second: Source, weight: float) -> bool:
    """Tell whether co-occurrence finds more of what was held back with a second source beside."""
    first = Cooccurrence(trial.inner, links)
    found = trial.measure_weights({first.name: 1.0}, {first.name: first}, second, (0.0, weight))
    return found[weight] > found[0.0]


def _teach(
    fitted: Fitted, tower: TowerSettings, weights: Mapping[str, float], progress: Progress
) -> Histories | None:
    """Ask the closed forms, weighed as in the blend, for what the tower is to learn from them."""
    known: list[Source | None] = [fitted.cooccurrence, fitted.spectral, fitted.linear]
    sources = [source for source in known if source is not None]
    if not (tower.taught and sources):
        return None
    blend = Blend.of_those_there(sources, weights, {})
    if not any(blend.weights.values()):
        # Where the tower answers alone, nothing says how to weigh its teachers: evenly.
        blend = Blend(sources, {source.name: 1.0 for source in sources}, {})
    return ask_teacher(blend, fitted.interactions.histories, progress=progress)


def _learn_content(
    fitted: Fitted, tower: Tower, settings: GeneratorSettings, items: pl.DataFrame
) -> None:
    catalogue, counts = fitted.interactions.items, fitted.interactions.item_counts
    fitted.content = ContentEncoder(settings.content).fit(items)
    known = Vocabulary(items["item_id"], "item_id").rows_of(catalogue.ids)
    encoded = fitted.content.encode(items)[np.maximum(known, 0)]
    features = encoded.multiply((known >= 0)[:, None]).tocsr()
    fitted.content_map = ContentMap.fit(features, tower.item_vectors, counts, seed=settings.seed)
    fitted.place_content_(fitted.content_map.place(features))
