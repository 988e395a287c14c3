"""Teaching: co-occurrence tells the tower what else would have been right.

In: the questions of a step and the co-occurrence source. Out: the same questions with softer
answers: part of the weight goes to the items that co-occurrence ranks first for what was shown. One
half of one history says little about all that would have fitted; the closed form, which has seen
everybody, says more, and keeps the tower from learning single histories by heart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from .cooccurrence import Cooccurrence
from .encoder import as_tensor
from .softmax import Targets

_ANSWERS = 100
_SHARPNESS = (
    2.0  # the teacher's scores are spread flat: squared, the first answers carry the weight
)


def soften(targets: Targets, teacher: Cooccurrence, *, share: float) -> Targets:
    """Give ``share`` of each question's weight to what the teacher answers.

    Args:
        targets: Questions whose ``hidden`` pairs are what was shown; columns are item rows.
        teacher: Co-occurrence of the training histories.
        share: Between 0 (taken items alone) and 1 (the teacher alone).

    Returns:
        Targets whose weights add up to 1 for each history again.

    Source: knowledge distillation (arXiv 1503.02531); co-occurrence as the teacher is ours.
    """
    questions = int(targets.owners.max()) + 1
    width = teacher.links.shape[0]
    shown = sparse.csr_matrix(
        (
            teacher.history_scale[targets.hidden_columns.numpy()],
            (targets.hidden_owners.numpy(), targets.hidden_columns.numpy()),
        ),
        shape=(questions, width),
    )
    owners, columns, weights = _answers((shown @ teacher.links).tocsr(), shown)
    merged = torch.cat([targets.owners, as_tensor(owners)]) * width
    merged += torch.cat([targets.columns, as_tensor(columns)])
    said = torch.from_numpy((share * weights).astype(np.float32))
    keys, place = torch.unique(merged, return_inverse=True)
    total = torch.zeros(len(keys))
    total.index_add_(0, place, torch.cat([(1.0 - share) * targets.weights, said]))
    rows = keys // width
    # A question the teacher cannot answer keeps the weight of its own targets.
    whole = torch.zeros(questions).index_add_(0, rows, total)
    return replace(targets, owners=rows, columns=keys % width, weights=total / whole[rows])


def _answers(
    scores: sparse.csr_matrix, shown: sparse.csr_matrix
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The best new items of each row, and weights that add up to 1 a row."""
    owners, columns, weights = [], [], []
    for row in range(scores.shape[0]):
        part = slice(scores.indptr[row], scores.indptr[row + 1])
        known = shown.indices[shown.indptr[row] : shown.indptr[row + 1]]
        fresh = ~np.isin(scores.indices[part], known)
        values, items = scores.data[part][fresh], scores.indices[part][fresh]
        if len(values) > _ANSWERS:
            best = np.argpartition(-values, _ANSWERS)[:_ANSWERS]
            values, items = values[best], items[best]
        sharp = values.astype(np.float64) ** _SHARPNESS
        if (total := sharp.sum()) > 0:
            owners.append(np.full(len(items), row))
            columns.append(items)
            weights.append(sharp / total)
    none: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    return (
        np.concatenate(owners + none),
        np.concatenate(columns + none).astype(np.int64),
        np.concatenate([*weights, np.zeros(0)]),
    )
