"""The model of normal rows: a scale, two spaces, and how far normal rows lie from each other.

In: normal rows and which of them the encoder may learn from. Out: a :class:`RowModel` that says
how strange rows are beside a set of reference rows. It holds no reference rows itself, so normal
rows can come and go without touching it, and its fingerprint stays.

The score of a row is, summed over spaces, its distance to the nearest and to the k nearest
reference rows, each in units of what such distances vary by among normal rows (leave-one-out),
weighed by how crowded normal rows are around it (``locality.py``). A twin of a reference row scores
0; larger is stranger.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core import Progress, RepresentationCollapse
from .corruption import ROW_FAULTS, Population
from .distances import Integers, Lengths, Matrix, Nearest, Vectors
from .learned import LearningSettings, learn_space
from .locality import Locality
from .sketch import Sketched, Sketches
from .spaces import RawSpace, Searcher, Space, Standardiser
from .trust import Strangeness, Trust, decide_trust

Floats = NDArray[np.float64]

LEAST_TO_LEARN = 50
"""Rows below which no encoder is trained: it would learn them by heart."""

MOST_TO_MEASURE = 2000
"""Rows that spreads and trust are measured on; more would only cost time."""

INJECTIONS = 200
TRUST_SEVERITY = 2.0


@dataclass(frozen=True, slots=True)
class Part:
    """One space of the model.

    Attributes:
        space: How rows are embedded.
        near: Spread of the distance to the nearest other normal row.
        wide: Spread of the mean distance to the k nearest.
        weight: How much the space counts; the raw one counts 1.
    """

    space: Space
    near: float
    wide: float
    weight: float

    def strangeness(self, nearest: Nearest) -> Floats:
        """Weigh distances: mean of the nearest and the k nearest, each in its spread, [Q]."""
        return (nearest.distances[:, 0] / self.near + nearest.mean / self.wide) / 2


@dataclass(frozen=True, slots=True, eq=False)
class RowModel:
    """What was learned about normal rows.

    Attributes:
        standardiser: Scale of the columns.
        parts: The spaces, the raw one first.
        k: Neighbours behind the wider distance.
        trust: How the learned space got its weight.
        learning: How it was trained.
        locality: Weights of rows by the crowd around them; None where nothing is learned.
    """

    standardiser: Standardiser
    parts: tuple[Part, ...]
    k: int
    trust: Trust
    learning: LearningSettings
    locality: Locality | None = None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of everything that decides a distance: scale, spaces, spreads and weights."""
        digest = hashlib.sha256()
        digest.update(self.standardiser.centre.tobytes() + self.standardiser.scale.tobytes())
        for part in self.parts:
            digest.update(
                repr((part.space.name, part.near, part.wide, part.weight, self.k)).encode()
            )
            for name, value in sorted(part.space.tensors().items()):
                digest.update(name.encode() + np.ascontiguousarray(value).tobytes())
        if self.locality is not None:
            digest.update(self.locality.anchors.tobytes() + self.locality.apart.tobytes())
        return digest.hexdigest()

    def reference(self, rows: Matrix) -> Reference:
        """Make normal rows (on their own scale) the ones to compare with."""
        scaled = self.standardiser.apply(rows)
        embedded = [part.space.embed(scaled) for part in self.parts]
        return Reference(self, tuple(embedded))


class Reference:
    """Reference rows under a model, embedded once for every space.

    Args:
        model: Their model.
        vectors: The rows in each space, in the order of ``model.parts``.
        sketches: In each space, what a coreset remembers of the rows that went; empty where none
            did.
    """

    def __init__(
        self, model: RowModel, vectors: Sequence[Vectors], sketches: Sequence[Sketches] = ()
    ) -> None:
        self.model, self.vectors, self.sketches = model, tuple(vectors), tuple(sketches)
        searchers: list[Searcher] = [
            part.space.prepare(one) for part, one in zip(model.parts, vectors, strict=True)
        ]
        if self.sketches:
            spaces = zip(searchers, self.vectors, self.sketches, strict=True)
            searchers = [Sketched(*space) for space in spaces]
        self.searchers = tuple(searchers)

    def __len__(self) -> int:
        return len(self.vectors[0])

    def score(self, rows: Matrix, *, leave_out: Integers | None = None) -> Floats:
        """Score rows on their own scale, [Q].

        See :meth:`Lengths.nearest` for ``leave_out``, and :meth:`Sketched.nearest` for a coreset.
        """
        return self.combine(rows, self.neighbours(rows, self.model.k, leave_out=leave_out))

    def score_gone(self, rows: Matrix) -> Floats:
        """Score rows that are not in the reference, in the order of their numbers, [Q].

        One that is remembered in a sketch is scored without it.
        """
        own = len(self) + np.arange(len(rows), dtype=np.int64)
        return self.score(rows, leave_out=own if self.sketches else None)

    def neighbours(
        self, rows: Matrix, k: int, *, leave_out: Integers | None = None
    ) -> list[Nearest]:
        """Find the k nearest reference rows in each space."""
        scaled = self.model.standardiser.apply(rows)
        return [
            searcher.nearest(part.space.embed(scaled), k, leave_out=leave_out)
            for part, searcher in zip(self.model.parts, self.searchers, strict=True)
        ]

    def combine(self, rows: Matrix, found: Sequence[Nearest]) -> Floats:
        """Add up what the spaces found for rows [Q, D], and weigh it by locality, [Q].

        Args:
            rows: On their own scale.
            found: k neighbours in each space.
        """
        total = np.zeros(len(rows))
        for part, nearest in zip(self.model.parts, found, strict=True):
            total += part.weight * part.strangeness(nearest)
        if self.model.locality is not None:
            total *= self.model.locality.weigh(self.model.standardiser.apply(rows))
        return total

    def extended(self, rows: Matrix) -> Reference:
        """Give these rows and, after them, new ones; the old ones are not embedded again."""
        new = self.model.reference(rows)
        return Reference(
            self.model,
            [np.concatenate(pair) for pair in zip(self.vectors, new.vectors, strict=True)],
            self.sketches,
        )

    def kept(self, keep: Integers) -> Reference:
        """Give some of the rows, by ascending number; with a row goes what it remembered."""
        vectors = [one[keep] for one in self.vectors]
        return Reference(self.model, vectors, [one.left(keep) for one in self.sketches])

    def thinned(self, keep: Integers, number: Integers) -> Reference:
        """Give some of the rows, by number, which remember the others in sketches.

        Args:
            keep: Ascending.
            number: What each row that goes is called where it is left out, or -1; in their order.
        """
        gone = np.setdiff1d(np.arange(len(self)), keep)
        sketches = []
        for at, vectors in enumerate(self.vectors):
            lost, names = vectors[gone], number
            if self.sketches:
                before = self.sketches[at]
                lost = np.concatenate([lost, before.restored(vectors)])
                names = np.concatenate([number, before.number])
            sketches.append(Sketches.of(vectors[keep], lost, names))
        return Reference(self.model, [one[keep] for one in self.vectors], sketches)


def learn_model(
    rows: Matrix,
    trained_on: NDArray[np.bool_],
    *,
    k: int,
    seed: int,
    learning: LearningSettings | None,
    progress: Progress | None = None,
) -> RowModel:
    """Learn what normal rows look like.

    Args:
        rows: Normal rows on their own scale, [N, D].
        trained_on: Rows the encoder may learn from, bool [N]; the others measure it.
        k: Neighbours behind the wider distance.
        seed: Of everything random.
        learning: How the encoder is trained; None for no learned space.
        progress: Display of the training.

    Returns:
        The model.
    """
    standardiser = Standardiser.of(rows)
    scaled = standardiser.apply(rows)
    draw = np.random.default_rng([seed, 2])
    raw = _measured(RawSpace(), scaled, _some(np.arange(len(rows)), draw), k, weight=1.0)
    settings = learning or LearningSettings()
    told = _reason_not_to_learn(trained_on, learning)
    if told:
        return RowModel(standardiser, (raw,), k, Trust(0.0, {}, told), settings)
    locality = Locality.of(scaled[trained_on], draw)
    try:
        space = learn_space(scaled[trained_on], seed=seed, settings=settings, progress=progress)
    except RepresentationCollapse as collapse:
        trust = Trust(0.0, {}, f"the encoder collapsed and is not used: {collapse}")
        return RowModel(standardiser, (raw,), k, trust, settings, locality)
    held = _some(np.flatnonzero(~trained_on), draw)
    learned = _measured(space, scaled, held, k, weight=1.0)
    trust = _measure_trust(scaled, held, raw, learned, k, draw)
    if trust.weight == 0:
        return RowModel(standardiser, (raw,), k, trust, settings, locality)
    weighed = Part(space, learned.near, learned.wide, trust.weight)
    return RowModel(standardiser, (raw, weighed), k, trust, settings, locality)


def _reason_not_to_learn(
    trained_on: NDArray[np.bool_], learning: LearningSettings | None
) -> str | None:
    if learning is None:
        return "switched off"
    if trained_on.sum() < LEAST_TO_LEARN:
        return f"fewer than {LEAST_TO_LEARN} rows to learn from"
    if trained_on.all():
        return "no rows held out to measure it on"
    return None


def _some(numbers: Integers, draw: np.random.Generator) -> Integers:
    if len(numbers) <= MOST_TO_MEASURE:
        return numbers
    return np.sort(draw.choice(numbers, MOST_TO_MEASURE, replace=False))


def _measured(space: Space, scaled: Matrix, at: Integers, k: int, weight: float) -> Part:
    """A part with the spreads of leave-one-out distances of rows ``at``."""
    vectors = space.embed(scaled)
    found = space.prepare(vectors).nearest(vectors[at], k, leave_out=at)
    near, wide = found.distances[:, 0], found.mean
    return Part(space, _spread(near), _spread(wide), weight)


def _spread(distances: Floats) -> float:
    """What distances vary by; where they do not, their mean, and 1 where all are twins."""
    deviation, mean = float(distances.std()), float(distances.mean())
    return next((size for size in (deviation, mean) if size > 1e-9), 1.0)


def _measure_trust(
    scaled: Matrix, held: Integers, raw: Part, learned: Part, k: int, draw: np.random.Generator
) -> Trust:
    """Compare weights on held-out rows and on faults injected into held-out rows."""
    lengths = Lengths(scaled)
    directions = learned.space.prepare(learned.space.embed(scaled))

    def strangeness(rows: Matrix, own: Integers | None) -> Strangeness:
        return Strangeness(
            raw.strangeness(lengths.nearest(rows, k, leave_out=own)),
            learned.strangeness(directions.nearest(learned.space.embed(rows), k, leave_out=own)),
        )

    injected, population = [], Population(scaled)
    for fault in ROW_FAULTS:
        chosen = draw.choice(held, min(INJECTIONS, 4 * len(held)))
        severity = 0.5 if fault.name == "broken dependency" else TRUST_SEVERITY
        spoilt = fault.inject(scaled[chosen], population, severity, draw)
        injected.append(strangeness(spoilt, chosen))
    return decide_trust(strangeness(scaled[held], held), injected)
