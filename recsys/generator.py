"""The candidate generator: events in, for each user the items a ranker should look at out.

:class:`CandidateGenerator` ties the room together: it fits the sources, reads requests and hands
them to ``answering.py``. What a source knows is in its own module, what a request may exclude in
``filters.py``, how a fitted generator becomes a folder in ``storage.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from ..core import Progress, silent
from .answering import Answerer, Request
from .candidates import Candidates
from .content import ContentSettings, read_items
from .events import Events, like_native
from .filters import Filters, ItemRule, Rule
from .fitting import fit_sources
from .histories import Histories
from .interactions import Interactions, Merge
from .policy import OnUnknown, admit
from .related import items_alike, items_together
from .sessions import read_sessions, read_visitors
from .settings import (
    USUAL_CONTENT,
    USUAL_TOWER,
    USUAL_WEIGHTS,
    Cooccurring,
    GeneratorSettings,
    Linear,
    Spectral,
)
from .sources import Blend, Source
from .storage import load_generator, save_generator
from .tower_settings import TowerSettings
from .vocabulary import Ids, as_id_series


class CandidateGenerator:
    """Propose to each user the few hundred items a ranker should look at.

    Args:
        seed: Of everything random.
        tower: Of the learned tower; None leaves it out.
        cooccurrence: Of the co-occurrence source; ``"choose"`` takes the exponents that best find a
            fifth of each history that is held back; None leaves the source out.
        linear: Of the linear source, for small catalogues; ``"choose"`` takes it where the part
            held back says that it helps; None leaves it out.
        spectral: Of the spectral source; ``"choose"`` takes it where the part held back says that
            it helps; None leaves it out.
        content: How an item table becomes numbers.
        weights: Weight of ``"tower"``, ``"cooccurrence"``, ``"spectral"``, ``"linear"``,
            ``"content"`` and ``"popularity"`` in the blend;
            :func:`~likewise.recsys.choose_settings` chooses them on validation data.
        quotas: Places of each list reserved for a source, e.g. ``{"content": 5}`` for new items.
        merge: What several events of one user with one item become.

    Attributes:
        fitted_: Everything that was learned.

    >>> events = pl.DataFrame({"user_id": [1, 1, 2, 2, 3], "item_id": ["a", "b", "a", "c", "a"]})
    >>> generator = CandidateGenerator(tower=None).fit(events)
    >>> generator.recommend([3], k=5)["item_id"].to_list()
    ['b', 'c']
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        tower: TowerSettings | None = USUAL_TOWER,
        cooccurrence: Cooccurring = "choose",
        linear: Linear = "choose",
        spectral: Spectral = "choose",
        content: ContentSettings = USUAL_CONTENT,
        weights: Mapping[str, float] | None = None,
        quotas: Mapping[str, int] | None = None,
        merge: Merge = "once",
    ) -> None:
        self.settings = GeneratorSettings(
            tower=tower,
            cooccurrence=cooccurrence,
            linear=linear,
            spectral=spectral,
            content=content,
            weights=dict(USUAL_WEIGHTS if weights is None else weights),
            quotas=dict(quotas or {}),
            merge=merge,
            seed=seed,
        )

    def fit(
        self,
        interactions: Events,
        items: Any = None,
        *,
        columns: Mapping[str, str] | None = None,
        progress: Progress = silent,
    ) -> CandidateGenerator:
        """Learn from what users took; give the generator back.

        Args:
            interactions: Events as polars, pandas or Arrow table, Parquet path or csr matrix, with
                ``user_id, item_id`` and perhaps ``weight`` and ``datetime``.
            items: Table of items with ``item_id`` and any content; those that nobody took yet can
                be proposed from it.
            columns: Our column name to yours.
            progress: Display of long loops.
        """
        table = None if items is None else read_items(items)
        known = Interactions.read(
            interactions,
            merge=self.settings.merge,
            columns=columns,
            further_items=() if table is None else table["item_id"],
        )
        self.native_ = interactions
        self.fitted_ = fit_sources(known, self.settings, table, progress)
        return self

    @property
    def interactions_(self) -> Interactions:
        """What was fitted on, further items behind."""
        return self.fitted_.interactions

    @property
    def sources_(self) -> dict[str, Source]:
        """The fitted sources, by name."""
        return self.fitted_.sources

    def recommend(
        self,
        users: Ids | None = None,
        k: int = 100,
        *,
        exclude: Rule = None,
        include: Rule = None,
        hide_seen: bool = True,
        on_unknown: OnUnknown = "raise",
    ) -> Any:
        """Give the candidates of users as one table.

        Args:
            users: Their ids; one that stands twice is answered once. None for all users.
            k: Candidates a user at most.
            exclude: Items not to be shown: ids, or a table ``user_id, item_id``.
            include: The only items that may be shown, likewise.
            hide_seen: Whether what a user took is left out.
            on_unknown: What happens to users without a history: ``raise``; ``warn`` or ``skip``
                (an empty list); ``fallback`` (what most people took).

        Returns:
            ``user_id, item_id, score, rank, source`` in the order of the users asked, rank from 1,
            of the kind the events came in. Never padded; :meth:`answer` gives the statuses too.

        Raises:
            UnknownId: A user without a history, under ``raise``.
            SettingError: k below 1, or another policy.
        """
        return self.answer(
            users,
            k,
            exclude=exclude,
            include=include,
            hide_seen=hide_seen,
            on_unknown=on_unknown,
        ).frame

    def answer(
        self,
        users: Ids | None = None,
        k: int = 100,
        *,
        exclude: Rule = None,
        include: Rule = None,
        hide_seen: bool = True,
        on_unknown: OnUnknown = "raise",
    ) -> Candidates:
        """Give the candidates of users with a status for each; arguments of :meth:`recommend`."""
        known = self.interactions_.users
        asked = known.ids if users is None else as_id_series(users, "user_id")
        asked = asked.unique(maintain_order=True)
        admit(asked, known, on_unknown)
        filters = self.filters(exclude, include, hide_seen=hide_seen)
        fallback = on_unknown == "fallback"
        request = Request(asked, self.histories_of(asked), filters, k, fallback)
        return self._answerer().answer(request)

    def histories_of(self, users: pl.Series) -> Histories:
        """Give the history of each user; an empty one for users that are not known."""
        rows = self.interactions_.users.rows_of(users)
        lists = self.interactions_.histories.take(np.maximum(rows, 0))
        return lists.keep(np.repeat(rows >= 0, lists.lengths))

    def answer_events(
        self,
        events: Events,
        k: int = 100,
        *,
        exclude: Rule = None,
        include: Rule = None,
        hide_seen: bool = True,
        columns: Mapping[str, str] | None = None,
    ) -> Candidates:
        """Give the candidates of users by the events given here, stored or not.

        Args:
            events: As in :meth:`fit`; items that were never seen are passed over, so a user may
                come out ``cold``.
            k: Candidates a user at most.
            exclude: As in :meth:`recommend`.
            include: Likewise.
            hide_seen: Whether the items of these events are left out.
            columns: Our column name to yours.
        """
        items = self.interactions_.items
        asked, histories = read_visitors(events, items, self.settings.merge, columns)
        filters = self.filters(exclude, include, hide_seen=hide_seen)
        return self._answerer().answer(Request(asked, histories, filters, k, fallback=False))

    def recommend_sessions(
        self,
        sessions: Sequence[Sequence[object]] | pl.DataFrame,
        k: int = 100,
        *,
        exclude: Rule = None,
        include: Rule = None,
        hide_seen: bool = True,
    ) -> Any:
        """Give the candidates of sessions that belong to no stored user.

        Args:
            sessions: Lists of item ids, oldest first, or a table ``session_id, item_id`` in the
                order of events. Items that were never seen are passed over.
            k: Candidates a session at most.
            exclude: As in :meth:`recommend`, not by user.
            include: Likewise.
            hide_seen: Whether the items of the session are left out.

        Returns:
            ``session_id, item_id, score, rank, source``; lists are numbered from 0.
        """
        named, histories = read_sessions(sessions, self.interactions_.items)
        filters = self.filters(exclude, include, hide_seen=hide_seen)
        return self._answerer().answer(Request(named, histories, filters, k, fallback=False)).frame

    def related(self, items: Ids, k: int = 10) -> Any:
        """Give items like each item, itself left out: by the tower, or without one by companions.

        Args:
            items: Item ids.
            k: Related items each at most.

        Returns:
            ``item_id, related_id, score, rank, source``.

        Raises:
            UnknownId: An item that was never seen.
        """
        if self.fitted_.tower is None:
            return self.complementary(items, k)
        return like_native(items_alike(self.fitted_, self.fitted_.tower, items, k), self.native_)

    def complementary(self, items: Ids, k: int = 10) -> Any:
        """Give items taken together with each item, itself left out; see :meth:`related`."""
        return like_native(items_together(self.fitted_, items, k), self.native_)

    @property
    def fingerprint(self) -> str:
        """Name of what makes the vectors; of the closed forms where there is no tower."""
        return self.fitted_.fingerprint

    def save(self, path: str | PathLike[str]) -> None:
        """Save everything that was fitted as one verified folder, all or nothing."""
        save_generator(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CandidateGenerator:
        """Load a saved generator; it answers as it did before."""
        return load_generator(path)

    def filters(self, exclude: Rule, include: Rule, *, hide_seen: bool) -> Filters:
        """Read the rules of a request against the catalogue."""
        items = self.interactions_.items
        return Filters(
            answerable=self.fitted_.answerable,
            exclude=ItemRule.read(exclude, items),
            include=ItemRule.read(include, items),
            hide_seen=hide_seen,
        )

    def _answerer(self) -> Answerer:
        blend = Blend.of_those_there(
            self.sources_.values(), self.settings.weights, self.settings.quotas
        )
        items = self.interactions_.items
        return Answerer(items, blend, self.fitted_.popularity, self.native_)
