"""A forecaster that lives on: new rows join its memory, and it says when it should learn again.

In: a fitted retrieval forecaster and rows that have come since. :func:`extend` appends them
without encoding the old ones again, :func:`refresh` sets its intervals anew from them, and
:func:`check_freshness` says whether that is enough. When to learn again is a
:class:`RetrainPolicy`; a forecaster that should simply fits on its own panel:
``model.fit_panel(model.panel_)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from ..core import Check, SettingError, TooFewRows, Verdict
from .calibration import calibrate
from .continuations import ContinuationIndex
from .growth import join_panels, read_more
from .holdout import batches
from .origins import Origins, complete, futures, origins_at, pasts
from .panel import Panel, Values
from .price import long_run_variance, spread_lags
from .retrieval import RetrievalForecaster
from .units import Steps

Advice = Literal["keep", "refresh", "retrain"]
LEVEL = 80
FEWEST = 8
"""Cutoffs since learning below which nothing is said."""
FEWEST_ORIGINS = 20
_BATCH = 1024

Model = TypeVar("Model", bound=RetrievalForecaster)


@dataclass(frozen=True, slots=True)
class RetrainPolicy:
    """When a forecaster should learn again.

    Attributes:
        grown: New rows, as a share of those it learned from, from which it should.
        false_alarm_rate: Chance, in (0, 1), that it is called stale although nothing drifted.
    """

    grown: float = 0.5
    false_alarm_rate: float = 0.01

    def __post_init__(self) -> None:
        if self.grown <= 0 or not 0 < self.false_alarm_rate < 1:
            raise SettingError(
                f"grown is positive and false_alarm_rate in (0, 1), found {self.grown} and "
                f"{self.false_alarm_rate}"
            )


@dataclass(frozen=True, slots=True)
class Freshness:
    """Whether what was learned still holds.

    Attributes:
        verdict: The checks: intervals that hold, and windows that have been seen before.
        grown: New rows as a share of those learned from.
        advice: ``keep``; ``refresh`` the intervals; or ``retrain``.
        reason: Why, in one sentence.
    """

    verdict: Verdict
    grown: float
    advice: Advice
    reason: str

    @property
    def stale(self) -> bool:
        """Whether anything should be done."""
        return self.advice != "keep"


def extend(model: Model, frame: Any) -> Model:
    """Append rows that have come since; nothing that was encoded is encoded again.

    The index is, to the bit, the one that would be built from all rows. Towers, level and
    intervals stay as they are.

    Args:
        model: Fitted or loaded; changed in place.
        frame: Long frame with the columns it was fitted on: rows behind the known ones, and series
            that are new.

    Returns:
        The model.

    Raises:
        UnsortedRows: A row lies at or before the last known one of its series.
        InputError: With every other fault of the frame.
    """
    more = read_more(model.panel_, frame, model.gaps)
    panel = join_panels(model.panel_, more, model.gaps)
    model.index_ = ContinuationIndex(
        panel,
        model.recipe_,
        model.embedding_,
        model.kernel_,
        stride=model.stride,
        neighbours=model.neighbours,
        earlier=model.index_,
    )
    model.panel_ = panel
    return model


def refresh(model: Model) -> Model:
    """Set the intervals anew, from forecasts of what has happened since the model learned.

    Args:
        model: Fitted, and extended since; changed in place.

    Raises:
        TooFewRows: Fewer than 20 origins since then have a known future.
    """
    origins = _since(model, 1)
    if len(origins) < FEWEST_ORIGINS:
        raise TooFewRows(
            f"{len(origins)} origins since the model learned have {model.horizon} known rows "
            f"behind them, and intervals need {FEWEST_ORIGINS}; extend it with more rows first"
        )
    model.calibration_ = calibrate(model.expect, model.panel_, origins, draws=model.draws)
    return model


def check_freshness(model: RetrievalForecaster, policy: RetrainPolicy | None = None) -> Freshness:
    """Look at what has happened since the model learned.

    Two things are tested at cutoffs a horizon apart, so that they hardly overlap: whether the 80 %
    intervals have held as often as they say, and whether windows lie farther from their nearest
    memory than windows did before.

    Args:
        model: Fitted, and extended since.
        policy: When to learn again.

    Raises:
        TooFewRows: Fewer than 8 cutoffs have passed since.
    """
    policy = policy or RetrainPolicy()
    recent = _since(model, model.horizon)
    cutoffs = len(np.unique(recent.steps))
    if cutoffs < FEWEST or len(recent) < FEWEST_ORIGINS:
        raise TooFewRows(
            f"{cutoffs} cutoffs and {len(recent)} windows have passed since the model learned, and "
            f"a verdict needs {FEWEST} and {FEWEST_ORIGINS}; extend it with more rows first"
        )
    before = _before(model)
    rate = policy.false_alarm_rate / 2
    checks = [_coverage(model, recent, before, rate)]
    if len(np.unique(before.steps)) >= FEWEST:
        checks.append(_novelty(model, recent, before, rate))
    verdict = Verdict(tuple(checks), policy.false_alarm_rate, len(recent))
    grown = _grown(model)
    advice, reason = _advise(verdict, grown, policy)
    return Freshness(verdict, grown, advice, reason)


def _advise(verdict: Verdict, grown: float, policy: RetrainPolicy) -> tuple[Advice, str]:
    drifted = [check for check in verdict.checks[1:] if not check.ok]
    if drifted:
        return "retrain", drifted[0].finding
    if grown >= policy.grown:
        return "retrain", f"{grown:.0%} as many rows have come as were learned from"
    if not verdict.ok:
        return "refresh", verdict.summary
    return "keep", verdict.summary


def _coverage(model: RetrievalForecaster, recent: Origins, before: Origins, rate: float) -> Check:
    """Whether the intervals hold as often as they say; a cutoff counts once, for all series."""
    inside = []
    for part in batches(recent, _BATCH):
        low, high = model.forecast(model.panel_, part, [LEVEL]).bands[LEVEL]
        truth = futures(model.panel_, part, model.horizon)
        inside.append(((truth >= low) & (truth <= high)).mean(axis=1))
    held = _by_cutoff(recent, np.concatenate(inside))
    # The intervals were themselves set from earlier cutoffs, and are as unsure.
    share_of_known = len(held) / max(len(np.unique(before.steps)), 1)
    error = _error(held) * math.sqrt(1 + share_of_known)
    limit = LEVEL / 100 - _reach(len(held), rate) * error
    share = float(held.mean())
    ok = share >= limit
    told = "hold" if ok else "no longer hold"
    return Check(
        name=f"{LEVEL} % intervals",
        value=share,
        frozen=LEVEL / 100,
        limit=limit,
        ok=ok,
        finding=f"{LEVEL} % intervals {told}: {share:.0%} lay inside at {len(held)} cutoffs",
    )


def _novelty(model: RetrievalForecaster, recent: Origins, before: Origins, rate: float) -> Check:
    """Whether windows lie farther from everything known than windows did before."""
    # One memory for both: a larger one always holds something nearer.
    memory = int(before.steps.min())
    then, now = (
        _by_cutoff(origins, _distances(model, origins, memory)) for origins in (before, recent)
    )
    error = math.hypot(_error(then), _error(now))
    limit = float(then.mean()) + _reach(min(len(then), len(now)), rate) * error
    found, usual = float(now.mean()), float(then.mean())
    ok = found <= limit
    told = "no farther than before" if ok else "farther than before"
    return Check(
        name="distance to the nearest memory",
        value=found,
        frozen=usual,
        limit=limit,
        ok=ok,
        finding=f"windows lie {told} from their nearest memory ({usual:.3f} then, {found:.3f} now)",
    )


def _by_cutoff(origins: Origins, values: Values) -> Values:
    """One mean a cutoff: series that move together count once."""
    _, place = np.unique(origins.steps, return_inverse=True)
    means: Values = np.bincount(place, values) / np.bincount(place)
    return means


def _error(values: Values) -> float:
    """Standard error of a mean over cutoffs, which depend on their neighbours."""
    return math.sqrt(long_run_variance(values, spread_lags(len(values))) / (len(values) - 1))


def _reach(count: int, rate: float) -> float:
    from scipy import stats  # noqa: PLC0415 - half a second, and only monitoring pays

    return float(stats.t(count - 1).isf(rate))


def _distances(model: RetrievalForecaster, origins: Origins, memory: int) -> Values:
    """Distance of each window to the nearest memory from before a step, 1 - cosine, [O]."""
    index = model.index_
    found = []
    for part in batches(origins, _BATCH):
        vectors = index.ask(model.panel_, part).vectors
        known = Origins(part.series, np.minimum(part.steps, memory))
        nearest = index.index.search(vectors, 1, upto=index.upto(known))
        found.append(1 - nearest.similarity.astype(np.float64))
    return np.concatenate(found)


def _since(model: RetrievalForecaster, step: int) -> Origins:
    """Origins since the model learned whose past is whole and whose future is known."""
    panel = model.panel_
    last = int(panel.end_steps.max()) - model.horizon
    return _whole(model, panel, np.arange(model.learned_until_, last + 1, step))


def _before(model: RetrievalForecaster) -> Origins:
    """As many cutoffs from the end of what it learned from, a horizon apart."""
    first = int(model.index_.windows.end_steps[0])
    learned = model.learned_until_ - first
    cutoffs = np.arange(
        model.learned_until_ - model.horizon, first + 3 * learned // 4, -model.horizon
    )
    return _whole(model, model.panel_, cutoffs[::-1])


def _whole(model: RetrievalForecaster, panel: Panel, cutoffs: Steps) -> Origins:
    origins = origins_at(panel, cutoffs)
    if not len(origins):
        return origins
    past = complete(pasts(panel, origins, model.lookback))
    return origins[past & complete(futures(panel, origins, model.horizon))]


def _grown(model: RetrievalForecaster) -> float:
    panel = model.panel_
    kept = np.clip(model.learned_until_ - panel.starts + 1, 0, panel.lengths)
    learned = int(kept.sum())
    return (len(panel.values) - learned) / max(learned, 1)
