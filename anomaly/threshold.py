"""The threshold: how strange is too strange, from normal scores that were held out.

In: scores of normal rows the model did not learn from, and the share of normal rows that may raise
an alarm. Out: a :class:`Threshold` with its n and with the range in which the realised rate will
lie. Nothing here is a probability of being an anomaly: that would need labelled anomalies.

Source: split conformal prediction; Vovk (2012), "Conditional validity", for the Beta interval.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ..core import NonFiniteError, ProcedureWarning, SettingError, ShapeError, TooFewRows

NOT_A_PROBABILITY = (
    "The false-alarm rate speaks about normal rows only; it is not a probability that an alert is "
    "an anomaly."
)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A level above which a score is an alert.

    Attributes:
        value: Scores strictly above it alert.
        false_alarm_rate: Share of normal rows that may alert, as asked.
        calibrated_on: n, held-out normal scores behind it.
        effective_rate: Share of those n above the value; far below the asked rate where many
            scores are equal.

    >>> calibrate([1.0, 2.0, 3.0, 4.0], 0.2).value
    4.0
    """

    value: float
    false_alarm_rate: float
    calibrated_on: int
    effective_rate: float

    @property
    def rank(self) -> int:
        """Which of the n ascending held-out scores it is, counted from 1."""
        return threshold_rank(self.calibrated_on, self.false_alarm_rate)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the realised false-alarm rate lies with 95 % confidence.

        The rate over all draws of n normal rows is Beta(n + 1 - r, r) distributed, with r the rank
        of the threshold, when normal rows stay what they were and scores do not tie.
        """
        law = stats.beta(self.calibrated_on + 1 - self.rank, self.rank)
        return float(law.ppf(0.025)), float(law.ppf(0.975))

    def alerts(self, scores: ArrayLike) -> NDArray[np.bool_]:
        """Say which scores are strictly above the threshold; NaN never is."""
        above: NDArray[np.bool_] = np.asarray(scores, dtype=np.float64) > self.value
        return above


def calibrate(scores: ArrayLike, false_alarm_rate: float) -> Threshold:
    """Set the threshold at the ceil((n + 1)(1 - a))-th of n held-out normal scores.

    Args:
        scores: Scores of held-out normal rows, [n], finite.
        false_alarm_rate: a, in (0, 1).

    Returns:
        The threshold.

    Raises:
        TooFewRows: n < 1 / a - 1: no finite threshold keeps the rate.
        NonFiniteError: A score is NaN or infinite.

    Warns:
        ProcedureWarning: The threshold is degenerate: 0, or shared by so many equal scores that
            the rate it keeps is not the one asked for.
    """
    check_rate(false_alarm_rate)
    held = np.asarray(scores, dtype=np.float64)
    if held.ndim != 1:
        raise ShapeError(f"calibration scores must be a vector [n], found shape {held.shape}")
    if not np.isfinite(held).all():
        bad = np.flatnonzero(~np.isfinite(held))
        raise NonFiniteError(
            f"{len(bad)} of {len(held)} calibration scores are not finite, first at {bad[0]}; "
            "leave rows out that cannot be scored"
        )
    rank = threshold_rank(len(held), false_alarm_rate)
    if rank > len(held):
        raise TooFewRows(
            f"{len(held)} held-out normal rows cannot hold a false-alarm rate of "
            f"{false_alarm_rate:g}: {rows_needed(false_alarm_rate)} are needed; add normal rows "
            "or allow a larger false_alarm_rate"
        )
    value = float(np.partition(held, rank - 1)[rank - 1])
    effective = float((held > value).mean())
    if value <= 0 or effective < false_alarm_rate / 2 - 1 / len(held):
        warnings.warn(
            f"degenerate threshold {value:g}: {int((held == value).sum())} of {len(held)} normal "
            f"scores equal it, so the effective rate is {effective:.3g} and not "
            f"{false_alarm_rate:g}; rows repeat in this data, and any row that does not will alert",
            ProcedureWarning,
            stacklevel=2,
        )
    return Threshold(value, false_alarm_rate, len(held), effective)


def rank_among_normals(scores: ArrayLike, held: ArrayLike) -> NDArray[np.float64]:
    """Give each score its place among held-out normal scores, as a p-value.

    Args:
        scores: Scores to place, [Q]; NaN stays NaN.
        held: Held-out normal scores, [n].

    Returns:
        (1 + number of held scores >= score) / (n + 1), in (0, 1], [Q]. For normal rows it is
        uniform (on the n + 1 steps) if they are exchangeable with the held-out ones.

    >>> rank_among_normals([0.5, 9.0], [1.0, 2.0, 3.0])
    array([1.  , 0.25])
    """
    asked = np.asarray(scores, dtype=np.float64)
    ordered = np.sort(np.asarray(held, dtype=np.float64))
    above = len(ordered) - np.searchsorted(ordered, asked, side="left")
    return np.where(np.isnan(asked), np.nan, (1 + above) / (len(ordered) + 1))


def threshold_rank(n: int, false_alarm_rate: float) -> int:
    """Which of n ascending held-out scores is the threshold, counted from 1."""
    # The subtraction forgives what 1 - a loses in binary: (99 + 1) * 0.99 must be 99.
    return math.ceil((n + 1) * (1 - false_alarm_rate) - 1e-9)


def rows_needed(false_alarm_rate: float) -> int:
    """The least n that can hold a rate: 1 / a - 1.

    >>> rows_needed(0.01)
    99
    """
    return math.ceil(1 / false_alarm_rate - 1 - 1e-9)


def check_rate(false_alarm_rate: float) -> None:
    """Refuse a rate outside (0, 1)."""
    if not 0 < false_alarm_rate < 1:
        raise SettingError(
            f"false_alarm_rate is {false_alarm_rate}; it is the share of normal rows that may "
            "alert, strictly between 0 and 1"
        )
