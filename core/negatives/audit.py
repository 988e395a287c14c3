"""The audit of mining: what was dropped, what is missing, and pairs to read by eye.

In: the negatives that were mined and the counts of what was not. Out: :class:`MiningAudit`, which
goes into the bundle and the report. A share that looks wrong here costs a glance; in training it
costs an epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..index.neighbours import IdArray, Neighbours

DUPLICATES = (
    "is the positive",
    "is the anchor",
    "says the same as the positive",
    "says the same as a nearer candidate",
)
"""The reasons for dropping a candidate that mean: it is something already there."""


@dataclass(frozen=True, slots=True)
class AuditPair:
    """One mined negative beside its anchor's positive, for reading by eye."""

    anchor: int
    positive: int | str
    negative: int | str
    positive_similarity: float
    negative_similarity: float


@dataclass(frozen=True, slots=True)
class MiningAudit:
    """What mining did.

    Attributes:
        anchors: Q.
        requested: Negatives asked for, all anchors together.
        mined: Negatives found.
        shortage: Negatives lacking, anchor by anchor.
        looked_at: Candidates in all windows.
        dropped: Reason to the number of candidates dropped for it; a candidate counts once, for
            the first reason that applies.
        duplicate_share: Share of the candidates dropped as the positive, the anchor, or a repeat,
            by id or by content, in [0, 1].
        others_positive_share: Share of the mined that are the positive of another anchor.
        mean_margin: Mean of positive minus negative similarity; None when nothing was mined.
        pairs: A random sample of what was mined.
    """

    anchors: int
    requested: int
    mined: int
    shortage: tuple[int, ...]
    looked_at: int
    dropped: Mapping[str, int]
    duplicate_share: float
    others_positive_share: float
    mean_margin: float | None
    pairs: tuple[AuditPair, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give the audit as a report for a bundle."""
        return asdict(self)


def audit_mining(
    negatives: Neighbours,
    *,
    requested: int,
    positive: NDArray[np.int64],
    positive_ids: IdArray,
    positive_similarity: NDArray[np.float32],
    looked_at: int,
    dropped: Mapping[str, int],
    pairs_shown: int,
    seed: int,
) -> MiningAudit:
    """Sum up one round of mining.

    Args:
        negatives: What was mined, for Q anchors.
        requested: Negatives asked for, each anchor.
        positive: Row of each anchor's positive, [Q].
        positive_ids: Its id, [Q].
        positive_similarity: Its similarity to the anchor, [Q].
        looked_at: Candidates in all windows.
        dropped: Candidates dropped, by reason.
        pairs_shown: Size of the sample to read.
        seed: Of its draw.
    """
    anchor = negatives.queries
    margin = positive_similarity[anchor] - negatives.similarity
    draw = np.random.default_rng(seed).permutation(len(anchor))[:pairs_shown]
    others = np.isin(negatives.rows, positive)
    repeated = sum(dropped.get(reason, 0) for reason in DUPLICATES)
    return MiningAudit(
        anchors=len(negatives),
        requested=requested * len(negatives),
        mined=len(anchor),
        shortage=tuple((requested - negatives.counts).tolist()),
        looked_at=looked_at,
        dropped=dict(dropped),
        duplicate_share=repeated / looked_at if looked_at else 0.0,
        others_positive_share=float(others.mean()) if len(anchor) else 0.0,
        mean_margin=float(margin.mean(dtype=np.float64)) if len(anchor) else None,
        pairs=tuple(
            AuditPair(
                anchor=int(anchor[one]),
                positive=positive_ids[anchor[one]].item(),
                negative=negatives.ids[one].item(),
                positive_similarity=float(positive_similarity[anchor[one]]),
                negative_similarity=float(negatives.similarity[one]),
            )
            for one in np.sort(draw)
        ),
    )
