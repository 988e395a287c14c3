"""Monitoring: does the space still look as it did when it was good?

In: a :class:`ProbeSet`, frozen when the model was fitted and saved with it; the index as it is
now; and vectors that the encoder makes now. Out: a :class:`Verdict`, one row a guard, which
says in words what failed. Drift is judged by two-sample tests whose false-alarm rate is stated
for the whole call, not for each test.

A new guard is a function that returns a :class:`Check`, named in ``monitor``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from ..errors import SettingError, StaleIndex
from ..index.engine import VectorIndex
from ..index.recall import measure_recall
from ..index.stored_rows import VectorLike
from .probes import (
    ProbeSet,
    Sample,
    as_float64,
    mean_cosine_of,
    measure_distances,
    measure_lengths,
    require_rows,
)


@dataclass(frozen=True, slots=True)
class Guards:
    """How much may change before it is said.

    Attributes:
        mean_cosine: Largest mean pairwise cosine, in [-1, 1]; above it the space is collapsing.
        recall: Smallest recall@k through the index, in [0, 1].
        false_alarm_rate: Chance, in (0, 1), that a call reports drift although nothing drifted;
            all tests of the call together (Bonferroni).
    """

    mean_cosine: float = 0.9
    recall: float = 0.95
    false_alarm_rate: float = 0.01

    def __post_init__(self) -> None:
        if not 0 < self.false_alarm_rate < 1:
            raise SettingError(f"false_alarm_rate is {self.false_alarm_rate}; it lies in (0, 1)")


@dataclass(frozen=True, slots=True)
class Check:
    """One guard's finding.

    Attributes:
        name: What was looked at.
        value: What was found (for a drift test the KS statistic).
        frozen: What it was when the probes were frozen; None for a test, which compares itself.
        limit: What it may be at most, or at least.
        ok: Whether the guard holds.
        finding: The same in words.
    """

    name: str
    value: float
    frozen: float | None
    limit: float
    ok: bool
    finding: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings of one call.

    Attributes:
        checks: One a guard.
        false_alarm_rate: Of all drift tests together.
        probes: Rows the findings stand on.
    """

    checks: tuple[Check, ...]
    false_alarm_rate: float
    probes: int

    @property
    def ok(self) -> bool:
        """Whether every guard holds; a command exits with 0 only then."""
        return all(check.ok for check in self.checks)

    @property
    def summary(self) -> str:
        """The verdict in one line."""
        failed = [check.finding for check in self.checks if not check.ok]
        return "; ".join(failed) if failed else "every guard holds"

    def table(self) -> pl.DataFrame:
        """Give one row a guard."""
        return pl.DataFrame([asdict(check) for check in self.checks])

    def to_dict(self) -> dict[str, Any]:
        """Give the verdict as a report for a bundle."""
        return asdict(self) | {"ok": self.ok, "summary": self.summary}


def monitor(
    index: VectorIndex,
    probes: ProbeSet,
    queries: VectorLike,
    *,
    fingerprint: str,
    scores: VectorLike | None = None,
    guards: Guards | None = None,
) -> Verdict:
    """Compare what the encoder makes now with the frozen probes.

    Args:
        index: The index as it serves now.
        probes: What was frozen at fitting.
        queries: Recent vectors as the encoder gives them, before normalisation, [Q, D]; at
            least 20.
        fingerprint: Of the encoder in use.
        scores: Recent scores of the application; judged when the probes have scores too.
        guards: How much may change.

    Returns:
        The verdict; ``verdict.ok`` is False when a guard fails.

    Raises:
        TooFewRows: Fewer than 20 queries.
    """
    guards = Guards() if guards is None else guards
    stale = _stale(index, fingerprint)
    if not stale.ok:  # its vectors and the queries are of two spaces: nothing else means anything
        return Verdict((stale,), guards.false_alarm_rate, 0)
    raw = as_float64(queries)
    require_rows(len(raw), "queries")
    samples = {
        "query norm": (probes.norms, measure_lengths(raw)),
        "neighbour distance": (probes.distances, measure_distances(index, raw)),
    }
    if scores is not None and len(probes.scores):
        samples["score"] = (probes.scores, as_float64(scores).reshape(-1))
    rate = guards.false_alarm_rate / len(samples)
    drifts = (compare_samples(name, *pair, rate) for name, pair in samples.items())
    collapse = _collapse(mean_cosine_of(raw), probes.mean_cosine, guards.mean_cosine)
    recall = _recall(measure_recall(index, raw, probes.k), probes, guards.recall)
    return Verdict((stale, collapse, recall, *drifts), guards.false_alarm_rate, len(raw))


def compare_samples(name: str, frozen: Sample, recent: Sample, false_alarm_rate: float) -> Check:
    """Test whether two samples come from one distribution (two-sample Kolmogorov-Smirnov).

    Args:
        name: What the numbers are.
        frozen: The old sample, at least 20 values.
        recent: The new sample, at least 20 values.
        false_alarm_rate: Chance of "drifted" when nothing did; conservative where values tie.
    """
    from scipy import stats  # noqa: PLC0415 - half a second, and only monitoring pays

    require_rows(min(len(frozen), len(recent)), f"values of {name}")
    test = stats.ks_2samp(frozen, recent, method="asymp")
    rows = round(len(frozen) * len(recent) / (len(frozen) + len(recent)))
    ok = bool(test.pvalue >= false_alarm_rate)
    found = "did not drift" if ok else "drifted"
    return Check(
        name=f"{name} drift",
        value=float(test.statistic),
        frozen=None,
        limit=float(stats.kstwo.isf(false_alarm_rate, rows)),
        ok=ok,
        finding=f"{name} {found} (median {np.median(frozen):.4g} then, "
        f"{np.median(recent):.4g} now, p = {test.pvalue:.2g})",
    )


def _stale(index: VectorIndex, fingerprint: str) -> Check:
    try:
        share = index.stale_fraction(fingerprint)
    except StaleIndex as stale:
        return Check("stale rows", 1.0, 0.0, 0.0, ok=False, finding=str(stale))
    return Check("stale rows", share, 0.0, 0.0, ok=True, finding="no row of another encoder")


def _collapse(now: float, then: float, limit: float) -> Check:
    word = "within" if now <= limit else "above"
    finding = f"mean pairwise cosine is {now:.3f} (was {then:.3f}), {word} the limit {limit}"
    return Check("mean pairwise cosine", now, then, limit, ok=now <= limit, finding=finding)


def _recall(now: float, probes: ProbeSet, limit: float) -> Check:
    word = "at or above" if now >= limit else "below"
    finding = f"recall@{probes.k} is {now:.3f} (was {probes.recall:.3f}), {word} {limit}"
    return Check(f"recall@{probes.k}", now, probes.recall, limit, ok=now >= limit, finding=finding)
