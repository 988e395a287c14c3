"""The register drawn: kinds of fault down, severities across, a cell the colour of its status.

In: a register. Out: a drawing, a table for a terminal, and the blocks of a page. A reader should
see in one look what an alert list cannot contain.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ..core import (
    INK,
    MUTED,
    RULE,
    SERIES,
    Block,
    Figure,
    Heading,
    Note,
    Table,
    Text,
    figure_svg,
    new_drawing,
)
from .blindspots import Measurement, Register, Status

FILL: dict[Status, str] = {
    "seen": SERIES[2].light,
    "weakened": SERIES[4].light,
    "blind": SERIES[1].light,
    "unmeasured": RULE.light,
}
NAMES = {0: "mild", 1: "medium", 2: "strong"}


def draw_register(register: Register) -> str:
    """Draw a register as a matrix, one SVG element.

    Every cell shows the recall and its 95 % interval; a tick marks the best rival's recall.
    """
    kinds = register.kinds
    columns = max(len(register.of(kind)) for kind in kinds)
    drawing, (axes,) = new_drawing(0.9 + 0.31 * len(kinds))
    for row, kind in enumerate(kinds):
        for column, cell in enumerate(_aligned(register.of(kind), columns)):
            if cell is not None:
                _draw_cell(axes, column, row, cell)
    axes.set_xlim(0, columns)
    axes.set_ylim(len(kinds), 0)
    axes.set_yticks([row + 0.5 for row in range(len(kinds))], kinds)
    axes.set_xticks([c + 0.5 for c in range(columns)], _column_names(columns))
    axes.xaxis.tick_top()
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    axes.legend(
        handles=[
            Rectangle((0, 0), 1, 1, color=FILL[status], alpha=0.55, label=status) for status in FILL
        ],
        loc="upper left",
        bbox_to_anchor=(0, 0),
        ncols=4,
        frameon=False,
        fontsize=8.5,
        labelcolor=MUTED.light,
    )
    return figure_svg(drawing)


def register_table(register: Register) -> Table:
    """Lay a register out as a table, one row a kind and severity."""
    rivals = list(dict.fromkeys(name for m in register.measurements for name in m.rivals))
    rows = []
    for cell in register.measurements:
        low, high = cell.interval
        measured = bool(cell.injections)
        rows.append(
            [
                cell.kind,
                f"{cell.severity:g}" if measured else None,
                cell.status,
                cell.recall if measured else None,
                f"{low:.2f} to {high:.2f}" if measured else None,
                *(
                    cell.rivals[name] / cell.injections if name in cell.rivals else None
                    for name in rivals
                ),
            ]
        )
    return Table(
        ["fault", "severity", "status", "recall", "95 %", *rivals],
        rows,
        caption=(
            f"Recall of {register.measurements[0].injections} injections each, when "
            f"{register.budget:.2%} of {register.held_out} held-out normals may alert"
        ),
        decimals=2,
    )


def invariance_table(register: Register) -> Table:
    """List what the detector ignores and which kinds of fault that may hide."""
    rows = [
        [one.name, one.ignores, ", ".join(one.may_hide) or "none of the measured kinds"]
        for one in register.invariances
    ]
    return Table(["from", "what is ignored", "may hide"], rows, caption="Declared invariances")


def register_blocks(register: Register) -> list[Block]:
    """Lay a register out for a page: the sentence, the drawing, what is ignored, the numbers."""
    return [
        Heading("What it cannot see"),
        Note(register.sentence(), title="Blind spots", tone="warning"),
        Figure(
            draw_register(register),
            "Each cell: share of injected faults found at the alarm budget, with its 95 % "
            "interval. The dark tick is the best rival on the same injections.",
            "Matrix of kinds of fault by severity, coloured by status.",
        ),
        Text(
            "Everything the detector ignores is listed with the faults it may hide; every fault is "
            "injected into normal data that was held out, and counted."
        ),
        invariance_table(register),
        register_table(register),
    ]


def _draw_cell(axes: Axes, column: int, row: int, cell: Measurement) -> None:
    axes.add_patch(
        Rectangle((column + 0.02, row + 0.08), 0.96, 0.84, color=FILL[cell.status], alpha=0.28)
    )
    if not cell.injections:
        axes.text(column + 0.5, row + 0.5, "unmeasured", ha="center", va="center", size=8)
        return
    low, high = cell.interval
    left, width = column + 0.05, 0.55
    axes.plot(
        [left, left + width], [row + 0.5, row + 0.5], color=RULE.light, linewidth=4,
        solid_capstyle="butt",
    )  # fmt: skip
    axes.plot(
        [left + width * low, left + width * high], [row + 0.5, row + 0.5],
        color=FILL[cell.status], linewidth=4, solid_capstyle="butt",
    )  # fmt: skip
    if cell.rivals:
        best = left + width * max(cell.rivals.values()) / cell.injections
        axes.plot([best, best], [row + 0.22, row + 0.78], color=INK.light, linewidth=1.2)
    axes.text(
        column + 0.95, row + 0.5, f"{cell.recall:.0%}", ha="right", va="center", size=8.5,
        color=INK.light,
    )  # fmt: skip


def _aligned(cells: tuple[Measurement, ...], columns: int) -> list[Measurement | None]:
    """Set a kind's severities flush right, so that the last column is always its strongest."""
    return [None] * (columns - len(cells)) + list(cells)


def _column_names(columns: int) -> list[str]:
    if columns == 1:
        return ["strong"]
    return ["mild", "strong"] if columns == 2 else [NAMES.get(i, f"{i}") for i in range(columns)]
