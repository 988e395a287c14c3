"""Refresh: new items between trainings, and new encoders without a bad day.

Two different things. :func:`add_items` places new items under the encoder in use, from their
content; nothing else moves. A new encoder needs everything anew, so :class:`Deployment` keeps whole
bundles side by side: a new one is judged on events it has not seen, takes over only if it passes
the gate, and the one before stays ready to come back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np

from ..core import BundleFormatError, ColumnError, RecallGateFailed, SettingError
from .content import read_items
from .evaluation import evaluate
from .events import Events
from .generator import CandidateGenerator
from .shards import write_text_whole

_POINTER = "current.json"

Judge: TypeAlias = Callable[[CandidateGenerator], float]
"""Gives a generator a mark, larger is better; see :func:`recall_on`."""


@dataclass(frozen=True, slots=True)
class Staleness:
    """How far a generator is behind its catalogue.

    Attributes:
        items: Items it can propose.
        placed_by_content: Of these, items nobody had taken when it was trained.
    """

    items: int
    placed_by_content: int

    @property
    def share(self) -> float:
        """Share of the items that stand on content alone, in [0, 1]."""
        return self.placed_by_content / max(self.items, 1)


class Pointer(msgspec.Struct, frozen=True):
    """Which bundle answers, and which answered before it."""

    current: str
    previous: str | None


def add_items(generator: CandidateGenerator, items: Any) -> CandidateGenerator:
    """Give a generator that also knows further items; encoder and fingerprint stay.

    Args:
        generator: Fitted with an item table.
        items: ``item_id`` and the columns the content was fitted on. Known items whose content
            changed get their new content vector; what people took of them still counts first.

    Returns:
        The same generator, its catalogue extended.

    Raises:
        ColumnError: It was fitted without content, so nothing says where a new item belongs.
    """
    fitted = generator.fitted_
    if fitted.content is None or fitted.content_map is None or fitted.content_vectors is None:
        raise ColumnError(
            "this generator was fitted without an item table, so it cannot place new items; fit "
            "it with items="
        )
    table, before = read_items(items), fitted.content_vectors
    vectors = fitted.content_map.place(fitted.content.encode(table))
    fresh = np.flatnonzero(fitted.interactions.items.rows_of(table["item_id"]) < 0)
    fitted.widen_(table["item_id"].gather(fresh))
    placed = np.pad(before, ((0, len(fresh)), (0, 0)))
    placed[fitted.interactions.items.known_rows(table["item_id"])] = vectors
    fitted.place_content_(placed)
    return generator


def measure_staleness(generator: CandidateGenerator) -> Staleness:
    """Tell which share of the catalogue stands on content alone."""
    counts = generator.interactions_.item_counts
    return Staleness(items=len(counts), placed_by_content=int((counts == 0).sum()))


def recall_on(test: Events, *, train: Events, k: int = 100) -> Judge:
    """Give a judge: recall of the known users of ``test`` at k."""

    def judge(generator: CandidateGenerator) -> float:
        frame = generator.recommend(None, k)
        return evaluate(frame, test, train=train, k=k).mean("recall")

    return judge


class Deployment:
    """A folder of bundles of which one answers.

    Args:
        folder: Where ``generator-00001`` …, and ``current.json``, live.

    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def pointer(self) -> Pointer | None:
        """Which bundle answers; None before the first."""
        path = self.folder / _POINTER
        return msgspec.json.decode(path.read_bytes(), type=Pointer) if path.exists() else None

    def current(self) -> CandidateGenerator:
        """Load the generator that answers.

        Raises:
            BundleFormatError: Nothing was published yet.
        """
        pointer = self.pointer
        if pointer is None:
            raise BundleFormatError(f"{self.folder} holds no generator yet; publish one first")
        return CandidateGenerator.load(self.folder / pointer.current)

    def publish(
        self, generator: CandidateGenerator, judge: Judge | None = None, *, tolerance: float = 0.02
    ) -> Pointer:
        """Let a new generator take over, if it is not worse than the one before.

        Args:
            generator: Fitted.
            judge: Marks both; None publishes without a gate (the first one has none to pass).
            tolerance: Share of the old mark that may be lost.

        Returns:
            The new pointer; it is exchanged in one rename, so a reader sees old or new.

        Raises:
            RecallGateFailed: The new one is worse; the old one goes on answering.
        """
        if not 0.0 <= tolerance < 1.0:
            raise SettingError(f"tolerance is {tolerance}, but a share lies in [0, 1)")
        pointer = self.pointer
        if pointer is not None and judge is not None:
            before, after = judge(self.current()), judge(generator)
            if after < (1.0 - tolerance) * before:
                raise RecallGateFailed(
                    f"the new generator reaches {after:.4f} where the one in use reaches "
                    f"{before:.4f}, below the tolerance of {tolerance:g}; it was not published"
                )
        name = f"generator-{len(list(self.folder.glob('generator-*'))) + 1:05d}"
        generator.save(self.folder / name)
        return self._point(Pointer(name, None if pointer is None else pointer.current))

    def roll_back(self) -> Pointer:
        """Let the generator before answer again.

        Raises:
            BundleFormatError: There is none.
        """
        pointer = self.pointer
        if pointer is None or pointer.previous is None:
            raise BundleFormatError(f"{self.folder} keeps no earlier generator to go back to")
        return self._point(Pointer(pointer.previous, pointer.current))

    def _point(self, pointer: Pointer) -> Pointer:
        write_text_whole(msgspec.json.encode(pointer).decode() + "\n", self.folder / _POINTER)
        return pointer
