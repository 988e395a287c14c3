"""The retrieval forecaster as a bundle.

In: a fitted forecaster. Out: a folder with its settings, towers, level, calibration, panel and
index, and back. Loading checks that the index was made by the towers beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
import torch

from ..core import ExactIndex, Packed, build_dual, describe_dual, load_bundle, save_bundle
from .calibration_store import pack_calibration, unpack_calibration
from .continuations import ContinuationIndex
from .direct_store import pack_direct, unpack_direct
from .embeddings import Embedding, LearnedEmbedding, RawEmbedding
from .frequency import Frequency
from .kernels import build_kernel, describe_kernel
from .levels import Level
from .matching import Match
from .model import Forecaster
from .normalisers import Normaliser
from .panel import Panel
from .panel_store import pack_panel, unpack_panel
from .recipe import Recipe
from .towers import TowerSettings

if TYPE_CHECKING:
    from .retrieval import RetrievalForecaster

KIND = "retrieval-forecaster"
_TOWERS = "towers."
_DIRECT = "direct."

Fitted = TypeVar("Fitted", bound="RetrievalForecaster")


def save_retrieval(model: RetrievalForecaster, path: str | PathLike[str]) -> None:
    """Save a fitted forecaster."""
    panel_settings, tables = pack_panel(model.panel_)
    calibration_settings, tensors = pack_calibration(model.calibration_, model.panel_)
    packed = pack_retrieval(model)
    save_bundle(
        path,
        kind=KIND,
        config=panel_settings | calibration_settings | packed.config,
        tensors=tensors | packed.tensors,
        tables=tables | packed.tables,
        fingerprint=model.embedding_.fingerprint,
    )


def pack_retrieval(model: RetrievalForecaster) -> Packed:
    """Take a fitted forecaster apart, all but its panel and calibration."""
    packed = model.index_.index.pack()
    embedding_settings, tensors = _pack_embedding(model.embedding_)
    tensors["level.coefficients"] = torch.from_numpy(model.level_.coefficients)
    names, units = zip(*model.recipe_.deviations.items(), strict=True)
    config: dict[str, Any] = {
        "settings": _settings(model),
        "embedding": embedding_settings,
        "kernel": describe_kernel(model.kernel_),
        "match": None if model.recipe_.match is None else model.recipe_.match.describe(),
        "normaliser": asdict(model.recipe_.normaliser),
        "level": {"kind": model.level_.kind, "span": model.level_.span},
        "learned_until": model.learned_until_,
        **packed.config,
    }
    if model.direct_ is not None:
        kind, direct = pack_direct(model.direct_, model.index_.windows.panel)
        config["direct"] = {"kind": kind, "config": direct.config}
        tensors |= {f"{_DIRECT}{name}": tensor for name, tensor in direct.tensors.items()}
    tables = {
        "units": pl.DataFrame({"id": list(names), "unit": list(units)}),
        "choices": model.choices_,
        **packed.tables,
    }
    return Packed(config, tensors | packed.tensors, tables)


def load_retrieval(cls: type[Fitted], path: str | PathLike[str]) -> Fitted:
    """Load what :func:`save_retrieval` saved."""
    bundle = load_bundle(path, kind=KIND)
    panel = unpack_panel(bundle.config, bundle.tables)
    packed = Packed(dict(bundle.config), dict(bundle.tensors), dict(bundle.tables))
    model = unpack_retrieval(cls, packed, panel)
    model.calibration_ = unpack_calibration(bundle.config, bundle.tensors, panel)
    return model


def unpack_retrieval(cls: type[Fitted], packed: Packed, panel: Panel) -> Fitted:
    """Put together what :func:`pack_retrieval` took apart, with the panel it was fitted on."""
    settings = dict(packed.config["settings"])
    freq = settings.pop("freq")
    towers = settings.pop("towers")
    normaliser = settings.pop("normaliser")
    match = Match.build(settings.pop("match"))
    direct = _unpack_direct(packed, panel)
    if direct is not None:
        settings["level"] = direct
    model = cls(
        **settings,
        match=match.rules,
        freq=None if freq is None else Frequency(**freq),
        normaliser=None if normaliser is None else Normaliser(**normaliser),
        towers=TowerSettings(**{**towers, "hidden": tuple(towers["hidden"])}),
    )
    model.panel_ = panel
    model.direct_ = direct
    model.embedding_ = _unpack_embedding(packed.config["embedding"], packed.tensors)
    level = packed.config["level"]
    coefficients = packed.tensors["level.coefficients"].numpy().copy()
    model.level_ = Level(level["kind"], coefficients, level["span"])
    model.kernel_ = build_kernel(packed.config["kernel"])
    units = packed.tables["units"]
    deviations = dict(zip(units["id"].to_list(), units["unit"].to_list(), strict=True))
    model.recipe_ = Recipe(
        model.lookback,
        model.horizon,
        Normaliser(**packed.config["normaliser"]),
        deviations,
        direct,
        None if packed.config["match"] is None else Match.build(packed.config["match"]),
        tuple(deviations) if model.channels == "joint" else (),
    )
    model.history_ = None
    model.learned_until_ = packed.config["learned_until"]
    model.choices_ = packed.tables["choices"]
    stored = ExactIndex.unpack(packed.config, packed.tensors, packed.tables)
    model.index_ = ContinuationIndex(
        model.panel_,
        model.recipe_,
        model.embedding_,
        model.kernel_,
        stride=model.stride,
        neighbours=model.neighbours,
        stored=stored,
    )
    return model


def _settings(model: RetrievalForecaster) -> dict[str, Any]:
    freq = model.freq
    return {
        "horizon": model.horizon,
        "lookback": model.lookback,
        "embedding": model.embedding,
        "pairs": model.pairs,
        "level": "auto" if model.direct_ is not None else model.level,
        "normaliser": None if model.normaliser is None else asdict(model.normaliser),
        "towers": asdict(model.towers),
        "neighbours": model.neighbours,
        "match": model.match.describe(),
        "channels": model.channels,
        "stride": model.stride,
        "freq": None if freq is None else asdict(Frequency.parse(freq)),
        "gaps": model.gaps,
        "alias": model.alias,
        "seed": model.seed,
    }


def _unpack_direct(packed: Packed, panel: Panel) -> Forecaster | None:
    stored = packed.config.get("direct")
    if stored is None:
        return None
    tensors = {
        name.removeprefix(_DIRECT): tensor
        for name, tensor in packed.tensors.items()
        if name.startswith(_DIRECT)
    }
    return unpack_direct(stored["kind"], Packed(dict(stored["config"]), tensors, {}), panel)


def _pack_embedding(embedding: Embedding) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    if isinstance(embedding, RawEmbedding):
        return {"kind": "raw", "unit": embedding.unit, "scale": embedding.scale}, {}
    assert isinstance(embedding, LearnedEmbedding)
    settings = {
        "kind": "learned",
        "scale": embedding.scale,
        "holds": embedding.holds,
        "towers": describe_dual(embedding.towers),
    }
    weights = embedding.towers.state_dict()
    return settings, {f"{_TOWERS}{name}": tensor for name, tensor in weights.items()}


def _unpack_embedding(
    settings: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]
) -> Embedding:
    if settings["kind"] == "raw":
        return RawEmbedding(settings["unit"], settings["scale"])
    towers = build_dual(settings["towers"])
    towers.load_state_dict(
        {
            name.removeprefix(_TOWERS): tensor
            for name, tensor in tensors.items()
            if name.startswith(_TOWERS)
        }
    )
    towers.eval()
    return LearnedEmbedding(towers, settings["scale"], holds=settings["holds"])
