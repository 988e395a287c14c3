"""A report page holds anything data can hold, refers to nothing outside, and repeats itself."""

from __future__ import annotations

import datetime as dt
import html.parser
import re
import typing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import (
    Block,
    Columns,
    Figure,
    Heading,
    InputError,
    KeyValues,
    Note,
    Page,
    SettingError,
    ShapeError,
    Table,
    Text,
    add_legend,
    check_svg,
    figure_svg,
    new_drawing,
    title_panel,
)

SQUARE = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h1v1z"/></svg>'
HOSTILE = "\"><script>alert('x')</script><img src=x onerror=alert(1)>`<b>`&amp;--!>$_$"


def draw(label: str = "observed", shift: float = 0.0) -> str:
    drawing, (axes,) = new_drawing(3.0)
    axes.plot(np.arange(5), np.arange(5) + shift, marker="o", label=label)
    axes.fill_between(np.arange(5), np.zeros(5), np.ones(5), alpha=0.2, hatch="//")
    title_panel(axes, label)
    add_legend(axes)
    return figure_svg(drawing)


def every_block(text: str) -> list[Block]:
    return [
        Heading(text, level=1),
        Heading(text, level=3),
        Text(text),
        Note(text, title=text, tone="warning"),
        KeyValues([(text, text)]),
        Figure(draw(text), caption=text, alt=text),
        Table([text, "n"], [[text, 1], [text, 2]], caption=text, best={"n": "lower"}),
        Columns([Text(text), Table([text], [[text]])]),
    ]


class Reader(html.parser.HTMLParser):
    """Collects the tags and attributes a browser would see."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_every_kind_of_block_is_drawn() -> None:
    kinds = {block.kind for block in every_block("fine")}
    assert kinds == {block.kind for block in typing.get_args(Block)}
    assert Page("A page").add(*every_block("fine")).html().count("fine") >= len(kinds)


def test_hostile_text_stays_text_in_every_block() -> None:
    tame = Reader(Page("x", "x").add(*every_block("x")).html())
    seen = Reader(Page(HOSTILE, HOSTILE).add(*every_block(HOSTILE)).html())
    assert set(seen.tags) - set(tame.tags) <= {"code"}  # backticks set code, by design
    assert "script" not in seen.tags
    assert "img" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on")]


@settings(deadline=None)  # the first example pays for the template
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=60))
def test_any_text_is_read_back_as_it_was_written(text: str) -> None:
    seen = Reader(Page("title").add(Table(["cell"], [[text]])).html())
    assert text in seen.texts or text == ""


def test_a_page_refers_to_nothing_outside_itself() -> None:
    page = Page("A page", "whole").add(*every_block("fine")).html()
    assert re.findall(r'(?<!xmlns=")https?://', page) == []
    assert re.findall(r"@import|url\((?!#)|src=", page) == []
    assert not {"script", "link", "iframe", "object", "base"} & set(Reader(page).tags)
    assert "default-src 'none'" in page


def test_the_same_blocks_give_the_same_bytes(tmp_path: Path) -> None:
    first = Page("A page").add(*every_block("fine")).write(tmp_path / "new" / "a.html")
    second = Page("A page").add(*every_block("fine")).write(tmp_path / "b.html")
    assert first == tmp_path / "new" / "a.html"
    assert first.read_bytes() == second.read_bytes()


def test_ids_are_unique_and_every_inner_reference_finds_its_id() -> None:
    figures = [Figure(draw("one"), "", ""), Figure(draw("two", shift=1.0), "", "")]
    headings = [Heading("First chapter", level=1), Heading("Second", level=1)]
    page = Page("A page").add(*headings, *figures).html()
    ids = [value for name, value in Reader(page).attributes if name == "id"]
    used = re.findall(r'(?:href="|url\()#([^")]+)', page)
    assert len(ids) == len(set(ids))
    assert set(used) <= set(ids)
    assert {"first-chapter", "second"} <= set(used)


def test_one_chapter_needs_no_contents() -> None:
    assert "<nav" not in Page("A page").add(Heading("Only", level=1)).html()


def test_the_same_drawing_gives_the_same_svg_without_a_date() -> None:
    assert draw() == draw()
    assert draw() != draw(shift=1.0)
    assert not re.search(r"\d{4}-\d{2}-\d{2}|Matplotlib", draw())


def test_a_drawing_leaves_its_colours_and_type_to_the_page() -> None:
    svg = draw()
    assert svg.startswith("<svg")
    assert "var(--series-1, #" in svg
    assert ">observed</text>" in svg
    assert not re.search(r"<style|<!--|<\?xml|<!DOCTYPE|xlink", svg)


def test_both_grounds_define_every_colour_a_drawing_asks_for() -> None:
    page = Page("A page").add(Figure(draw(), "", "")).html()
    asked = set(re.findall(r"var\((--[\w-]+)", page))
    light, dark = re.findall(r":root \{(.*?)\}", page, flags=re.DOTALL)[:2]
    for name in asked & set(re.findall(r"--[\w-]+(?=:)", light)):
        assert f"{name}:" in dark
    assert {"--series-1", "--ink", "--muted", "--rule"} <= asked


@pytest.mark.parametrize(
    ("svg", "named"),
    [
        ("<svg><script>1</script></svg>", "script"),
        ("<svg><g onclick='1'/></svg>", "onclick"),
        ("<svg><image href='http://a.b/c.png'/></svg>", "href"),
        ("<svg><use href='other.svg#a'/></svg>", "href"),
        ("<svg><rect style='fill: url(http://a.b)'/></svg>", "style"),
        ("<svg><style>*{fill:red}</style></svg>", "style"),
        ("<svg><foreignObject/></svg>", "foreignobject"),
        ("<svg><desc><!--</desc>--></desc></svg>", "comment"),
        ("<!DOCTYPE svg><svg/>", "prologue"),
        ("<div/>", "div"),
        ("<svg>", "well-formed"),
        ("", "well-formed"),
    ],
)
def test_a_drawing_that_could_do_more_than_be_seen_is_refused(svg: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        Figure(svg, caption="", alt="")


def test_all_faults_of_a_drawing_are_told_at_once() -> None:
    with pytest.raises(InputError, match=r"(?s)script.*onload"):
        check_svg("<svg><script/><g onload='1'/></svg>")
    check_svg(SQUARE)


def test_the_best_cells_are_marked_and_a_missing_value_never_is() -> None:
    nan = float("nan")
    table = Table(
        ["model", "error", "share"],
        [["a", 0.5001, nan], ["b", 0.5004, 0.1], ["c", nan, None], ["d", 2.0, 0.9]],
        best={"error": "lower", "share": "higher"},
    )
    assert table.winners == {(0, 1), (1, 1), (3, 2)}
    assert table.numeric == [False, True, True]
    assert table.shown[2] == ["c", "–", "–"]
    page = Page("A page").add(table).html()
    assert page.count("<strong>") == 3
    assert "nan" not in page.lower().split("<main>")[1]


def test_a_column_of_nothing_has_no_best_cell() -> None:
    assert Table(["a"], [[None], [float("nan")]], best={"a": "lower"}).winners == set()
    assert Table(["a"], [], best={"a": "lower"}).as_text() == "a\n--"


def test_a_row_of_another_width_is_refused() -> None:
    with pytest.raises(ShapeError, match="row 1 has 1 cells"):
        Table(["a", "b"], [[1, 2], [3]])


def test_a_name_the_table_lacks_is_refused() -> None:
    with pytest.raises(SettingError, match=r"(?s)no column 'c'.*no column 'd'.*no row 2"):
        Table(["a"], [[1]], best={"c": "lower"}, decimals={"d": 1}, highlight=[2])


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (np.float32(0.25), "0.250"),
        (np.int64(2026), "2026"),
        (1_234_567, "1,234,567"),
        (12345.678, "12,345.678"),
        (-4e-7, "-4.000e-07"),
        (0.0, "0.000"),
        (float("inf"), "∞"),
        (np.True_, "yes"),
        (dt.date(2026, 2, 1), "2026-02-01"),
        (dt.datetime(2026, 2, 1), "2026-02-01"),
        (dt.datetime(2026, 2, 1, 3, 30), "2026-02-01 03:30"),
        (np.float64("nan"), "–"),
    ],
)
def test_a_value_reads_as_a_reader_expects(cell: object, shown: str) -> None:
    assert Table(["a"], [[cell]]).shown == [[shown]]
