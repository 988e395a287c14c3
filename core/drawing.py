"""Samplers that choose further candidates: by popularity, by a mixture, or the hard ones.

In comes a batch (a ``Request`` of ``negatives.py``), out comes a draw of candidate rows that every
anchor of the batch is told apart from. ``log_q`` of a draw is the log of the expected number
of times a candidate is drawn, on one scale with the in-batch probability. A rule that weighs
candidates without looking at the batch is a vector of probabilities: subclass
:class:`WeightedDraw`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from .bags import Bags
from .errors import SettingError, ShapeError
from .negatives import (
    Draw,
    NegativeSampler,
    Request,
    digest_of,
    log_presence,
    require_shares,
    shares_of,
)

LARGEST_HARD_SHARE = 0.5


class WeightedDraw(NegativeSampler):
    """Draw ``draws`` candidates a batch, with replacement, from fixed probabilities.

    Args:
        probabilities: float [N], adding up to 1; a candidate of probability 0 is never drawn.
        draws: M, candidates a batch, >= 1.
        frequencies: float [N], share of each candidate among the pairs, for the q of the batch's
            own positives; None leaves that uniform.

    Raises:
        SettingError: The probabilities are no shares, or ``draws`` is below 1.
    """

    name = "weighted"

    def __init__(
        self, probabilities: Tensor, *, draws: int, frequencies: Tensor | None = None
    ) -> None:
        if draws < 1:
            raise SettingError(f"draws is {draws}; a sampler draws 1 candidate or more")
        self.probabilities = require_shares(probabilities)
        self.draws = draws
        self.frequencies = None if frequencies is None else require_shares(frequencies)
        self._cumulative = self.probabilities.cumsum(0)

    @property
    def config(self) -> Mapping[str, Any]:  # noqa: D102
        return {
            "draws": self.draws,
            "probabilities": digest_of(self.probabilities),
            "frequencies": digest_of(self.frequencies),
        }

    def log_q(self, ids: Tensor, batch_size: int) -> Tensor | None:  # noqa: D102
        if self.frequencies is None:
            return None
        return log_presence(shares_of(self.frequencies, ids), batch_size)

    def draw(self, request: Request) -> Draw:  # noqa: D102
        ids = self.draw_rows(self.draws, request.generator)
        return Draw(ids, log_q=torch.log(self.draws * self.probabilities[ids]).float())

    def draw_rows(self, count: int, generator: torch.Generator) -> Tensor:
        """Draw ``count`` candidates, int64 [count], by inverting the cumulative distribution."""
        points = torch.rand(count, generator=generator, dtype=torch.float64)
        rows = torch.searchsorted(self._cumulative, points * self._cumulative[-1], right=True)
        # A point just below 1 may round up to the total; the last candidate with weight owns it.
        last = int(self.probabilities.nonzero()[-1])
        return rows.clamp_max(last)


class Popularity(WeightedDraw):
    """Draw candidates with probability proportional to ``frequency ** exponent``.

    Args:
        frequencies: float [N], share of each candidate among the pairs.
        draws: M, candidates a batch.
        exponent: 1 follows popularity, 0 is uniform over what was seen, 0.75 is usual.

    Raises:
        SettingError: A negative exponent, or frequencies that are no shares.

    Source: word2vec (arXiv 1310.4546), section 2.2, for the exponent.

    >>> Popularity(torch.tensor([0.8, 0.2]), draws=4, exponent=0.0).probabilities
    tensor([0.5000, 0.5000], dtype=torch.float64)
    """

    name = "popularity"

    def __init__(self, frequencies: Tensor, *, draws: int, exponent: float = 0.75) -> None:
        if not exponent >= 0:
            raise SettingError(f"exponent is {exponent}; popularity weighs with 0 or more")
        shares = require_shares(frequencies)
        weights = torch.where(shares > 0, shares**exponent, 0.0)
        super().__init__(weights / weights.sum(), draws=draws, frequencies=frequencies)
        self.exponent = exponent

    @property
    def config(self) -> Mapping[str, Any]:  # noqa: D102
        return {**super().config, "exponent": self.exponent}


class Mixture(WeightedDraw):
    """Draw from several samplers at once; q is the probability of the mixture.

    A candidate's q does not depend on which part happened to draw it.

    Args:
        parts: Samplers over the same N candidates.
        shares: Share of each part, adding up to 1.
        draws: M, candidates a batch.

    Raises:
        SettingError: Shares and parts do not fit, or parts are over different candidates.

    Source: mixed negative sampling (Yang et al. 2020, WWW companion), section 3.
    """

    name = "mixture"

    def __init__(
        self, parts: Sequence[WeightedDraw], shares: Sequence[float], *, draws: int
    ) -> None:
        sizes = {len(part.probabilities) for part in parts}
        if len(parts) != len(shares) or len(sizes) != 1:
            raise SettingError(
                f"a mixture of {len(parts)} parts was given {len(shares)} shares over "
                f"{sorted(sizes)} candidates; give one share a part, over the same candidates"
            )
        weights = require_shares(torch.tensor(list(shares), dtype=torch.float64))
        stacked = torch.stack([part.probabilities for part in parts])
        known = [part.frequencies for part in parts if part.frequencies is not None]
        super().__init__(weights @ stacked, draws=draws, frequencies=known[0] if known else None)
        self.parts = tuple(parts)
        self.shares = tuple(weights.tolist())

    @property
    def config(self) -> Mapping[str, Any]:  # noqa: D102
        parts = [{"name": part.name, **part.config} for part in self.parts]
        return {**super().config, "shares": list(self.shares), "parts": parts}


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


def _slice_bags(bags: Bags, first: float, last: float) -> Tensor:
    """Take the candidates whose relative rank in their bag lies in [first, last]."""
    lengths = torch.repeat_interleave(bags.lengths, bags.lengths)
    starts = torch.repeat_interleave(bags.offsets[:-1], bags.lengths)
    middle = (torch.arange(len(bags.indices)) - starts + 0.5) / lengths
    return bags.indices[(middle >= first) & (middle <= last)]
