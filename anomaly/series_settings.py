"""The settings of a detector of series, and what they may be.

In: what the caller asks for. Out: checked settings, which the detector is built with, its fit reads
and its bundle keeps. A new setting is added here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..core import Augmentation, SettingError
from .threshold import check_rate
from .window_learning import WindowLearning
from .window_parts import PARTS, UNLEARNED, PartName

Mode = Literal["causal", "covering"]
Pooling = Literal["series", "pooled"]


class SeriesSettings:
    """What a detector of series is built with.

    Args:
        false_alarm_rate: Share of normal stamps that may alert, in (0, 1).
        lookback: L, steps of a window; None reads it from the data.
        k: Neighbours a distance is the mean of; alerts are shown beside three at least.
        mode: ``"causal"`` scores a stamp by the window that ends there, so a stream and a batch
            agree; ``"covering"`` by all windows over it, sharper, up to L - 1 steps later.
        parts: What to look at: ``point``, ``window``, ``residual``, ``levels``, ``spectrum``, and,
            where an encoder shall be trained, ``learned``.
        augmentations: Views that the encoder of ``learned`` is taught to ignore. Each is a declared
            blind spot.
        pooling: ``"series"`` compares a series with itself, ``"pooled"`` with all.
        calibration_share: Last share of each series, which the encoder does not see.
        reference_size: Most windows to compare with; more are thinned evenly over time, and
            ``notes_`` says so.
        learning: Training of the encoder; None for the defaults.
        id_col, time_col: Names of the columns.
        seed: Of everything random.
    """

    def __init__(
        self,
        false_alarm_rate: float = 0.01,
        *,
        lookback: int | None = None,
        k: int = 1,
        mode: Mode = "causal",
        parts: Sequence[PartName] = UNLEARNED,
        augmentations: Sequence[Augmentation] = (),
        pooling: Pooling = "series",
        calibration_share: float = 0.3,
        reference_size: int = 4096,
        learning: WindowLearning | None = None,
        id_col: str = "unique_id",
        time_col: str = "ds",
        seed: int = 0,
    ) -> None:
        check_rate(false_alarm_rate)
        unknown = [name for name in parts if name not in PARTS]
        if unknown or not parts:
            raise SettingError(f"parts {list(parts)} must be some of {', '.join(PARTS)}")
        if augmentations and "learned" not in parts:
            taught = ", ".join(one.name for one in augmentations)
            raise SettingError(
                f"augmentations ({taught}) teach an encoder, and parts {list(parts)} have none; "
                "add 'learned' to parts or leave augmentations out"
            )
        if mode not in ("causal", "covering") or pooling not in ("series", "pooled"):
            raise SettingError(
                f"mode is {mode!r} (use 'causal' or 'covering') and pooling {pooling!r} "
                "(use 'series' or 'pooled')"
            )
        if lookback is not None and lookback < 2:
            raise SettingError(f"lookback is {lookback}; a window holds at least 2 steps")
        self.false_alarm_rate = false_alarm_rate
        self.lookback = lookback
        self.k = k
        self.mode: Mode = mode
        self.parts = tuple(parts)
        self.augmentations = tuple(augmentations)
        self.pooling: Pooling = pooling
        self.calibration_share = calibration_share
        self.reference_size = reference_size
        self.learning = learning or WindowLearning()
        self.id_col = id_col
        self.time_col = time_col
        self.seed = seed
