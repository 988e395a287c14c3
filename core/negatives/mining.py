"""Mining: the negatives an encoder finds hardest, and an audit for reading them.

In: the serving index, anchors with their positives, and a :class:`MiningRule`. Out:
:class:`MinedNegatives`, as many as there honestly are, and a :class:`MiningAudit`. A hard negative
is one step from a false one, so a candidate is dropped when it is the positive, says the same as
the positive, or is as near as the positive; what was dropped is counted, and some pairs are kept
for a human to read.

A new reason to drop a candidate is a line in ``_reasons``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ..errors import SettingError, ShapeError
from ..index.engine import VectorIndex
from ..index.neighbours import IdArray, Neighbours
from ..index.scan import score_pairs
from ..index.stored_rows import VectorLike, unit_vectors
from .audit import MiningAudit, audit_mining

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MiningRule:
    """Which candidates count as hard negatives.

    Attributes:
        count: Negatives asked for each anchor, at least 1.
        skip: Nearest candidates passed over: they are the likeliest false negatives.
        window: Candidates looked at after those, at least ``count``.
        min_similarity: Below it a negative is not hard, in [-1, 1].
        max_similarity: Above it a negative is not believed, in [-1, 1].
        absolute_margin: A negative is at least this much farther than the positive, or None.
        relative_margin: A negative has at most this share of the positive's similarity, in
            (0, 1], or None. (NV-Retriever, arXiv 2407.15831, uses 0.95.)
    """

    count: int = 5
    skip: int = 0
    window: int = 50
    min_similarity: float = -1.0
    max_similarity: float = 1.0
    absolute_margin: float | None = None
    relative_margin: float | None = 0.95

    def __post_init__(self) -> None:
        if self.count < 1 or self.skip < 0 or self.window < self.count:
            raise SettingError(f"{self}: count must be at least 1, skip 0, and window count")
        if not -1 <= self.min_similarity < self.max_similarity <= 1:
            raise SettingError(f"{self}: similarities must rise within [-1, 1]")
        if self.relative_margin is not None and not 0 < self.relative_margin <= 1:
            raise SettingError(f"{self}: relative_margin must lie in (0, 1]")
        if self.absolute_margin is not None and self.absolute_margin < 0:
            raise SettingError(f"{self}: absolute_margin must be at least 0")

    def ceiling(self, positive: NDArray[np.float32]) -> NDArray[np.float64]:
        """Give the largest similarity a negative may have, for each positive's similarity."""
        nearness = positive.astype(np.float64)
        top = np.full(len(nearness), self.max_similarity)
        if self.absolute_margin is not None:
            top = np.minimum(top, nearness - self.absolute_margin)
        if self.relative_margin is not None:
            top = np.minimum(top, nearness - (1 - self.relative_margin) * np.abs(nearness))
        return top


@dataclass(frozen=True, slots=True, eq=False)
class MinedNegatives:
    """Hard negatives, ragged: an anchor has as many as passed the rule.

    Attributes:
        negatives: The negatives of each anchor, nearest first.
        requested: How many each anchor asked for.
        fingerprint: Of the encoder they are hard for.
    """

    negatives: Neighbours
    requested: int
    fingerprint: str

    @property
    def shortage(self) -> Rows:
        """How many negatives each anchor lacks, [Q]."""
        return self.requested - self.negatives.counts

    def __len__(self) -> int:
        return len(self.negatives)

    def __getitem__(self, anchor: int) -> tuple[IdArray, NDArray[np.float32]]:
        return self.negatives[anchor]


def mine_negatives(
    index: VectorIndex,
    anchors: VectorLike,
    positive_ids: ArrayLike,
    *,
    rule: MiningRule | None = None,
    fingerprint: str,
    anchor_ids: ArrayLike | None = None,
    content: ArrayLike | None = None,
    pairs_shown: int = 20,
    seed: int = 0,
) -> tuple[MinedNegatives, MiningAudit]:
    """Mine hard negatives through the serving index.

    Args:
        index: The index that serves.
        anchors: Encoded anchors, float [Q, D].
        positive_ids: The id of each anchor's positive, [Q]; all of them in the index.
        rule: Which candidates count.
        fingerprint: Of the encoder that made the anchors.
        anchor_ids: Ids of the anchors, [Q], where anchors are rows of the index themselves.
        content: What each row of the index says, [N], as text, bytes, numbers or hashes; rows
            that say the same are the same candidate, whatever their ids.
        pairs_shown: Pairs kept in the audit.
        seed: Of the draw of these pairs.

    Returns:
        The negatives and the audit.

    Raises:
        StaleIndex: The index was built by another encoder.
        UnknownId: A positive that is not in the index.
        ShapeError: Not one positive an anchor, or not one content a row.
    """
    rule = MiningRule() if rule is None else rule
    positive = index.rows_of(positive_ids)
    unit = unit_vectors(anchors, "anchors", index.vectors.shape[1])
    itself = np.full(len(unit), -1) if anchor_ids is None else index.rows_of(anchor_ids)
    if not len(positive) == len(itself) == len(unit):
        raise ShapeError(
            f"there are {len(unit)} anchors but {len(positive)} positives and {len(itself)} "
            "anchor ids; give one of each an anchor"
        )
    found = index.search(unit, rule.skip + rule.window, fingerprint=fingerprint)
    near = score_pairs(unit, index.vectors, np.arange(len(unit)), positive)
    looked_at = _places(found.queries) >= rule.skip
    faults = _reasons(rule, found, near, positive, itself, _contents(content, len(index)))
    kept, dropped = _sift(looked_at, faults)
    chosen = np.flatnonzero(kept)
    chosen = chosen[_places(found.queries[chosen]) < rule.count]
    mined = MinedNegatives(_pick(found, chosen), rule.count, fingerprint)
    audit = audit_mining(
        mined.negatives,
        requested=rule.count,
        positive=positive,
        positive_ids=index.ids[positive],
        positive_similarity=near,
        looked_at=int(looked_at.sum()),
        dropped=dropped,
        pairs_shown=pairs_shown,
        seed=seed,
    )
    return mined, audit


class MiningCache:
    """Remembers what was mined, for one encoder at a time.

    Mining is a full search, and an epoch asks for it again and again. The key covers the
    fingerprint, the rows of the index, the anchors, the positives and the rule: after one step of
    training the fingerprint is another one, and everything remembered is forgotten.

    Attributes:
        hits: Times an answer was remembered.
        misses: Times it was mined.
    """

    def __init__(self) -> None:
        self.hits = 0
        self.misses = 0
        self._fingerprint = ""
        self._known: dict[str, tuple[MinedNegatives, MiningAudit]] = {}

    def mine(
        self,
        index: VectorIndex,
        anchors: VectorLike,
        positive_ids: ArrayLike,
        *,
        rule: MiningRule | None = None,
        fingerprint: str,
        anchor_ids: ArrayLike | None = None,
        content: ArrayLike | None = None,
    ) -> tuple[MinedNegatives, MiningAudit]:
        """Answer as :func:`mine_negatives` would, from memory where nothing has changed."""
        if fingerprint != self._fingerprint:
            self._fingerprint, self._known = fingerprint, {}
        index.stale_fraction(fingerprint)
        inputs = (index.vectors, index.ids, anchors, positive_ids, rule, anchor_ids, content)
        key = _key(inputs)
        if key in self._known:
            self.hits += 1
            return self._known[key]
        self.misses += 1
        answer = mine_negatives(
            index,
            anchors,
            positive_ids,
            rule=rule,
            fingerprint=fingerprint,
            anchor_ids=anchor_ids,
            content=content,
        )
        self._known[key] = answer
        return answer


def _reasons(
    rule: MiningRule,
    found: Neighbours,
    near: NDArray[np.float32],
    positive: Rows,
    itself: Rows,
    says: Rows | None,
) -> dict[str, NDArray[np.bool_]]:
    """Give each reason to drop a candidate, and the candidates it applies to."""
    query, row = found.queries, found.rows
    faults = {"is the positive": row == positive[query], "is the anchor": row == itself[query]}
    if says is not None:
        faults["says the same as the positive"] = says[row] == says[positive][query]
        _, first = np.unique(np.stack([query, says[row]]), axis=1, return_index=True)
        repeats = np.ones(len(row), dtype=np.bool_)
        repeats[first] = False
        faults["says the same as a nearer candidate"] = repeats
    faults["too far to be hard"] = found.similarity < rule.min_similarity
    faults["too near to be believed"] = found.similarity > rule.ceiling(near)[query]
    return faults


def _sift(
    looked_at: NDArray[np.bool_], faults: Mapping[str, NDArray[np.bool_]]
) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Give the candidates without a fault, and how many each reason cost."""
    kept = looked_at
    dropped = {}
    for reason, applies in faults.items():
        dropped[reason] = int(np.sum(kept & applies))
        kept = kept & ~applies
    return kept, dropped


def _places(query: Rows) -> Rows:
    """Give the place of each entry within its query, from 0; ``query`` is sorted."""
    return np.arange(len(query)) - np.searchsorted(query, query)


def _pick(found: Neighbours, chosen: Rows) -> Neighbours:
    offsets = np.searchsorted(found.queries[chosen], np.arange(len(found) + 1))
    return Neighbours(found.ids[chosen], found.rows[chosen], found.similarity[chosen], offsets)


def _contents(content: ArrayLike | None, rows: int) -> Rows | None:
    """Number the different contents."""
    if content is None:
        return None
    array = np.asarray(content)
    if array.shape != (rows,):
        raise ShapeError(
            f"content has the shape {array.shape} but the index has {rows} rows; give one "
            "content (or hash) a row"
        )
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def _key(inputs: tuple[object, ...]) -> str:
    digest = hashlib.sha256()
    for one in inputs:
        plain = one.detach().cpu().numpy() if isinstance(one, torch.Tensor) else one
        if isinstance(plain, MiningRule | None):
            digest.update(repr(plain).encode())
            continue
        array = np.ascontiguousarray(plain)
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes())
    return digest.hexdigest()
