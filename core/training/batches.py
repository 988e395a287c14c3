"""Batches: pairs and sampler joined into what one step compares.

In come the rows of a step, the pair source and the sampler; out comes one :class:`Pairs` with
masks, log q and further negatives in place. That a candidate is never its own negative is seen
to here, for the batch and for what the sampler adds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from torch import Tensor

from ..errors import SettingError
from ..negatives.samplers import Draw, NegativeSampler, Request
from ..objective.masks import SameId
from ..seeds import Stage, derive_generator
from .pairs import CandidateSource, Pairs, PairSource


@dataclass(frozen=True)
class Place:
    """Where in a run, and on which process, a step happens.

    Attributes:
        path: Seed, epoch and batch; the root of the step's randomness.
        share_done: How much of the run is over, 0 to 1.
        rank: This process.
        ranks: How many there are; each takes its part of the rows.
    """

    path: tuple[int, int, int]
    share_done: float
    rank: int
    ranks: int


def gather_batch(
    source: PairSource, rows: Tensor, sampler: NegativeSampler, place: Place
) -> tuple[Pairs, int | None]:
    """Join pairs and sampler for one step.

    Args:
        source: Makes the pairs.
        rows: int64 [B], the pairs of the step over all processes.
        sampler: Adds negatives and states q.
        place: Where the step happens.

    Returns:
        The batch, and the age of its oldest queued negative in steps (None without a queue).

    Raises:
        SettingError: The pairs bring negatives of their own and the sampler draws more.
    """
    own = rows[place.rank :: place.ranks]
    batch = source.batch(own, derive_generator(*place.path, Stage.PAIRS, place.rank))
    ids = own if batch.ids is None else batch.ids
    generator = derive_generator(*place.path, Stage.SAMPLER, place.rank)
    drawn = sampler.draw(Request(own, ids, batch.positives, place.share_done, generator))
    if batch.log_q is None:
        batch = replace(batch, log_q=sampler.log_q(ids, len(rows)))
    if drawn is None:
        known = () if batch.ids is None else (SameId(ids),)
        return replace(batch, masks=(*batch.masks, *known)), None
    return _join(batch, ids, drawn, source), drawn.age


def _join(batch: Pairs, ids: Tensor, drawn: Draw, source: PairSource) -> Pairs:
    if batch.negatives is not None or batch.queued is not None:
        raise SettingError(
            "the pairs bring negatives of their own and the sampler draws more; use one of the two"
        )
    encode = drawn.vectors is None
    return replace(
        batch,
        masks=(*batch.masks, SameId(ids, drawn.ids)),
        negatives=cast(CandidateSource, source).candidates(drawn.ids) if encode else None,
        queued=drawn.vectors,
        negative_log_q=drawn.log_q,
    )
