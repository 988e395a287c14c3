"""Samplers of hard negatives: mined beforehand, capped in share, or growing on a schedule.

In come mined lists (one a pair) and another sampler, out comes a draw that is hard in part. Among
the hardest candidates are most of the false negatives, so the hard share never exceeds one half
and the rest of a draw always comes from the other sampler.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..encoders.bags import Bags
from ..errors import SettingError, ShapeError
from ..index.neighbours import Neighbours
from .drawing import WeightedDraw
from .samplers import Draw, NegativeSampler, Request, digest_of

LARGEST_HARD_SHARE = 0.5


class MinedHard(NegativeSampler):
    """Draw a capped share of hard negatives, the rest from another sampler.

    Of M draws, ``floor(share * M)`` come from the mined candidates of the batch's own anchors.
    The rest comes from ``base``, never from further down the mined lists: a cap that is
    filled up from the same pool caps nothing. Where a batch has no mined candidates, all of it
    comes from ``base``.

    Args:
        mined: One bag a pair (in the order of the pair source): candidate rows, with similarity to
            the anchor as weight.
        base: Where the other draws come from; its ``draws`` is M.
        share: Largest share of hard draws, 0 to 0.5.

    Raises:
        SettingError: ``share`` outside 0..0.5.

    Source: ours; the cap answers false negatives among the hardest (ANCE, arXiv 2007.00808).
    """

    name = "mined-hard"

    def __init__(self, mined: Bags, base: WeightedDraw, *, share: float = 0.25) -> None:
        self.mined = sort_bags(mined)
        self.base = base
        self.share = require_hard_share(share)

    @property
    def config(self) -> Mapping[str, Any]:  # noqa: D102
        return {
            "share": self.share,
            "mined": digest_of(self.mined.indices),
            "base": {"name": self.base.name, **self.base.config},
        }

    def log_q(self, ids: Tensor, batch_size: int) -> Tensor | None:  # noqa: D102
        return self.base.log_q(ids, batch_size)

    def draw(self, request: Request) -> Draw:  # noqa: D102
        return self.draw_mixed(request, self.share, 0.0, 1.0)

    def draw_mixed(self, request: Request, share: float, easiest: float, hardest: float) -> Draw:
        """Draw with a given hard share from a slice of every mined list.

        Args:
            request: The batch.
            share: Share of hard draws, 0 to 0.5.
            easiest: Where the slice begins, 0 for the least similar of a list.
            hardest: Where the slice ends, 1 for the most similar of a list.

        Returns:
            Draws with the expected count of each, given this batch, as q.

        Raises:
            ShapeError: A pair of the batch has no list.
        """
        if int(request.rows.max()) >= len(self.mined):
            raise ShapeError(
                f"mined lists cover {len(self.mined)} pairs and the batch holds pair "
                f"{int(request.rows.max())}; mine one list a pair, empty where nothing was found"
            )
        pool = _slice_bags(self.mined[request.rows], easiest, hardest)
        hard = math.floor(share * self.base.draws) if len(pool) else 0
        picked = torch.randint(max(len(pool), 1), (hard,), generator=request.generator)
        rest = self.base.draw_rows(self.base.draws - hard, request.generator)
        ids = torch.cat([pool[picked], rest])
        expected = (self.base.draws - hard) * self.base.probabilities[ids]
        if hard:
            members, counts = torch.unique(pool, return_counts=True)
            place = torch.searchsorted(members, ids).clamp_max(len(members) - 1)
            mined = torch.where(members[place] == ids, counts[place], 0)
            expected = expected + hard * mined / len(pool)
        return Draw(ids, log_q=torch.log(expected).float())


class Curriculum(NegativeSampler):
    """Draw from mined lists on a schedule: few and easy at first, more and harder later.

    Args:
        hard: The mined lists and the sampler of the rest; its own share is not used.
        first_share: Hard share at the start, 0 to 0.5.
        last_share: Hard share at the end, 0 to 0.5.
        window: Length of the slice that moves from the easy to the hard end of each list, in
            (0, 1].

    Raises:
        SettingError: Shares outside 0..0.5, falling shares, or a window outside (0, 1].

    Source: ours, after curriculum learning (Bengio et al. 2009).
    """

    name = "curriculum"

    def __init__(
        self,
        hard: MinedHard,
        *,
        first_share: float = 0.0,
        last_share: float = 0.5,
        window: float = 0.5,
    ) -> None:
        if not 0 < window <= 1 or first_share > last_share:
            raise SettingError(
                f"a curriculum goes from easy to hard with a window in (0, 1], found shares "
                f"{first_share} to {last_share} and window {window}"
            )
        self.hard = hard
        self.first_share = require_hard_share(first_share)
        self.last_share = require_hard_share(last_share)
        self.window = window

    @property
    def config(self) -> Mapping[str, Any]:  # noqa: D102
        return {
            "first_share": self.first_share,
            "last_share": self.last_share,
            "window": self.window,
            "hard": dict(self.hard.config),
        }

    def log_q(self, ids: Tensor, batch_size: int) -> Tensor | None:  # noqa: D102
        return self.hard.log_q(ids, batch_size)

    def draw(self, request: Request) -> Draw:  # noqa: D102
        done = request.share_done
        share = self.first_share + done * (self.last_share - self.first_share)
        start = done * (1.0 - self.window)
        return self.hard.draw_mixed(request, share, start, start + self.window)


def require_hard_share(share: float) -> float:
    """Refuse a share of hard negatives outside 0..0.5."""
    if not 0.0 <= share <= LARGEST_HARD_SHARE:
        raise SettingError(
            f"the share of hard negatives is {share}; it must lie in 0 to {LARGEST_HARD_SHARE}: "
            "the hardest candidates hold most of the false negatives"
        )
    return share


def sort_bags(mined: Bags) -> Bags:
    """Order every bag from the least to the most similar candidate."""
    if bool((mined.indices < 0).any()):
        raise ShapeError(
            "mined candidates hold negative rows, which name no candidate; leave them out"
        )
    owner = torch.repeat_interleave(torch.arange(len(mined)), mined.lengths)
    by_weight = mined.weights.argsort(stable=True)
    order = by_weight[owner[by_weight].argsort(stable=True)]
    return Bags(mined.indices[order], mined.offsets, mined.weights[order])


def bags_of(found: Neighbours) -> Bags:
    """Pack mined neighbours, one list an anchor, for :class:`MinedHard`.

    Args:
        found: From mining through an index that was filled with all candidates in their own order,
            one query a pair.

    Returns:
        Bags of candidate rows, weighted by similarity.
    """
    return Bags(
        torch.from_numpy(np.array(found.rows, dtype=np.int64)),
        torch.from_numpy(np.array(found.offsets, dtype=np.int64)),
        torch.from_numpy(np.array(found.similarity, dtype=np.float32)),
    )


def _slice_bags(bags: Bags, first: float, last: float) -> Tensor:
    """Take the candidates whose relative rank in their bag lies in [first, last]."""
    lengths = torch.repeat_interleave(bags.lengths, bags.lengths)
    starts = torch.repeat_interleave(bags.offsets[:-1], bags.lengths)
    middle = (torch.arange(len(bags.indices)) - starts + 0.5) / lengths
    return bags.indices[(middle >= first) & (middle <= last)]
