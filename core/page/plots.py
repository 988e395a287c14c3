"""The house style for plots: quiet axes, few lines, colours that follow the page.

A size in, a matplotlib figure and its axes out, ready for :func:`figure_svg`. Only the object
interface is used, so drawing leaves no global state behind and works in any thread.
"""

from __future__ import annotations

import io

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from .palette import INK, MUTED, RULE, SERIES
from .svg import settle_svg

PAGE_WIDTH = 7.6
HALF_WIDTH = 3.6
"""Inches of the page's column and of a half of it, so that type in plots keeps its size."""


def new_drawing(
    height: float = 2.8, *, width: float = PAGE_WIDTH, rows: int = 1, columns: int = 1
) -> tuple[Drawing, list[Axes]]:
    """Open a figure in the house style.

    Args:
        height: Inches of the whole figure.
        width: Inches; ``HALF_WIDTH`` for a drawing that stands in two columns.
        rows: Panels below each other; they share the x axis.
        columns: Panels beside each other; they share the y axis.

    Returns:
        The figure and its ``rows * columns`` axes, row by row.
    """
    drawing = Drawing(figsize=(width, height), layout="constrained")
    grid = drawing.subplots(rows, columns, squeeze=False, sharex="col", sharey="row")
    panels = [axes for line in grid for axes in line]
    for axes in panels:
        style_axes(axes)
    return drawing, panels


def style_axes(axes: Axes) -> None:
    """Bring axes into the house style: a muted grid behind, no box, series colours in order."""
    axes.set_facecolor("none")
    axes.set_axisbelow(True)
    axes.set_prop_cycle(cycler(color=[colour.light for colour in SERIES]))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(RULE.light)
    axes.grid(axis="y", color=RULE.light, linewidth=0.7)
    axes.tick_params(length=0, labelsize=8.5, labelcolor=MUTED.light, pad=5)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set(color=MUTED.light, size=8.5)


def figure_svg(drawing: Drawing) -> str:
    """Write a matplotlib figure as one ``<svg>`` element for a page.

    Args:
        drawing: A figure of the object interface; pyplot and its global state are not needed.

    Returns:
        The element: no date, no fixed size, no outside reference, text as text. Equal figures give
        equal bytes.
    """
    document = io.StringIO()
    undated = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with mpl.rc_context({"svg.hashsalt": "likewise", "svg.fonttype": "none"}):
        drawing.savefig(document, format="svg", metadata=undated, transparent=True)
    return settle_svg(document.getvalue())


def title_panel(axes: Axes, title: str) -> None:
    """Name a panel, small and flush left; names come from data, so ``$`` starts no formula."""
    axes.set_title(title, loc="left", size=9.5, color=INK.light, parse_math=False)


def add_legend(axes: Axes) -> None:
    """Name the labelled lines in a row above the panel, boxless; ``$`` starts no formula."""
    entries = len(axes.get_legend_handles_labels()[1])
    legend = axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=entries,
        frameon=False,
        fontsize=8.5,
        labelcolor=MUTED.light,
        borderaxespad=0.2,
        handlelength=1.4,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
