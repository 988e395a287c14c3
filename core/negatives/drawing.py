"""Samplers that draw further candidates without looking at the batch: by popularity or a mixture.

In comes a batch (a ``Request`` of ``negatives.py``), out comes a draw of candidate rows that every
anchor of the batch is told apart from. ``log_q`` of a draw is the log of the expected number
of times a candidate is drawn, on one scale with the in-batch probability. A rule that weighs
candidates without looking at the batch is a vector of probabilities: subclass
:class:`WeightedDraw`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..errors import SettingError
from .samplers import (
    Draw,
    NegativeSampler,
    Request,
    digest_of,
    log_presence,
    require_shares,
    shares_of,
)


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
