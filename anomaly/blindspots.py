"""The register of blind spots: what a detector cannot see, measured before it is trusted.

In: a detector's score, rivals to compare with, held-out normal samples and ways to spoil them.
Out: a :class:`Register`, with a status for every kind of fault and severity. Whatever an encoder
was taught to ignore it may overlook, so every invariance is listed with the faults it may hide,
and each fault is injected into held-out normals and counted at the alarm budget.

The register is saved with the detector and printed with its alerts. A kind nobody measured says
"unmeasured": silence would read as "seen".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ..core import Progress, TooFewRows, silent
from .threshold import calibrate

Status = Literal["seen", "weakened", "blind", "unmeasured"]
Samples = NDArray[np.float64]
Score = Callable[[Samples], NDArray[np.float64]]
Spoil = Callable[[Samples, float, np.random.Generator], Samples]

INJECTIONS = 200
"""Injections a kind and severity; fewer give no status."""

BLIND_BELOW = 0.2
SEEN_FROM = 0.5


@dataclass(frozen=True, slots=True)
class Invariance:
    """Something the detector ignores by construction or by training.

    Attributes:
        name: Of the augmentation, normalisation or geometry.
        ignores: What it makes the detector ignore.
        may_hide: Kinds of fault that this can hide.
    """

    name: str
    ignores: str
    may_hide: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Injection:
    """A kind of fault and how it is put into samples.

    Attributes:
        kind: Its name.
        severities: Those measured, mild first.
        spoil: (samples, severity, generator) -> spoilt samples.
    """

    kind: str
    severities: tuple[float, ...]
    spoil: Spoil


@dataclass(frozen=True, slots=True)
class Measurement:
    """How much of one kind and severity is found at the alarm budget.

    Attributes:
        kind: Of fault.
        severity: Of fault, in the kind's own unit.
        injections: n; 0 where nothing was measured.
        found: How many of them alert.
        rivals: Rival -> how many of the same injections it finds at the same budget: the
            detector without one augmentation, and raw nearest neighbours.
        status: What follows from it.
    """

    kind: str
    severity: float
    injections: int
    found: int
    rivals: Mapping[str, int]
    status: Status

    @property
    def recall(self) -> float:
        """Share found; NaN where nothing was measured."""
        return self.found / self.injections if self.injections else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the recall."""
        return wilson(self.found, self.injections)


@dataclass(frozen=True, slots=True)
class Register:
    """What a detector sees and what it does not.

    Attributes:
        budget: Share of held-out normals that may alert while faults are counted.
        held_out: Normal samples behind that level.
        invariances: What the detector ignores, and what that may hide.
        measurements: Kinds in the order they were measured, mild severities first.
        seed: Of the injections.
    """

    budget: float
    held_out: int
    invariances: tuple[Invariance, ...]
    measurements: tuple[Measurement, ...]
    seed: int

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of fault in order."""
        return tuple(dict.fromkeys(one.kind for one in self.measurements))

    def of(self, kind: str) -> tuple[Measurement, ...]:
        """Give all measurements of a kind."""
        return tuple(one for one in self.measurements if one.kind == kind)

    def status(self, kind: str) -> Status:
        """Give the status of a kind at its largest severity; "unmeasured" for an unknown one."""
        measured = self.of(kind)
        return measured[-1].status if measured else "unmeasured"

    def blind_spots(self) -> tuple[str, ...]:
        """Name the kinds that are blind even at their largest severity."""
        return tuple(kind for kind in self.kinds if self.status(kind) == "blind")

    def sentence(self) -> str:
        """Say in one sentence what an alert list cannot contain; printed with alerts."""
        if not self.measurements:
            return "What this detector cannot see was not measured."
        unmeasured = [kind for kind in self.kinds if self.status(kind) == "unmeasured"]
        weakened = [kind for kind in self.kinds if self.status(kind) == "weakened"]
        parts = []
        if blind := self.blind_spots():
            parts.append(f"blind to {', '.join(blind)}")
        if weakened:
            parts.append(f"weak on {', '.join(weakened)}")
        if unmeasured:
            parts.append(f"not measured on {', '.join(unmeasured)}")
        told = "; ".join(parts) or "none of the measured kinds is missed at its largest severity"
        return f"Blind spots at a budget of {self.budget:.2%} of normals: {told}."


def measure_register(
    detector: Score,
    rivals: Mapping[str, Score],
    held: Samples,
    injections: Sequence[Injection],
    *,
    budget: float,
    invariances: Sequence[Invariance] = (),
    count: int = INJECTIONS,
    seed: int = 0,
    progress: Progress = silent,
) -> Register:
    """Measure what is found of injected faults at an alarm budget.

    Every scorer gets its own level from the same held-out normals, and the same spoilt samples.

    Args:
        detector: Scores samples [N, ...]; larger is stranger.
        rivals: The same detector without one augmentation, and raw nearest neighbours, by name.
        held: Held-out normal samples, at least 1 / budget - 1.
        injections: Kinds and severities.
        budget: Share of held-out normals that may alert.
        invariances: What the detector ignores; faults they may hide and that no injection covers
            are entered as unmeasured.
        count: Injections a kind and severity.
        seed: Of the injections.
        progress: Display.

    Returns:
        The register.

    Raises:
        TooFewRows: Too few held-out samples for the budget.
    """
    if len(held) < 2:
        raise TooFewRows(f"{len(held)} held-out normal samples; the register needs more")
    scorers = {"": detector, **rivals}
    levels = {name: calibrate(score(held), budget).value for name, score in scorers.items()}
    draw = np.random.default_rng([seed, 3])
    measured = []
    cells = [(one, severity) for one in injections for severity in one.severities]
    for injection, severity in progress(cells, "injecting faults", len(cells)):
        samples = held[draw.integers(len(held), size=count)]
        spoilt = injection.spoil(samples, severity, draw)
        found = {name: int((score(spoilt) > levels[name]).sum()) for name, score in scorers.items()}
        own = found.pop("")
        status = judge(own, count, list(found.values()))
        measured.append(Measurement(injection.kind, severity, count, own, found, status))
    covered = {one.kind for one in injections}
    hidden = dict.fromkeys(kind for one in invariances for kind in one.may_hide)
    missing = [
        Measurement(kind, math.nan, 0, 0, {}, "unmeasured")
        for kind in hidden
        if kind not in covered
    ]
    return Register(budget, len(held), tuple(invariances), (*measured, *missing), seed)


def judge(found: int, injections: int, rivals: Sequence[int] = ()) -> Status:
    """Give the status of a count.

    Blind: the interval lies below 20 %. Weakened: it does not lie above 50 %, or it lies below the
    interval of a rival. Seen: neither. Unmeasured: fewer than 200 injections.

    >>> judge(190, 200), judge(10, 200), judge(120, 200, [195]), judge(9, 10)
    ('seen', 'blind', 'weakened', 'unmeasured')
    """
    if injections < INJECTIONS:
        return "unmeasured"
    low, high = wilson(found, injections)
    if high < BLIND_BELOW:
        return "blind"
    beaten = any(wilson(rival, injections)[0] > high for rival in rivals)
    return "weakened" if beaten or low < SEEN_FROM else "seen"


def wilson(found: int, trials: int) -> tuple[float, float]:
    """Give the 95 % interval of a share.

    Source: Wilson (1927).

    >>> [round(bound, 3) for bound in wilson(100, 200)]
    [0.431, 0.569]
    """
    if trials == 0:
        return 0.0, 1.0
    z = float(stats.norm.ppf(0.975))
    share, weight = found / trials, z**2 / trials
    middle = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / trials + weight / (4 * trials))
    return max(0.0, middle - half), min(1.0, middle + half)


def read_register(data: Mapping[str, Any]) -> Register:
    """Build a register from the plain values of a bundle's report."""
    return Register(
        budget=data["budget"],
        held_out=data["held_out"],
        invariances=tuple(
            Invariance(one["name"], one["ignores"], tuple(one["may_hide"]))
            for one in data["invariances"]
        ),
        measurements=tuple(
            Measurement(
                one["kind"],
                math.nan if one["severity"] is None else one["severity"],
                one["injections"],
                one["found"],
                one["rivals"],
                one["status"],
            )
            for one in data["measurements"]
        ),
        seed=data["seed"],
    )
