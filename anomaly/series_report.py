"""Pages about alerts in series: when, how strange, over which normal windows, and what is missed.

In: a judged frame with its evidence. Out: a table for a terminal and blocks for a page. Nothing is
computed here.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core import Block, Heading, Table, Text
from .report import register_or_note, threshold_blocks, window_figure
from .series import SeriesDetector
from .series_alerts import JudgedFrame, SeriesAlert

SHOWN_ALERTS = 10
SHOWN_FIGURES = 3


def series_alert_table(alerts: Sequence[SeriesAlert], shown: int = SHOWN_ALERTS) -> Table:
    """List alerts, strangest first, with the parts that spoke and the channels they spoke of."""
    rows = []
    for alert in alerts[:shown]:
        parts, channels, differs = None, None, None
        if alert.evidence is not None:
            told = sorted(alert.evidence.parts.items(), key=lambda pair: -pair[1])
            parts = ", ".join(f"{name} {value:.1f}" for name, value in told[:2])
            channels = ", ".join(list(alert.evidence.channels)[:3]) or None
            if alert.evidence.differences:
                most = alert.evidence.differences[0]
                differs = f"{most.channel} {most.value:.4g} (usual {most.usual:.4g})"
        rows.append(
            [str(alert.series), str(alert.first), str(alert.last), alert.event.score, parts,
             channels, differs]
        )  # fmt: skip
    return Table(
        [
            "series",
            "from",
            "to",
            "score",
            "in normal spreads",
            "strangest channels",
            "differs most in",
        ],
        rows,
        caption=f"{len(rows)} of {len(alerts)} alerts, strangest first",
    )


def series_report(detector: SeriesDetector, judged: JudgedFrame) -> list[Block]:
    """Lay out a page about scored series: thresholds, alerts, evidence, register."""
    blocks: list[Block] = [
        Text(
            f"{len(judged.alerts)} stretches alert in {judged.steps} steps; {judged.unscored} "
            "steps have no score. Steps less than a window apart are one stretch."
        )
    ]
    for series, fitted in detector.fitted_.items():
        if len(detector.fitted_) > 1:
            blocks.append(Heading(f"Threshold of {series}"))
        blocks += threshold_blocks(fitted.threshold, stale=fitted.stale)
    blocks.append(Heading("Alerts"))
    if judged.alerts:
        blocks.append(series_alert_table(judged.alerts))
        blocks += [
            window_figure(one.evidence, detector.channels_, f"{one.series}, {one.last}")
            for one in judged.alerts[:SHOWN_FIGURES]
            if one.evidence is not None
        ]
    else:
        blocks.append(Text("No stretch alerts."))
    return [*blocks, *register_or_note(detector.register_)]
