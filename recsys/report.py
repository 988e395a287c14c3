"""Report blocks: evaluations as tables a reader can weigh.

In: evaluations by name. Out: blocks for a page. The average stands first and the parts it hides
right beside it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..core import Table
from .evaluation import Evaluation

COLUMNS = {
    "recall": "recall",
    "ndcg": "NDCG",
    "recall_head": "head",
    "recall_torso": "torso",
    "recall_tail": "tail",
    "coverage": "coverage",
    "gini": "Gini",
    "bestseller_overlap": "bestsellers",
}
"""Measure to the heading it stands under."""


def evaluation_table(judged: Mapping[str, Evaluation], *, k: int) -> Table:
    """Set evaluations beside each other, one a row.

    Args:
        judged: Name to evaluation, all at the same k.
        k: For the caption.
    """
    rows = [[name, *(one.summary[measure] for measure in COLUMNS)] for name, one in judged.items()]
    best = {COLUMNS[name]: "higher" for name in COLUMNS if name.startswith(("recall", "ndcg"))}
    return Table(
        ["candidates by", *COLUMNS.values()],
        rows,
        caption=f"At {k} candidates a user, all items competing; recall is found / to be found",
        best=best | {"coverage": "higher", "bestsellers": "lower"},  # type: ignore[arg-type]
    )
