"""The training probe: how good an encoder is, asked through an index as it will serve.

In comes an encoder in the middle of its training, out comes one number, larger = better, by which
the trainer chooses its weights. An application with a better question than recall passes its own
function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from ..encoders.bags import Rows
from ..encoders.dual import DualEncoder
from ..encoders.fingerprint import fingerprint
from ..errors import SettingError, ShapeError
from ..index.exact import ExactIndex

Probe = Callable[[DualEncoder], float]
"""Asks an encoder how good it is; larger = better."""


@dataclass(frozen=True, eq=False)
class RecallProbe:
    """Share of validation anchors whose true candidate is among the ``k`` nearest.

    Args:
        anchors: Q validation anchors, as the anchor encoder takes them.
        candidates: N candidates, as the candidate encoder takes them.
        truth: int64 [Q], the row in ``candidates`` that each anchor should find.
        k: Neighbours looked at.

    Raises:
        ShapeError: ``truth`` does not name one candidate an anchor.
        SettingError: ``k`` is below 1.
    """

    anchors: Rows
    candidates: Rows
    truth: Tensor
    k: int = 10

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SettingError(f"k is {self.k}; a probe looks at 1 neighbour or more")
        named = len(self.truth) and 0 <= int(self.truth.min()) <= int(self.truth.max())
        if (
            self.truth.shape != (len(self.anchors),)
            or not named
            or int(self.truth.max()) >= len(self.candidates)
        ):
            raise ShapeError(
                f"a probe of {len(self.anchors)} anchors over {len(self.candidates)} candidates "
                f"needs one row of the candidates an anchor, found {list(self.truth.shape)}"
            )

    def __call__(self, encoder: DualEncoder) -> float:
        """Measure recall at ``k``, in 0 to 1, through an exact index."""
        name = fingerprint(encoder.serving_part(), preprocessing={})
        index = ExactIndex(encoder.encode_candidates(self.candidates), fingerprint=name)
        found = index.search(encoder.encode_anchors(self.anchors), self.k, fingerprint=name)
        owner = np.repeat(np.arange(len(self.truth)), found.counts)
        hits = found.rows == self.truth.numpy()[owner]
        return float(hits.sum() / len(self.truth))
