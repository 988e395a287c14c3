"""The retrieval forecaster as a bundle.

In: a fitted forecaster. Out: a folder with its settings, towers, level, calibration, panel and
index, and back. Loading checks that the index was made by the towers beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
import torch

from ..core import ExactIndex, build_dual, describe_dual, load_bundle, save_bundle
from .calibration import Calibration
from .continuations import ContinuationIndex, Recipe
from .embeddings import Embedding, LearnedEmbedding, RawEmbedding
from .frequency import Frequency
from .levels import Level
from .normalisers import Normaliser
from .panel_store import pack_panel, unpack_panel
from .towers import TowerSettings

if TYPE_CHECKING:
    from .retrieval import RetrievalForecaster

KIND = "retrieval-forecaster"
_TOWERS = "towers."

Fitted = TypeVar("Fitted", bound="RetrievalForecaster")


def save_retrieval(model: RetrievalForecaster, path: str | PathLike[str]) -> None:
    """Save a fitted forecaster."""
    panel_settings, tables = pack_panel(model.panel_)
    packed = model.index_.index.pack()
    embedding_settings, tensors = _pack_embedding(model.embedding_)
    calibration = model.calibration_
    tensors |= {
        "level.coefficients": torch.from_numpy(model.level_.coefficients),
        "calibration.errors": torch.from_numpy(calibration.errors),
        "calibration.usual": torch.tensor(
            [calibration.usual[series_id] for series_id in model.panel_.ids], dtype=torch.float64
        ),
    }
    names, units = zip(*model.recipe_.deviations.items(), strict=True)
    config: dict[str, Any] = {
        "settings": _settings(model),
        "embedding": embedding_settings,
        "level": model.level_.kind,
        "calibration_window": calibration.window,
        **panel_settings,
        **packed.config,
    }
    tables |= {
        "units": pl.DataFrame({"id": list(names), "unit": list(units)}),
        "choices": model.choices_,
        **packed.tables,
    }
    save_bundle(
        path,
        kind=KIND,
        config=config,
        tensors=tensors | packed.tensors,
        tables=tables,
        fingerprint=model.embedding_.fingerprint,
    )


def load_retrieval(cls: type[Fitted], path: str | PathLike[str]) -> Fitted:
    """Load what :func:`save_retrieval` saved."""
    bundle = load_bundle(path, kind=KIND)
    settings = dict(bundle.config["settings"])
    freq = settings.pop("freq")
    towers = settings.pop("towers")
    model = cls(
        **{key: value for key, value in settings.items() if key != "normaliser"},
        freq=None if freq is None else Frequency(**freq),
        normaliser=Normaliser(**settings["normaliser"]),
        towers=TowerSettings(**{**towers, "hidden": tuple(towers["hidden"])}),
    )
    tensors = {name: tensor.numpy() for name, tensor in bundle.tensors.items()}
    model.panel_ = unpack_panel(bundle.config, bundle.tables)
    model.embedding_ = _unpack_embedding(bundle.config["embedding"], bundle.tensors)
    model.level_ = Level(bundle.config["level"], tensors["level.coefficients"].copy())
    units = bundle.tables["units"]
    deviations = dict(zip(units["id"].to_list(), units["unit"].to_list(), strict=True))
    model.recipe_ = Recipe(model.lookback, model.horizon, model.normaliser, deviations)
    model.history_ = None
    model.choices_ = bundle.tables["choices"]
    model.calibration_ = Calibration(
        np.array(tensors["calibration.errors"]),
        dict(zip(model.panel_.ids, tensors["calibration.usual"].tolist(), strict=True)),
        bundle.config["calibration_window"],
    )
    stored = ExactIndex.unpack(bundle.config, bundle.tensors, bundle.tables)
    model.index_ = ContinuationIndex(
        model.panel_,
        model.recipe_,
        model.embedding_,
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
        "level": model.level,
        "normaliser": asdict(model.normaliser),
        "towers": asdict(model.towers),
        "neighbours": model.neighbours,
        "stride": model.stride,
        "freq": None if freq is None else asdict(Frequency.parse(freq)),
        "gaps": model.gaps,
        "alias": model.alias,
        "seed": model.seed,
    }


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
