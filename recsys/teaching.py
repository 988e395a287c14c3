"""Teaching: the closed forms tell the tower what else would have been right.

In: sources that need no training, and the histories a tower is trained on. Out: :func:`ask_teacher`
gives what the sources answer to each whole history, once for all epochs; :func:`soften` mixes a
step's answers into what its questions are to find. One half of one history says little about all
that would have fitted; the closed forms, which have seen everybody, say more, and keep the tower
from learning single histories by heart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from ..core import Progress, silent
from .encoder import as_tensor
from .histories import Histories
from .softmax import Targets
from .sources import Blend

_ANSWERS = 100
# The scores of a teacher are spread flat: to the third power, the first answers carry the weight.
_SHARPNESS = 3.0
_CELLS = 1 << 24


def ask_teacher(blend: Blend, histories: Histories, *, progress: Progress = silent) -> Histories:
    """Ask sources for what follows on whole histories.

    Args:
        blend: The sources and their weights.
        histories: U of them.
        progress: Display of the batches.

    Returns:
        One list a history, best first, without the items of the history; its weights add up to 1.
        Empty where no source says anything.
    """
    size = max(1, _CELLS // max(histories.width, 1))
    starts = range(0, len(histories), size)
    parts = [
        _answer(blend, histories.take(slice(start, start + size)))
        for start in progress(starts, "asking the teacher")
    ]
    lengths = np.concatenate([np.zeros(0, dtype=np.int64), *(part.lengths for part in parts)])
    return Histories(
        np.concatenate([np.zeros(0, dtype=np.int64), *(part.items for part in parts)]),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([np.zeros(0, dtype=np.float32), *(part.weights for part in parts)]),
        histories.width,
    )


def soften(targets: Targets, answers: Histories, *, share: float) -> Targets:
    """Give ``share`` of each question's weight to what the teacher answers.

    Args:
        targets: What B questions are to find of their own; columns are item rows.
        answers: The teacher's, one list a question, none of them among the targets.
        share: Between 0 (the question's own targets alone) and 1 (the teacher alone). A question
            without targets of its own goes to the teacher whole, one without answers keeps its own.

    Source: knowledge distillation (arXiv 1503.02531); closed forms as the teacher are ours.
    """
    asked = np.bincount(targets.owners.numpy(), minlength=len(answers)) > 0
    shares = np.where(answers.lengths == 0, 0.0, np.where(asked, share, 1.0)).astype(np.float32)
    kept = targets.weights * torch.from_numpy(1.0 - shares)[targets.owners]
    owners = answers.owners
    return replace(
        targets,
        owners=torch.cat([targets.owners, as_tensor(owners)]),
        columns=torch.cat([targets.columns, as_tensor(answers.items)]),
        weights=torch.cat([kept, torch.from_numpy(answers.weights * shares[owners])]),
    )


def _answer(blend: Blend, histories: Histories) -> Histories:
    def rule_out_known_(scores: NDArray[np.float32]) -> None:
        scores[histories.owners, histories.items] = -np.inf
        scores[scores <= 0] = -np.inf

    ranked = blend.propose(histories, rule_out_known_, _ANSWERS).ranked
    sharp = ranked.scores.astype(np.float64) ** _SHARPNESS
    total = np.bincount(ranked.owners, weights=sharp, minlength=len(histories))
    weights = (sharp / total[ranked.owners]).astype(np.float32)
    return Histories(ranked.items, ranked.offsets, weights, histories.width)
