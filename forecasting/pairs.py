"""What a pair is: the policies by which windows become anchors and positives.

In: windows. Out: batches for the trainer. ``continuation`` pairs a window with what followed it,
so that the score learns log p(continuation | window) - log p(continuation), and softmax weights
over an index of continuations are a forecast. The two others are here to be compared with:
``augmentation`` pairs a window with a distorted view of itself and behaves like raw neighbours;
``adjacency`` pairs a window with one a few steps away and learns a clock.
"""

from __future__ import annotations

import warnings
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from ..core import Augmentation, Jitter, Masking, Pairs, ProcedureWarning, Scaling, SettingError
from .origins import Origins
from .recipe import Recipe
from .windows import Windows

PairPolicy = Literal["continuation", "augmentation", "adjacency"]
ADJACENT_STEPS = 4


class WindowPairs:
    """Pairs from windows, for the trainer.

    Args:
        windows: Complete windows, N.
        recipe: Takes base and scale off a window and its continuation alike, and shows the window
            as an embedding will see it.
        policy: What the positive of a window is.
        rows: Which windows are trained on; None for all.
        span: Windows of one series closer than this are no negatives of each other; None for
            L + H.

    Raises:
        SettingError: An unknown policy.

    Warns:
        ProcedureWarning: ``adjacency``: it learns what time it is, not what comes next.
    """

    def __init__(
        self,
        windows: Windows,
        recipe: Recipe,
        policy: PairPolicy = "continuation",
        *,
        rows: np.ndarray | None = None,
        span: int | None = None,
    ) -> None:
        if policy not in get_args(PairPolicy):
            raise SettingError(f"pairs {policy!r} are not one of {', '.join(get_args(PairPolicy))}")
        if policy == "adjacency":
            warnings.warn(
                "pairs by adjacency teach the encoder what time it is rather than what comes next; "
                "look at the clock check before you trust its neighbours",
                ProcedureWarning,
                stacklevel=2,
            )
        self.windows = windows
        self.recipe = recipe
        self.units = recipe.units(windows.panel)
        self.policy = policy
        self.rows = np.arange(len(windows)) if rows is None else rows
        self.span = span or windows.lookback + windows.horizon
        self._views: tuple[Augmentation, ...] = (Jitter(0.1), Scaling(0.1), Masking(0.1))

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, rows: Tensor, generator: torch.Generator) -> Pairs:
        """The pairs of some rows."""
        chosen = self.rows[rows.numpy()]
        past, future = self._units(chosen)
        mask = self.windows.overlaps(chosen, self.span)
        return Pairs(past, self._positive(chosen, past, future, generator), masks=(mask,))

    def _positive(
        self, rows: np.ndarray, past: Tensor, future: Tensor, generator: torch.Generator
    ) -> Tensor:
        if self.policy == "continuation":
            return future
        if self.policy == "adjacency":
            return self._units(self._beside(rows, generator))[0]
        view = past[:, :, None]
        for augmentation in self._views:
            view = augmentation(view, generator)
        return view[:, :, 0]

    def _beside(self, rows: np.ndarray, generator: torch.Generator) -> np.ndarray:
        """A window of the same series a few steps away; the window itself where there is none."""
        shift = torch.randint(1, ADJACENT_STEPS + 1, (len(rows),), generator=generator).numpy()
        order = np.argsort(self.windows.anchors, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        near = order[np.minimum(place[rows] + shift, len(order) - 1)]
        gap = self.windows.anchors[near] - self.windows.anchors[rows]
        return np.where(gap <= ADJACENT_STEPS, near, rows)

    def _units(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        past, future = self.windows.pasts(rows), self.windows.futures(rows)
        series, normaliser = self.windows.series_of(rows), self.recipe.normaliser
        base, scale = normaliser.measure(past, self.units[series])
        past, future = (normaliser.apply(part, base, scale) for part in (past, future))
        origins = Origins(series, self.windows.origin_steps(rows))
        shown = self.recipe.show(self.windows.panel, origins, past)
        return torch.from_numpy(shown.astype(np.float32)), torch.from_numpy(
            future.astype(np.float32)
        )
