"""Evaluation: what exported candidates found, for whom, and from which part of the catalogue.

In: candidates as they were exported, the events to be found and the events that were known. Out:
:class:`Evaluation`: one row a user, and the table a reader should see first, with head, torso and
tail beside the average. All items compete (no sampled ranking) and every number lies in [0, 1].
A measure that knows only the lists belongs to ``spread.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import SettingError, TooFewRows
from .bootstrap import Interval, bootstrap_difference, bootstrap_mean
from .events import Events, read_events
from .exported import read_candidates
from .spread import Spread, measure_spread
from .strata import STRATA, item_strata


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What candidates found.

    Attributes:
        k: The ranker's K: the first k candidates count.
        users: One row a test user: ``user_id, relevant, hits, recall`` (hits / relevant),
            ``capped_recall`` (hits / min(relevant, k)), ``ndcg``, ``filled`` (candidates / k), and
            ``recall_head`` … ``recall_cold`` (null where the user has nothing to be found there).
        spread: Coverage, Gini and bestseller overlap of the lists.
        unknown_share: Share of the events to be found whose item was never known; they count as
            misses unless a candidate names them.
        repeated_share: Share of candidates that the user already took in training.
    """

    k: int
    users: pl.DataFrame
    spread: Spread
    unknown_share: float
    repeated_share: float

    def mean(self, measure: str) -> float:
        """Average a column of ``users`` over the users for whom it is defined."""
        return float(self.values(measure).mean()) if len(self.values(measure)) else float("nan")

    def interval(self, measure: str = "recall", *, seed: int = 0) -> Interval:
        """Bound the mean of a column of ``users`` by bootstrap over users."""
        return bootstrap_mean(self.values(measure), seed=seed)

    def values(self, measure: str) -> NDArray[np.float64]:
        """Give a column of ``users`` without its nulls."""
        if measure not in self.users.columns:
            known = ", ".join(self.users.columns[1:])
            raise SettingError(f"there is no measure {measure!r}; there are {known}")
        return self.users[measure].drop_nulls().cast(pl.Float64).to_numpy()

    @cached_property
    def summary(self) -> dict[str, float]:
        """The numbers of one row of a comparison, by name."""
        measures = ("recall", "capped_recall", "ndcg", *(f"recall_{name}" for name in STRATA))
        return {
            **{name: self.mean(name) for name in measures},
            "coverage": self.spread.coverage,
            "gini": self.spread.gini,
            "bestseller_overlap": self.spread.bestseller_overlap,
            "fill_rate": self.mean("filled"),
        }


def evaluate(candidates: Any, test: Events, *, train: Events, k: int = 100) -> Evaluation:
    """Judge candidates by what users took next.

    Args:
        candidates: Parquet file, folder of shards, or table; see
            :func:`~likewise.recsys.read_candidates`.
        test: Events to be found. Users without candidates count with a recall of 0.
        train: Events that were known; they make the strata, the bestsellers and the catalogue.
        k: How many candidates a user's ranker looks at.

    Returns:
        The evaluation. Recall is hits / relevant; the capped one (hits / min(relevant, k), what
        some call precision) stands beside it under its own name. NDCG is binary, log2.

    Raises:
        SettingError: k below 1.
        TooFewRows: Nothing is to be found.
    """
    if k < 1:
        raise SettingError(f"k is {k}, but at least one candidate must count")
    known = read_events(train).unique(["user_id", "item_id"], maintain_order=True)
    wanted = read_events(test).select("user_id", "item_id").unique(maintain_order=True)
    if len(wanted) == 0:
        raise TooFewRows("the test part holds no event, so nothing can be found; check the split")
    listed = read_candidates(candidates).filter(pl.col("rank") <= k)
    strata = item_strata(known)
    wanted = wanted.join(strata, on="item_id", how="left", maintain_order="left").with_columns(
        pl.col("stratum").fill_null("cold")
    )
    found = wanted.join(listed, on=["user_id", "item_id"], how="left", maintain_order="left")
    filled = listed.group_by("user_id").agg(filled=pl.len() / k)
    users = _per_user(found, k).join(filled, on="user_id", how="left", maintain_order="left")
    repeated = listed.join(known, on=["user_id", "item_id"], how="semi")
    return Evaluation(
        k=k,
        users=users.with_columns(pl.col("filled").fill_null(0.0)),
        spread=measure_spread(listed, strata, k=k),
        unknown_share=int((wanted["stratum"] == "cold").sum()) / len(wanted),
        repeated_share=len(repeated) / max(len(listed), 1),
    )


def compare(
    ours: Evaluation, theirs: Evaluation, measure: str = "recall", *, seed: int = 0
) -> Interval:
    """Bound the difference of two evaluations on the users both were judged on.

    Args:
        ours: An evaluation.
        theirs: Another one with the same k.
        measure: A column of ``users``.
        seed: Seed of the bootstrap.

    Returns:
        The mean of ours minus theirs, user by user, with its interval.
    """
    if ours.k != theirs.k:
        raise SettingError(f"one evaluation counts {ours.k} candidates, the other {theirs.k}")
    both = ours.users.select("user_id", ours=measure).join(
        theirs.users.select("user_id", theirs=measure), on="user_id", maintain_order="left"
    )
    pairs = both.drop_nulls().select(pl.col("ours", "theirs").cast(pl.Float64))
    return bootstrap_difference(pairs["ours"].to_numpy(), pairs["theirs"].to_numpy(), seed=seed)


def recall_by_source(candidates: Any, test: Events, *, k: int = 100) -> pl.DataFrame:
    """Tell how much of the recall each source brought.

    Args:
        candidates: Candidates with a ``source``.
        test: Events to be found.
        k: How many candidates count.

    Returns:
        ``source, candidates, hits, recall_share``, where the shares add up to the recall of the
        union over all events to be found.
    """
    listed = read_candidates(candidates).filter(pl.col("rank") <= k)
    wanted = read_events(test).select("user_id", "item_id").unique(maintain_order=True)
    hit = listed.join(wanted, on=["user_id", "item_id"], how="semi")
    counted = listed.group_by("source").agg(candidates=pl.len())
    hits = hit.group_by("source").agg(hits=pl.len())
    return (
        counted.join(hits, on="source", how="left")
        .with_columns(pl.col("hits").fill_null(0))
        .with_columns(recall_share=pl.col("hits") / len(wanted))
        .sort("hits", "source", descending=[True, False])
    )


def agreement(candidates: Any, exact: Any, *, k: int = 100) -> float:
    """Tell which share of the exact candidates another list holds, after all filters.

    Args:
        candidates: Those of an approximate index.
        exact: Those of the exact one, for the same users.
        k: How many count.

    Returns:
        A share in [0, 1]; 1 minus it is the recall lost to the approximation.
    """
    truth = read_candidates(exact).filter(pl.col("rank") <= k)
    given = read_candidates(candidates).filter(pl.col("rank") <= k)
    if len(truth) == 0:
        raise TooFewRows("the exact answer is empty, so nothing can be compared with it")
    return len(truth.join(given, on=["user_id", "item_id"], how="semi")) / len(truth)


def _per_user(found: pl.DataFrame, k: int) -> pl.DataFrame:
    hit = pl.col("rank").is_not_null()
    gain = (1.0 / (pl.col("rank") + 1).log(2)).fill_null(0.0)
    strata = [
        pl.when((pl.col("stratum") == name).any())
        .then(hit.filter(pl.col("stratum") == name).mean())
        .alias(f"recall_{name}")
        for name in STRATA
    ]
    users = found.group_by("user_id", maintain_order=True).agg(
        *strata, relevant=pl.len(), hits=hit.sum(), recall=hit.mean(), gain=gain.sum()
    )
    ideal = ideal_gains(int(users["relevant"].max()), k)  # type: ignore[arg-type]
    relevant = users["relevant"].to_numpy()
    return users.with_columns(
        capped_recall=pl.col("hits") / pl.Series(np.minimum(relevant, k)),
        ndcg=(pl.col("gain") / pl.Series(ideal[relevant])).clip(0.0, 1.0),
    ).drop("gain")


def ideal_gains(most: int, k: int) -> NDArray[np.float64]:
    """Give the gain of a perfect list for 0 … ``most`` relevant items, [most + 1]."""
    places = np.arange(most)
    gains = np.where(places < k, 1.0 / np.log2(places + 2.0), 0.0)
    return np.concatenate([[0.0], np.cumsum(gains)])
