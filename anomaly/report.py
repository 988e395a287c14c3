"""Pages about alerts: what alerted, why, and what could not have alerted.

In: alerts with their evidence, thresholds and registers. Out: blocks for a page. Nothing is
computed here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core import (
    INK,
    MUTED,
    SERIES,
    Block,
    Figure,
    Heading,
    KeyValues,
    Note,
    Table,
    Text,
    add_legend,
    figure_svg,
    new_drawing,
    title_panel,
)
from .blindspots import Register
from .detector import NeighbourDetector
from .evidence import Alert
from .matrix import register_blocks
from .threshold import NOT_A_PROBABILITY, Threshold
from .window_evidence import WindowAlert

SHOWN_ALERTS = 10


def threshold_blocks(threshold: Threshold, *, stale: str = "") -> list[Block]:
    """Say what the threshold is, how it was set and what it means."""
    low, high = threshold.interval
    blocks: list[Block] = [
        KeyValues(
            [
                ("threshold", threshold.value),
                ("false alarms asked for", f"{threshold.false_alarm_rate:.2%} of normal rows"),
                ("held-out normal scores behind it", threshold.calibrated_on),
                ("realised rate, 95 % interval", f"{low:.2%} to {high:.2%}"),
            ]
        ),
        Note(NOT_A_PROBABILITY),
    ]
    if stale:
        blocks.append(Note(f"The threshold is stale: {stale}. Recalibrate it.", tone="warning"))
    return blocks


def alert_table(alerts: Sequence[Alert]) -> Table:
    """List alerts, strangest first, with the nearest normal row and the columns that differ."""
    ordered = sorted(alerts, key=lambda alert: -alert.score)[:SHOWN_ALERTS]
    rows = []
    for alert in ordered:
        nearest = alert.neighbours[0]
        differs = "; ".join(
            f"{one.column} {one.value:.4g} (usual {one.usual:.4g})" for one in alert.differences[:3]
        )
        rows.append([alert.row, alert.score, alert.margin, nearest.id, nearest.own_score, differs])
    return Table(
        ["row", "score", "above threshold", "nearest normal", "its own score", "differs most in"],
        rows,
        caption=f"{len(ordered)} of {len(alerts)} alerts, strangest first",
    )


def alert_figure(alert: Alert) -> Figure:
    """Draw the columns in which a row differs most from its nearest normal rows."""
    names = [one.column for one in alert.differences][::-1]
    spreads = [one.spreads for one in alert.differences][::-1]
    drawing, (axes,) = new_drawing(0.6 + 0.32 * max(len(names), 1))
    axes.barh(range(len(names)), spreads, height=0.55, color=SERIES[1].light)
    axes.set_yticks(range(len(names)), names)
    axes.axvline(0, color=INK.light, linewidth=0.8)
    axes.set_xlabel("standard deviations from the mean of its nearest normal rows")
    axes.grid(visible=False)
    return Figure(
        figure_svg(drawing),
        f"Row {alert.row} scores {alert.score:.2f}, {alert.margin:+.2f} beside the threshold.",
        f"Bars: the columns in which row {alert.row} differs most.",
    )


def window_figure(alert: WindowAlert, channels: Sequence[str], label: str) -> Figure:
    """Draw a window over its nearest normal windows, in the channels that are strangest."""
    differing = dict.fromkeys(one.channel for one in alert.differences)
    shown = list(alert.channels or differing)[:3] or [channels[0]]
    drawing, panels = new_drawing(0.5 + 1.7 * len(shown), rows=len(shown))
    steps = np.arange(-len(alert.values) + 1, 1)
    for axes, name in zip(panels, shown, strict=True):
        channel = list(channels).index(name)
        for number, normal in enumerate(alert.neighbours):
            axes.plot(
                steps, normal.values[:, channel], color=MUTED.light, linewidth=1.0, alpha=0.7,
                label="nearest normal windows" if number == 0 else None,
            )  # fmt: skip
        axes.plot(
            steps, alert.values[:, channel], color=SERIES[1].light, linewidth=1.8, label=label
        )
        title_panel(axes, "")
        axes.set_ylabel(name)
        add_legend(axes)
    panels[-1].set_xlabel("steps before the alert")
    parts = ", ".join(f"{name} {value:.1f}" for name, value in alert.parts.items())
    return Figure(
        figure_svg(drawing),
        f"{label}: score {alert.score:.1f}, {alert.margin:+.1f} beside the threshold. "
        f"In normal spreads: {parts}.",
        f"The window that alerted over its {len(alert.neighbours)} nearest normal windows.",
    )


def unmeasured_note() -> Note:
    """Say that nobody measured what the detector cannot see."""
    return Note(
        "No register was measured for this detector, so nothing is known about what it cannot see.",
        title="Blind spots",
        tone="warning",
    )


def register_or_note(register: Register | None) -> list[Block]:
    """Give the register's blocks, or a note that there is none."""
    return [unmeasured_note()] if register is None else register_blocks(register)


def row_report(detector: NeighbourDetector, alerts: Sequence[Alert], scored: int) -> list[Block]:
    """Lay out a page about scored rows: threshold, alerts, evidence, suspects, register."""
    blocks: list[Block] = [
        Text(
            f"{len(alerts)} of {scored} rows alert, beside {len(detector.reference_)} verified-"
            f"normal rows. The learned distance counts {detector.trust_.weight:g}: "
            f"{detector.trust_.reason}."
        ),
        *threshold_blocks(detector.calibration_, stale=detector.stale_),
        Heading("Alerts"),
    ]
    if alerts:
        blocks.append(alert_table(alerts))
        strangest = sorted(alerts, key=lambda alert: -alert.score)[:3]
        blocks += [alert_figure(alert) for alert in strangest]
    else:
        blocks.append(Text("No row alerts."))
    if detector.suspects_:
        blocks += [
            Heading("Fitted rows to review"),
            Text(
                "These rows were given as normal and look abnormal among them: alone (crowd 1), or "
                "beyond a crowd of rows that may be like them."
            ),
            Table(
                ["id", "score", "times the usual", "crowd"],
                [
                    [s.id, s.score, s.times_usual, s.crowd]
                    for s in detector.suspects_[:SHOWN_ALERTS]
                ],
            ),
        ]
    return [*blocks, *register_or_note(detector.register_)]
