"""A forecaster with covariates in a bundle: its effects, beside the parts of its model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from ..core import Packed
from .effects import Effects
from .model import Forecaster
from .panel import Panel
from .with_covariates import WithCovariates

KNOWING = "knowing "
"""What the kind of such a forecaster begins with, before that of its model."""


def pack_knowing(member: WithCovariates, model: Packed, panel: Panel) -> Packed:
    """A forecaster fitted on a panel, from the parts of its model."""
    effects = _pack_effects(member.effects_, panel)
    config = {"alias": member.alias, "model": model.config, "effects": effects.config}
    return Packed(config, model.tensors | effects.tensors, model.tables)


def unpack_knowing(
    packed: Packed, panel: Panel, build: Callable[[Packed, Panel], Forecaster]
) -> WithCovariates:
    """Put together what :func:`pack_knowing` took apart.

    Args:
        packed: The parts.
        panel: What it was fitted on.
        build: Makes the model from its parts and the panel without the effects.
    """
    effects = _unpack_effects(Packed(packed.config["effects"], packed.tensors, {}), panel)
    inner = Packed(packed.config["model"], packed.tensors, packed.tables)
    model = build(inner, effects.taken_off(panel))
    member = WithCovariates(model, effects.names, alias=packed.config["alias"])
    member.model_, member.effects_ = model, effects
    return member


def _pack_effects(effects: Effects, panel: Panel) -> Packed:
    """Settings and tensors that hold effects learned on a panel."""
    nothing = np.full(len(effects.names), np.nan)
    own = np.array([effects.own.get(series_id, nothing) for series_id in panel.ids])
    # Series that came later have no unit: they are measured by their own first rows.
    units = [effects.units.get(series_id, np.nan) for series_id in panel.ids]
    config = {"columns": list(effects.names), "rows": effects.lookback, "lean": str(effects.lean)}
    tensors = {
        "effects.shared": torch.from_numpy(effects.shared),
        "effects.own": torch.from_numpy(own),
        "effects.units": torch.tensor(units, dtype=torch.float64),
    }
    return Packed(config, tensors, {})


def _unpack_effects(packed: Packed, panel: Panel) -> Effects:
    own = np.array(packed.tensors["effects.own"].numpy())
    units = packed.tensors["effects.units"].tolist()
    return Effects(
        tuple(packed.config["columns"]),
        np.array(packed.tensors["effects.shared"].numpy()),
        {
            series_id: rates
            for series_id, rates in zip(panel.ids, own, strict=True)
            if not np.isnan(rates).any()
        },
        {
            series_id: unit
            for series_id, unit in zip(panel.ids, units, strict=True)
            if not np.isnan(unit)
        },
        packed.config["rows"],
        float(packed.config["lean"]),
    )
