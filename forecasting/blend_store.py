"""The blend as one bundle: its weights, and every member under a name of its own.

In: a fitted blend. Out: a folder, and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl
import torch

from ..core import Packed, load_bundle, save_bundle
from .calibration_store import pack_calibration, unpack_calibration
from .direct_store import pack_direct, unpack_direct
from .effects_store import KNOWING, pack_knowing, unpack_knowing
from .frequency import Frequency
from .logs import InLogs, log_panel
from .model import Forecaster
from .panel import Panel
from .panel_store import pack_panel, unpack_panel
from .retrieval import RetrievalForecaster
from .retrieval_store import pack_retrieval, unpack_retrieval
from .with_covariates import WithCovariates

if TYPE_CHECKING:
    from .blend import Blend

KIND = "blend"
_LOGS = "logs of "

Fitted = TypeVar("Fitted", bound="Blend")


def save_blend(model: Blend, path: str | PathLike[str]) -> None:
    """Save a fitted blend."""
    config, tables = pack_panel(model.panel_)
    calibration, tensors = pack_calibration(model.calibration_, model.panel_)
    freq = model.freq
    config |= calibration | {
        "prior": model.prior.tolist(),
        "shrinkage": model.shrinkage,
        "drawer": model.drawer_,
        "freq": None if freq is None else asdict(Frequency.parse(freq)),
        "gaps": model.gaps,
        "alias": model.alias,
        "members": [],
    }
    tensors["mixture"] = torch.from_numpy(model.mixture_)
    tables |= {"blend.gains": model.gains_, "blend.weights": model.weights_}
    marks = []
    for place, member in enumerate(model.members_):
        kind, packed, mark = _pack_member(member, model.panel_)
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
    model.drawer_ = config["drawer"]
    model.gains_ = bundle.tables["blend.gains"]
    model.weights_ = bundle.tables["blend.weights"]
    model.calibration_ = unpack_calibration(config, bundle.tensors, panel)
    return model


def _pack_member(member: Forecaster, panel: Panel) -> tuple[str, Packed, str]:
    """Kind, parts and fingerprint of a fitted member."""
    if isinstance(member, InLogs):
        kind, packed, mark = _pack_member(member.model_, panel)
        config = {"alias": member.alias, "model": packed.config}
        return f"{_LOGS}{kind}", Packed(config, packed.tensors, packed.tables), mark
    if isinstance(member, WithCovariates):
        kind, packed, mark = _pack_member(member.model_, panel)
        return f"{KNOWING}{kind}", pack_knowing(member, packed, panel), mark
    if isinstance(member, RetrievalForecaster):
        return "retrieval", pack_retrieval(member), member.embedding_.fingerprint
    kind, packed = pack_direct(member, panel)
    return kind, packed, kind


def _unpack_member(kind: str, packed: Packed, panel: Panel) -> Forecaster:
    if kind.startswith(_LOGS):
        inner = Packed(packed.config["model"], packed.tensors, packed.tables)
        model = _unpack_member(kind.removeprefix(_LOGS), inner, log_panel(panel))
        member = InLogs(model, alias=packed.config["alias"])
        member.model_ = model
        return member
    if kind.startswith(KNOWING):
        return unpack_knowing(packed, panel, partial(_unpack_member, kind.removeprefix(KNOWING)))
    if kind == "retrieval":
        return unpack_retrieval(RetrievalForecaster, packed, panel)
    return unpack_direct(kind, packed, panel)


Part = TypeVar("Part", torch.Tensor, pl.DataFrame)


def _under(parts: Mapping[str, Part], prefix: str) -> dict[str, Part]:
    """Parts whose name begins with a prefix, without it."""
    return {
        name.removeprefix(prefix): part for name, part in parts.items() if name.startswith(prefix)
    }
