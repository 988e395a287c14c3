"""The mining audit as blocks of a page, for reading by eye.

In: the report that :meth:`MiningAudit.to_dict` gives, fresh or out of a bundle. Out: blocks: the
counts, the reasons for which candidates were dropped, and the sampled pairs, the nearest negatives
first, since that is where false ones hide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..page.blocks import Block, Heading, KeyValues, Table

REPORT = "mining"
"""Under this name a bundle keeps the audit."""


def audit_blocks(report: Mapping[str, Any]) -> list[Block]:
    """Lay out an audit.

    Args:
        report: What :meth:`MiningAudit.to_dict` gave.

    Returns:
        A heading, the facts, the reasons, and the sampled pairs.
    """
    short = [missing for missing in report["shortage"] if missing]
    facts = KeyValues(
        [
            ("anchors", report["anchors"]),
            ("negatives asked for", report["requested"]),
            ("negatives found", report["mined"]),
            ("anchors that fell short", len(short)),
            ("candidates looked at", report["looked_at"]),
            ("share dropped as something already there", report["duplicate_share"]),
            ("share that is another anchor's positive", report["others_positive_share"]),
            ("mean margin to the positive", report["mean_margin"]),
        ]
    )
    dropped: Mapping[str, int] = report["dropped"]
    reasons = Table(
        ["dropped because it", "candidates"],
        [[reason, dropped[reason]] for reason in sorted(dropped, key=dropped.__getitem__)][::-1],
        caption="A candidate counts once, for the first reason that applies.",
    )
    nearest = sorted(report["pairs"], key=lambda pair: -pair["negative_similarity"])
    names = ["anchor", "positive", "negative", "positive_similarity", "negative_similarity"]
    pairs = Table(
        [name.replace("_", " ") for name in names],
        [[pair[name] for name in names] for pair in nearest],
        caption="A random sample of what was mined, the nearest negatives first.",
    )
    return [Heading("What was mined", level=2), facts, reasons, pairs]
