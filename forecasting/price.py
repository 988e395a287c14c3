"""The price of the explanation: what a forecast that shows its episodes costs in accuracy.

In: a backtest. Out: one row a rival, with the mean difference of losses over the same cutoffs, an
interval for it and a test. Losses of one cutoff are averaged over series and steps first, so that
series which move together count once; forecasts that overlap in time are dependent, which the
variance allows for. To test another loss, add it to ``Loss`` and to :func:`cutoff_losses`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import polars as pl

from ..core import SettingError, TooFewRows
from .backtest import Backtest
from .panel import Values
from .scores import naive_scale
from .units import Steps

Loss = Literal["absolute", "squared"]
FEWEST = 8
"""Cutoffs below which a test says nothing."""
LEVEL = 95


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A mean difference and how sure it is.

    Attributes:
        difference: Mean of the differences; negative favours the first.
        low, high: 95 % interval for it.
        p_value: Chance of a difference this large, on either side, if there were none.
        count: Differences it stands on.
        lags: Lags over which they were allowed to depend on each other.
    """

    difference: float
    low: float
    high: float
    p_value: float
    count: int
    lags: int

    @property
    def verdict(self) -> str:
        """``cheaper``, ``dearer`` or ``no difference shown``, at the 5 % level."""
        if self.p_value >= 1 - LEVEL / 100:
            return "no difference shown"
        return "cheaper" if self.difference < 0 else "dearer"


def diebold_mariano(differences: Values, overlap: int = 1) -> PairedTest:
    """Test whether the mean of paired loss differences is zero.

    The variance of the mean is that of Newey and West (1987) with a Bartlett kernel that reaches
    over the overlap and a little more; the statistic is corrected for small samples and read from
    Student's t (Harvey, Leybourne and Newbold 1997, eq. 9).

    Args:
        differences: Loss of the first less loss of the second, one a cutoff, in order, [N].
        overlap: How many neighbouring cutoffs forecast some of the same rows; ceil(H / step).

    Raises:
        TooFewRows: Fewer than 8 differences, or fewer than two overlaps.

    Source: Diebold and Mariano 1995, doi:10.1080/07350015.1995.10524599.
    """
    from scipy import stats  # noqa: PLC0415 - half a second, and only a test pays

    count = len(differences)
    if count < max(FEWEST, 2 * overlap):
        raise TooFewRows(
            f"{count} cutoffs of which {overlap} neighbours overlap are too few to test a "
            f"difference; use at least {max(FEWEST, 2 * overlap)}"
        )
    lags = spread_lags(count, overlap)
    variance = long_run_variance(differences, lags)
    mean = float(differences.mean())
    shrink = (count + 1 - 2 * overlap + overlap * (overlap - 1) / count) / count
    error = math.sqrt(variance / count / shrink)
    if error <= np.finfo(np.float64).tiny:
        # Differences that never vary: they are zero for certain, or not.
        return PairedTest(mean, mean, mean, float(mean == 0), count, lags)
    student = stats.t(count - 1)
    reach = error * float(student.isf((100 - LEVEL) / 200))
    p_value = 2 * float(student.sf(abs(mean) / error))
    return PairedTest(mean, mean - reach, mean + reach, p_value, count, lags)


def spread_lags(count: int, overlap: int = 1) -> int:
    """Lags over which a series of averages is allowed to depend on itself."""
    usual = math.floor(4 * math.pow(count / 100, 2 / 9))
    return min(overlap - 1 + usual, count - 1)


def long_run_variance(values: Values, lags: int) -> float:
    """Variance of a dependent series whose mean is taken, times its length, never negative.

    Source: Newey and West 1987, doi:10.2307/1913610.
    """
    count = len(values)
    centred = values - values.mean()
    variance = float(centred @ centred) / count
    for lag in range(1, lags + 1):
        weight = 1 - lag / (lags + 1)
        variance += 2 * weight * float(centred[lag:] @ centred[:-lag]) / count
    return max(variance, 0.0)


def block_bootstrap(
    differences: Values, overlap: int = 1, *, resamples: int = 2000, seed: int = 0
) -> PairedTest:
    """The same question by resampling blocks of neighbouring cutoffs (Kuensch 1989).

    Args:
        differences: As in :func:`diebold_mariano`, [N].
        overlap: As there; blocks are at least so long, and at least N to the power 1/3.
        resamples: How many.
        seed: Of the blocks.

    Raises:
        TooFewRows: As in :func:`diebold_mariano`.
    """
    count = len(differences)
    if count < max(FEWEST, 2 * overlap):
        raise TooFewRows(f"{count} cutoffs are too few; use at least {max(FEWEST, 2 * overlap)}")
    length = max(overlap, math.ceil(count ** (1 / 3)))
    generator = np.random.default_rng(seed)
    firsts = generator.integers(0, count, (resamples, -(-count // length)))
    # Blocks run on round the end, so that every difference is drawn equally often.
    places = (firsts[:, :, None] + np.arange(length)).reshape(resamples, -1)[:, :count] % count
    means = differences[places].mean(axis=1)
    mean = float(differences.mean())
    low, high = np.percentile(means, [(100 - LEVEL) / 2, (100 + LEVEL) / 2]).tolist()
    beyond = int((np.abs(means - mean) >= abs(mean)).sum())
    return PairedTest(mean, low, high, (beyond + 1) / (resamples + 1), count, length - 1)


def cutoff_losses(
    result: Backtest, loss: Loss = "absolute", *, season: int = 1
) -> tuple[Steps, dict[str, Values]]:
    """Mean loss of every model at every cutoff, over the scale of each series at that time.

    Args:
        result: A backtest.
        loss: ``absolute`` errors over the naive scale (as MASE), or ``squared`` over its square.
        season: Rows in a season, for the scale.

    Returns:
        Cutoffs [N], and alias -> losses [N]. Windows without a scale are left out.
    """
    if loss not in get_args(Loss):
        raise SettingError(f"loss {loss!r} is not one of {', '.join(get_args(Loss))}")
    scale = naive_scale(result.panel, result.origins, season)
    judged = np.flatnonzero(scale > 0)
    if not len(judged):
        raise TooFewRows(
            f"no window follows a history that moves from season to season of {season}; nothing "
            "can be compared"
        )
    cutoffs, place = np.unique(result.origins.steps[judged], return_inverse=True)
    power = 1 if loss == "absolute" else 2
    losses = {}
    for alias, forecast in result.forecasts.items():
        error = np.abs(forecast.mean - result.truth)[judged] / scale[judged, None]
        each = (error**power).mean(axis=1)
        losses[alias] = np.bincount(place, each) / np.bincount(place)
    return cutoffs, losses


def explanation_price(
    result: Backtest, model: str | None = None, *, loss: Loss = "absolute", season: int = 1
) -> pl.DataFrame:
    """What the model that explains itself costs against each of the others.

    Args:
        result: A backtest of at least two models and 8 cutoffs.
        model: Alias of the model that explains; None for the first retrieval forecaster.
        loss: As in :func:`cutoff_losses`.
        season: As there.

    Returns:
        One row a rival, the best rival first: ``model, rival, price`` (difference of mean losses
        in percent of the rival's; negative when the explanation is better), ``low`` and ``high``
        (95 % interval, in the same percent), ``p_value``, ``verdict`` and ``cutoffs``.

    Raises:
        SettingError: There is no such model, or no other.
        TooFewRows: Too few cutoffs.
    """
    name = _explaining(result) if model is None else model
    if name not in result.forecasts or len(result.forecasts) < 2:
        raise SettingError(
            f"the price of {name!r} needs it and another model in the backtest, found "
            f"{', '.join(result.forecasts)}"
        )
    cutoffs, losses = cutoff_losses(result, loss, season=season)
    overlap = _overlap(cutoffs, result.horizon)
    rows = []
    for rival in sorted(set(losses) - {name}, key=lambda alias: float(losses[alias].mean())):
        test = diebold_mariano(losses[name] - losses[rival], overlap)
        unit = 100 / (float(losses[rival].mean()) or 1.0)
        rows.append(
            {
                "model": name,
                "rival": rival,
                "price": unit * test.difference,
                "low": unit * test.low,
                "high": unit * test.high,
                "p_value": test.p_value,
                "verdict": test.verdict,
                "cutoffs": test.count,
            }
        )
    return pl.DataFrame(rows)


def _explaining(result: Backtest) -> str:
    for alias, model in result.models.items():
        if model.family == "retrieval":
            return alias
    raise SettingError(
        f"no model of this backtest explains itself by retrieval ({', '.join(result.models)}); "
        "pass model="
    )


def _overlap(cutoffs: Steps, horizon: int) -> int:
    """How many neighbouring cutoffs forecast some of the same rows."""
    if len(cutoffs) < 2:
        return 1
    return -(-horizon // int(np.diff(cutoffs).min()))
