"""The blend: several forecasters, each as much as the past says it is worth.

In: forecasters of one horizon. Out: a forecaster that mixes them. Members are fitted on the part
of history before the validation tail and asked what they would have said in it; weights on the
simplex are learned from their errors there, a set for each block of steps, and the members are
fitted again on everything. Where mixing is hardly better than repeating the last value, as on a
random walk, the blend abstains: it moves to :class:`Repeat`, all the way where nothing is gained.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from os import PathLike
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..core import SettingError
from .blend_explanation import BlendExplanation
from .blend_store import load_blend, save_blend
from .bounding import choose_draws
from .calibration import Draws
from .frames import Gaps
from .frequency import Frequency
from .holdout import HeldOut, batches
from .model import Forecaster
from .naive import Repeat
from .normalisers import series_units, training_deviations
from .origins import Origins, futures
from .panel import Panel, Values
from .simplex import MOST_FORECASTS
from .units import Steps
from .weighing import tell_weights, weigh

_BATCH = 1024
MOST_DRAWN = 768


class Blend(Forecaster):
    """A mixture of forecasters with weights learned on the validation tail.

    Args:
        members: Forecasters of one horizon, each with its own alias. :class:`Repeat` stands by on
            its own and need not be one of them.
        prior: Weight of each member without evidence, [M]; None for equal weights.
        shrinkage: Strength of the prior, as a share of the best member's mean squared error.
        freq, gaps, alias: As in :class:`Forecaster`.

    Attributes:
        members_: The members as fitted on everything.
        weights_: One row a block of steps and forecaster: ``first_step, last_step, member, family,
            weight``; weights of a block sum to one.
        drawer_: Whose draws bound the forecast: the place of a retrieval forecaster among those of
            the blend, or their number where bands as wide for all windows fitted best.
        gains_: One row a block of steps: share of Repeat's squared error that mixing surely saved
            on the tail (see :func:`sure_gain`), and the share of the mixture that is kept for it.

    Raises:
        SettingError: Members that cannot be mixed.

    Source: linear pools on the simplex after Breiman 1996 ("Stacked regressions"); abstention is
    ours.
    """

    def __init__(
        self,
        members: Sequence[Forecaster],
        *,
        prior: Sequence[float] | None = None,
        shrinkage: float = 0.1,
        freq: str | int | Frequency | None = None,
        gaps: Gaps = "error",
        alias: str | None = None,
    ) -> None:
        self.members = tuple(members)
        _check_members(self.members)
        super().__init__(
            self.members[0].horizon,
            lookback=max(member.lookback for member in self.members),
            freq=freq,
            gaps=gaps,
            alias=alias,
        )
        count = len(self.members)
        self.prior = np.full(count, 1 / count) if prior is None else np.array(prior, dtype=float)
        if self.prior.shape != (count,) or self.prior.min() < 0 or self.prior.sum() <= 0:
            raise SettingError(
                f"prior needs one weight, not negative, for each of {count} members, found "
                f"{self.prior.tolist()}"
            )
        self.prior = self.prior / self.prior.sum()
        if shrinkage < 0:
            raise SettingError(f"shrinkage must not be negative, found {shrinkage}")
        self.shrinkage = shrinkage
        self.naive = Repeat(self.horizon)

    @property
    def covariates(self) -> tuple[str, ...]:
        """What any member looks at beside the target."""
        return tuple(sorted({name for member in self.members for name in member.covariates}))

    def rehearse(self, panel: Panel, held: HeldOut) -> None:
        """Let the members learn from the rows before the cut; weigh them by the tail behind it."""
        self.members_ = tuple(copy.deepcopy(member) for member in self.members)
        for member in self.members_:
            member.rehearse(panel, held)
        self.attach(panel)
        before = held.before
        known = before.by_id(training_deviations(before))
        unit = series_units(panel, known, self.lookback)[held.origins.series][:, None]
        said = np.concatenate(
            [self._said(panel, part) for part in batches(held.origins, _BATCH)], axis=1
        )
        truth = futures(panel, held.origins, self.horizon)
        self.mixture_, self.gains_ = weigh(
            (said - truth) / unit, held.origins.steps, self.prior, self.shrinkage
        )
        self.weights_ = tell_weights(self.mixture_, self._forecasters)
        tail = held.origins[:: max(1, len(held.origins) // MOST_DRAWN)]
        tail = tail[np.logical_and.reduce(self._able(panel, tail))]
        best, _ = choose_draws(self._drawers(), panel, tail, self.expect(panel, tail))
        self.drawer_ = best

    def learn(self, panel: Panel) -> None:
        """Let the members learn from every row; the weights stay."""
        for member in self.members_:
            member.learn(panel)

    def attach(self, panel: Panel) -> None:
        """Let every member get ready for origins of the panel."""
        for member in self.members_:
            member.attach(panel)

    def latest_candidates(self, steps: Steps) -> list[int | None]:
        """The latest row that the index of any member could show at each step."""
        found = [member.latest_candidates(steps) for member in self.members_]
        shown = [rows for rows in found if rows is not None]
        return [_latest(rows) for rows in zip(*shown, strict=True)] or [None] * len(steps)

    def ready(self, panel: Panel, origins: Origins) -> NDArray[np.bool_]:
        """Which origins at least one member can forecast from."""
        able: NDArray[np.bool_] = np.logical_or.reduce(self._able(panel, origins)[:-1])
        return able

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """The weighted forecasts of the members and of Repeat, [O, H]."""
        return _weighted(self._weights_at(panel, origins), self._said(panel, origins))

    def draws(self, panel: Panel, origins: Origins, mean: Values) -> Values:
        """What the member that bounds best thinks possible, moved to the blend's mean."""
        return self._drawers()[self.drawer_](panel, origins, mean)

    def _drawers(self) -> list[Draws]:
        """Every retrieval forecaster's draws around a mean, and the mean alone."""
        history = [one for one in self.members_ if one.family == "retrieval"]
        return [*(one.draws for one in history), super().draws]

    def explain(
        self, series_id: Hashable | None = None, *, episodes: int = 8, min_gap: int | None = None
    ) -> BlendExplanation:
        """Take the forecast of one series apart into what each member said.

        Args:
            series_id: Which series; None for the first.
            episodes: How many episodes of each retrieval forecaster are told one by one.
            min_gap: As in :meth:`RetrievalForecaster.explain`.

        Returns:
            The explanation; ``total()`` equals the forecast, ``shares()`` names how much of it is
            retrieval, direct and naive.

        Raises:
            UnknownId: No such series; names the closest.
            TooFewRows: It cannot be forecast; says why.
        """
        panel, origin = self.panel_, self.explainable_origin(series_id)
        said = self._said(panel, origin)
        weights = self._weights_at(panel, origin)
        able = self._able(panel, origin)[:, 0]
        speak = [(place, one) for place, one in enumerate(self._forecasters) if able[place]]
        return BlendExplanation(
            series_id=panel.ids[int(origin.series[0])],
            cutoff=panel.stamps(origin.steps)[0],
            forecast=_weighted(weights, said)[0],
            weights={one.alias: weights[place, 0] for place, one in speak},
            families={one.alias: one.family for _, one in speak},
            said={one.alias: said[place, 0] for place, one in speak},
            episodes={
                member.alias: told
                for place, member in speak
                if weights[place].any()
                and (told := member.explain_at(panel, origin, episodes=episodes, min_gap=min_gap))
            },
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Save everything that was fitted as one verified folder.

        Args:
            path: The folder; a bundle that stands there is replaced, all or nothing.

        Raises:
            SettingError: A member that cannot be stored.
        """
        save_blend(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Load a saved blend; it answers to the bit as before.

        Raises:
            BundleError: The folder cannot be trusted, with the file and the cure.
        """
        return load_blend(cls, path)

    @property
    def _forecasters(self) -> tuple[Forecaster, ...]:
        return (*self.members_, self.naive)

    def _able(self, panel: Panel, origins: Origins) -> NDArray[np.bool_]:
        """Which forecaster can start from which origin, [M + 1, O]."""
        return np.stack([one.ready(panel, origins) for one in self._forecasters])

    def _said(self, panel: Panel, origins: Origins) -> Values:
        """What every member, and Repeat, forecasts, [M + 1, O, H]; NaN where one cannot."""
        said = np.full((len(self.members_) + 1, len(origins), self.horizon), np.nan)
        for place, one in enumerate(self._forecasters):
            able = one.ready(panel, origins)
            if able.any():
                said[place, able] = one.expect(panel, origins[able])
        return said

    def _weights_at(self, panel: Panel, origins: Origins) -> Values:
        """Weights at each origin, [M + 1, O, H]: those who can start share those who cannot."""
        able = self._able(panel, origins)
        weights: Values = self.mixture_[:, None] * able[..., None]
        total = weights.sum(axis=0)
        # Where nobody with a weight can start, everybody who can counts alike.
        alike = able / np.maximum(able.sum(axis=0), 1)
        return np.where(total > 0, weights / np.where(total > 0, total, 1.0), alike[..., None])


def _check_members(members: Sequence[Forecaster]) -> None:
    if not 0 < len(members) <= MOST_FORECASTS:
        raise SettingError(f"a blend has 1 to {MOST_FORECASTS} members, found {len(members)}")
    horizons = sorted({member.horizon for member in members})
    if len(horizons) > 1:
        raise SettingError(f"members of one blend have one horizon, found {horizons}")
    names = [member.alias for member in members] + [Repeat.__name__]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SettingError(
            f"two forecasters of the blend are called {', '.join(twice)}, where one Repeat always "
            "stands by; give each member its own alias"
        )


def _latest(rows: Sequence[int | None]) -> int | None:
    return max((row for row in rows if row is not None), default=None)


def _weighted(weights: Values, said: Values) -> Values:
    """Weighted sum over forecasters, [O, H]; one without weight may have said nothing."""
    total: Values = np.where(weights > 0, weights * said, 0.0).sum(axis=0)
    return total
