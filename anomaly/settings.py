"""The settings of a detector of rows, told once for both of its faces.

In: what the caller asks for. Out: checked settings. PyOD and scikit-learn read an estimator's
settings from the signature of its constructor, so the constructor here is the list of them; a new
setting is added here and nowhere else.
"""

from __future__ import annotations

from typing import Any

from ..core import SettingError
from .table import OnMissing
from .threshold import check_rate

NAMES = (
    "false_alarm_rate", "k", "learned", "calibration_share", "suspected_share", "on_missing",
    "seed",
)  # fmt: skip


class NeighbourSettings:
    """What both faces of the detector are built with.

    Args:
        false_alarm_rate: Share of normal rows that may alert, in (0, 1). There is no
            contamination: nothing about anomalies is assumed.
        k: Neighbours behind the wider distance, and in the evidence.
        learned: Whether a learned distance is added. How much it counts is decided on normal
            rows.
        calibration_share: Share of the rows the encoder does not see, which set the threshold;
            more are taken where the rate needs them. All rows are used to compare with.
        suspected_share: Share of the fitted rows that may be abnormal after all, in [0, 0.5). Three
            times as many, the oddest, are not compared with, and that share of them, the strangest
            beside the others, is listed for review; 0 takes all rows as verified.
        on_missing: ``"error"`` refuses rows with NaN or infinity by row and column, ``"nan"``
            leaves them unscored (NaN). Fitting always refuses them.
        seed: Of everything random; same seed, same scores.
    """

    def __init__(
        self,
        false_alarm_rate: float = 0.01,
        k: int = 5,
        *,
        learned: bool = True,
        calibration_share: float = 0.3,
        suspected_share: float = 0.0,
        on_missing: OnMissing = "error",
        seed: int = 0,
    ) -> None:
        self.false_alarm_rate = false_alarm_rate
        self.k = k
        self.learned = learned
        self.calibration_share = calibration_share
        self.suspected_share = suspected_share
        self.on_missing = on_missing
        self.seed = seed

    def settings(self) -> dict[str, Any]:
        """Give the settings by name, as the constructor takes them."""
        return {name: getattr(self, name) for name in NAMES}

    def check_settings(self) -> None:
        """Refuse settings that mean nothing.

        Raises:
            SettingError: Says which, and what it may be.
        """
        check_rate(self.false_alarm_rate)
        if self.k < 1:
            raise SettingError(f"k is {self.k}; a distance needs at least 1 neighbour")
        if not 0 < self.calibration_share < 1:
            raise SettingError(
                f"calibration_share is {self.calibration_share}; it is a share, between 0 and 1"
            )
        if not 0 <= self.suspected_share < 0.5:
            raise SettingError(
                f"suspected_share is {self.suspected_share}; it is a share below one half, or "
                "nothing is left to call normal"
            )
        if self.on_missing not in ("error", "nan"):
            raise SettingError(f"on_missing is {self.on_missing!r}; use 'error' or 'nan'")
