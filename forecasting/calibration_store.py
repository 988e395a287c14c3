"""A calibration as settings and tensors, and back to the bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from .calibration import Calibration
from .panel import Panel


def pack_calibration(
    calibration: Calibration, panel: Panel
) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Settings and tensors that hold a calibration made on a panel."""
    # Series that came later have no usual spread: they are measured as they are asked about.
    usual = [calibration.usual.get(series_id, np.nan) for series_id in panel.ids]
    tensors = {
        "calibration.errors": torch.from_numpy(calibration.errors),
        "calibration.usual": torch.tensor(usual, dtype=torch.float64),
    }
    return {"calibration_window": calibration.window}, tensors


def unpack_calibration(
    config: Mapping[str, Any], tensors: Mapping[str, torch.Tensor], panel: Panel
) -> Calibration:
    """The calibration that :func:`pack_calibration` took apart."""
    return Calibration(
        np.array(tensors["calibration.errors"].numpy()),
        {
            series_id: spread
            for series_id, spread in zip(
                panel.ids, tensors["calibration.usual"].tolist(), strict=True
            )
            if not np.isnan(spread)
        },
        config["calibration_window"],
    )
