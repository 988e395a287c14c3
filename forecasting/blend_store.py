"""The blend as one bundle: its weights, and every member under a name of its own.

In: a fitted blend. Out: a folder, and back. To let another kind of forecaster be stored, give it a
pair of functions in ``_pack_member`` and ``_unpack_member``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
import torch

from ..core import Packed, SettingError, load_bundle, save_bundle
from .calibration_store import pack_calibration, unpack_calibration
from .frequency import Frequency
from .model import Forecaster
from .naive import Repeat, SeasonalNaive
from .panel import Panel
from .panel_store import pack_panel, unpack_panel
from .retrieval import RetrievalForecaster
from .retrieval_store import pack_retrieval, unpack_retrieval
from .ridge import DirectRidge

if TYPE_CHECKING:
    from .blend import Blend

KIND = "blend"

Fitted = TypeVar("Fitted", bound="Blend")


def save_blend(model: Blend, path: str | PathLike[str]) -> None:
    """Save a fitted blend."""
    config, tables = pack_panel(model.panel_)
    calibration, tensors = pack_calibration(model.calibration_, model.panel_)
    freq = model.freq
    config |= calibration | {
        "prior": model.prior.tolist(),
        "shrinkage": model.shrinkage,
        "freq": None if freq is None else asdict(Frequency.parse(freq)),
        "gaps": model.gaps,
        "alias": model.alias,
        "members": [],
    }
    tensors["mixture"] = torch.from_numpy(model.mixture_)
    tables |= {"blend.gains": model.gains_, "blend.weights": model.weights_}
    marks = []
    for place, member in enumerate(model.members_):
        kind, packed, mark = _pack_member(member)
        config["members"].append({"kind": kind, "config": packed.config})
        tensors |= {f"{place}.{name}": tensor for name, tensor in packed.tensors.items()}
        tables |= {f"{place}.{name}": table for name, table in packed.tables.items()}
        marks.append(mark)
    save_bundle(
        path,
        kind=KIND,
        config=config,
        tensors=tensors,
        tables=tables,
        fingerprint="+".join(marks),
    )


def load_blend(cls: type[Fitted], path: str | PathLike[str]) -> Fitted:
    """Load what :func:`save_blend` saved."""
    bundle = load_bundle(path, kind=KIND)
    config = bundle.config
    panel = unpack_panel(config, bundle.tables)
    members = [
        _unpack_member(
            stored["kind"],
            Packed(
                dict(stored["config"]),
                _under(bundle.tensors, f"{place}."),
                _under(bundle.tables, f"{place}."),
            ),
            panel,
        )
        for place, stored in enumerate(config["members"])
    ]
    model = cls(
        members,
        prior=config["prior"],
        shrinkage=config["shrinkage"],
        freq=None if config["freq"] is None else Frequency(**config["freq"]),
        gaps=config["gaps"],
        alias=config["alias"],
    )
    model.panel_ = panel
    model.members_ = tuple(members)
    model.mixture_ = np.array(bundle.tensors["mixture"].numpy())
    model.gains_ = bundle.tables["blend.gains"]
    model.weights_ = bundle.tables["blend.weights"]
    model.calibration_ = unpack_calibration(config, bundle.tensors, panel)
    return model


def _pack_member(member: Forecaster) -> tuple[str, Packed, str]:
    """Kind, parts and fingerprint of a fitted member."""
    if isinstance(member, RetrievalForecaster):
        return "retrieval", pack_retrieval(member), member.embedding_.fingerprint
    config: dict[str, Any] = {"horizon": member.horizon, "alias": member.alias}
    if isinstance(member, SeasonalNaive):
        return "season", Packed(config | {"season": member.season}, {}, {}), "season"
    if isinstance(member, DirectRidge):
        config |= {"lookback": member.lookback, "penalties": list(member.penalties)}
        config["penalty"] = member.penalty_
        weights = {"weights": torch.from_numpy(np.ascontiguousarray(member.weights_))}
        return "ridge", Packed(config, weights, {}), "ridge"
    if isinstance(member, Repeat):
        return "repeat", Packed(config, {}, {}), "repeat"
    raise SettingError(
        f"a blend with the member {member.alias}, a {type(member).__name__}, cannot be stored; "
        "members that can are RetrievalForecaster, DirectRidge, SeasonalNaive and Repeat"
    )


def _unpack_member(kind: str, packed: Packed, panel: Panel) -> Forecaster:
    config = packed.config
    if kind == "retrieval":
        return unpack_retrieval(RetrievalForecaster, packed, panel)
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


Part = TypeVar("Part", torch.Tensor, pl.DataFrame)


def _under(parts: Mapping[str, Part], prefix: str) -> dict[str, Part]:
    """Parts whose name begins with a prefix, without it."""
    return {
        name.removeprefix(prefix): part for name, part in parts.items() if name.startswith(prefix)
    }
