"""Direct and naive forecasters in a bundle, beside what leans on them.

In: a fitted forecaster without an index. Out: its parts, and back. To let another kind be stored,
give it a branch in :func:`pack_direct` and in :func:`unpack_direct`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from ..core import Packed, SettingError
from .effects_store import KNOWING, pack_knowing, unpack_knowing
from .model import Forecaster
from .naive import Repeat, SeasonalNaive
from .panel import Panel
from .ridge import DirectRidge
from .with_covariates import WithCovariates


def pack_direct(member: Forecaster, panel: Panel) -> tuple[str, Packed]:
    """Kind and parts of a forecaster fitted on a panel.

    Raises:
        SettingError: A forecaster of a kind that cannot be stored.
    """
    config: dict[str, Any] = {"horizon": member.horizon, "alias": member.alias}
    if isinstance(member, SeasonalNaive):
        return "season", Packed(config | {"season": member.season}, {}, {})
    if isinstance(member, DirectRidge):
        config |= {"lookback": member.lookback, "penalties": list(member.penalties)}
        config["penalty"] = member.penalty_
        weights = {"weights": torch.from_numpy(np.ascontiguousarray(member.weights_))}
        return "ridge", Packed(config, weights, {})
    if isinstance(member, Repeat):
        return "repeat", Packed(config, {}, {})
    if isinstance(member, WithCovariates):
        kind, model = pack_direct(member.model_, panel)
        return f"{KNOWING}{kind}", pack_knowing(member, model, panel)
    raise SettingError(
        f"a bundle with {member.alias}, a {type(member).__name__}, cannot be stored; forecasters "
        "that can are RetrievalForecaster, DirectRidge, SeasonalNaive and Repeat"
    )


def unpack_direct(kind: str, packed: Packed, panel: Panel) -> Forecaster:
    """Put together what :func:`pack_direct` took apart, with the panel it was fitted on."""
    config = packed.config
    if kind.startswith(KNOWING):
        build = partial(unpack_direct, kind.removeprefix(KNOWING))
        return unpack_knowing(packed, panel, build)
    if kind == "season":
        return SeasonalNaive(config["horizon"], config["season"], alias=config["alias"])
    if kind == "repeat":
        return Repeat(config["horizon"], alias=config["alias"])
    ridge = DirectRidge(
        config["horizon"], config["lookback"], penalties=config["penalties"], alias=config["alias"]
    )
    ridge.penalty_ = config["penalty"]
    ridge.weights_ = np.array(packed.tensors["weights"].numpy())
    return ridge
