"""Exposure: what recall would be, had all items been shown alike.

Users can only take what they were shown, and popular items were shown more. In: exported
candidates, events, and a belief about exposure. Out: recall weighed by inverse propensity (SNIPS),
the same over a range of beliefs, and the effective sample size behind each number. Where logged
propensities exist they are used; where weights leave too few events standing, no number is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import InputError, TooFewRows
from .events import Events, read_events, to_polars
from .exported import read_candidates

LIMITS = (
    "An item that was never shown leaves no event, so no weighting of events can tell how it would "
    "have done. The numbers hold if, given the propensities, taking did not depend on being shown."
)
"""What logged data cannot show, for reports."""


@dataclass(frozen=True, slots=True)
class ExposureRecall:
    """Recall weighed by inverse propensity.

    Attributes:
        exponent: Belief: propensity grows as ``users ** exponent``; None for logged propensities.
        recall: SNIPS estimate in [0, 1].
        effective: Effective sample size, (sum of weights)^2 / sum of squares.
        events: How many events it is over.
    """

    exponent: float | None
    recall: float
    effective: float
    events: int


def snips_recall(
    candidates: Any,
    test: Events,
    *,
    train: Events,
    k: int = 100,
    exponent: float = 0.5,
    propensities: Any = None,
    least_effective: float = 100.0,
) -> ExposureRecall:
    """Estimate recall under equal exposure.

    Args:
        candidates: Exported candidates.
        test: Events to be found.
        train: Events that were known; propensities are estimated from them alone.
        k: How many candidates count.
        exponent: Propensity of an item is ``(users + 1) ** exponent``, up to a constant.
        propensities: Logged ones, ``item_id, propensity`` (or with ``user_id``), each in (0, 1];
            they replace the estimate.
        least_effective: Effective sample size below which no number is given.

    Raises:
        TooFewRows: The effective sample size is below the bound.
        InputError: A propensity outside (0, 1], or none for an event.

    Source: SNIPS (Swaminathan and Joachims 2015); for recommenders Yang et al., RecSys 2018.
    """
    wanted, hit = _outcomes(candidates, test, k)
    if propensities is None:
        weights = _believed(wanted, train) ** -exponent
    else:
        weights = 1.0 / _logged(wanted, propensities)
    result = _weigh(hit, weights, None if propensities is not None else exponent)
    if result.effective < least_effective:
        raise TooFewRows(
            f"the weights leave an effective sample of {result.effective:.0f} of {result.events} "
            f"events, below the bound of {least_effective:.0f}; collect more events, or clip the "
            "propensities and say so"
        )
    return result


def sensitivity_curve(
    candidates: Any,
    test: Events,
    *,
    train: Events,
    k: int = 100,
    exponents: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
) -> list[ExposureRecall]:
    """Give recall for a range of beliefs about exposure; 0 is the plain recall over events.

    The curve itself refuses nothing: read each point with its effective sample size.
    """
    wanted, hit = _outcomes(candidates, test, k)
    popularity = _believed(wanted, train)
    return [_weigh(hit, popularity**-exponent, exponent) for exponent in exponents]


def _outcomes(candidates: Any, test: Events, k: int) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
    wanted = read_events(test).select("user_id", "item_id").unique(maintain_order=True)
    if len(wanted) == 0:
        raise TooFewRows("the test part holds no event, so nothing can be found; check the split")
    listed = read_candidates(candidates).filter(pl.col("rank") <= k)
    found = wanted.join(listed, on=["user_id", "item_id"], how="left", maintain_order="left")
    return wanted, found["rank"].is_not_null().to_numpy()


def _believed(wanted: pl.DataFrame, train: Events) -> NDArray[np.float64]:
    counted = read_events(train).group_by("item_id").agg(users=pl.col("user_id").n_unique())
    joined = wanted.join(counted, on="item_id", how="left", maintain_order="left")
    counts: NDArray[np.float64] = joined["users"].fill_null(0).to_numpy().astype(np.float64) + 1.0
    return counts


def _logged(wanted: pl.DataFrame, propensities: Any) -> NDArray[np.float64]:
    table = to_polars(propensities)
    keys = [name for name in ("user_id", "item_id") if name in table.columns]
    joined = wanted.join(table, on=keys, how="left", maintain_order="left")
    missing = int(joined["propensity"].null_count())
    values: NDArray[np.float64] = joined["propensity"].fill_null(0.0).to_numpy().astype(np.float64)
    bad = ~((values > 0) & (values <= 1))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{int(bad.sum())} events have no propensity in (0, 1] ({missing} have none at all), "
            f"first user {wanted['user_id'][row]!r}, item {wanted['item_id'][row]!r}; log one for "
            "every item shown"
        )
    return values


def _weigh(
    hit: NDArray[np.bool_], weights: NDArray[np.float64], exponent: float | None
) -> ExposureRecall:
    total = weights.sum()
    return ExposureRecall(
        exponent=exponent,
        recall=float((weights * hit).sum() / total),
        effective=float(total**2 / (weights**2).sum()),
        events=len(hit),
    )
