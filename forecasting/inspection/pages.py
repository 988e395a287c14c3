"""Inspection as blocks of a report page: what a person should look at before trusting a model.

In: a fitted retrieval forecaster. Out: blocks for ``core.Page``: the clock check with its verdict,
the regimes and how stable they are, and neighbours of a few windows, drawn.
"""

from __future__ import annotations

import numpy as np

from ...core import Block, Heading, Note, Table
from ..origins import Origins
from ..report import explanation_blocks
from ..retrieval import RetrievalForecaster
from .clock import ClockCheck
from .regimes import Regimes

EPISODES = 4


def clock_blocks(check: ClockCheck) -> list[Block]:
    """The clock check: a table, and its verdict."""
    rows = [
        [row["unit"], 100 * row["share"], 100 * row["shape"], 100 * row["chance"]]
        for row in check.table.iter_rows(named=True)
    ]
    return [
        Heading("Does the embedding read the clock?", level=2),
        Table(
            ["unit", "of neighbours %", "by shape alone %", "by chance %"],
            rows,
            caption=(
                f"How often one of {check.neighbours} neighbours stands at the same place of the "
                f"calendar, for {check.asked} windows; windows near in time do not count."
            ),
            decimals=1,
        ),
        Note(check.verdict, title="Verdict", tone="plain" if check.ok else "warning"),
    ]


def regime_blocks(regimes: Regimes) -> list[Block]:
    """How many kinds of past there are, and whether the labels hang on the seed."""
    counts = np.bincount(regimes.labels, minlength=len(regimes.centres))
    chosen = len(regimes.centres)
    verdict = (
        f"{chosen} regimes, of "
        + ", ".join(f"{share:.0%}" for share in counts / counts.sum())
        + " of all windows; "
        + ("the labels hardly depend" if regimes.stable else "the labels depend")
        + f" on the seed (adjusted Rand index {regimes.stability:.2f})"
    )
    return [
        Heading("Regimes", level=2),
        Table(
            ["regimes", "stability"],
            regimes.trials.rows(),
            caption="Mean adjusted Rand index between runs of k-means from different seeds.",
            decimals=2,
            highlight=[regimes.trials["regimes"].to_list().index(chosen)],
        ),
        Note(verdict, title="Verdict", tone="plain" if regimes.stable else "warning"),
    ]


def neighbour_blocks(model: RetrievalForecaster, pages: int = 4) -> list[Block]:
    """A few windows, spread over history, each with the episodes its forecast is made of.

    Args:
        model: Fitted.
        pages: How many windows.
    """
    windows = model.index_.windows
    # From the second half on: the first windows have hardly a past to be reminded of.
    rows = np.unique(np.linspace(len(windows) // 2, len(windows) - 1, pages).astype(np.int64))
    blocks: list[Block] = []
    for row in rows:
        one = np.array([row])
        origin = Origins(windows.series_of(one), windows.origin_steps(one))
        explanation = model.explain_at(model.panel_, origin, episodes=EPISODES)
        blocks += explanation_blocks(explanation, windows.futures(one)[0])
    return blocks
