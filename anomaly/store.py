"""Storing a detector: plain tensors, tables and settings in one bundle, no pickle.

In: a fitted detector of rows. Out: a folder, and from the folder the same detector, which answers
to the bit as before. The register, where one was measured, travels with it as a report.
"""

from __future__ import annotations

from dataclasses import asdict
from os import PathLike
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import load_bundle, save_bundle
from .blindspots import read_register
from .detector import NeighbourDetector
from .learned import LearningSettings, restore_space
from .locality import Locality
from .model import Part, Reference, RowModel
from .normals import Normals
from .review import Suspect
from .sketch import Sketches
from .spaces import RawSpace, Space, Standardiser
from .table import Schema
from .threshold import Threshold
from .trust import Trust

KIND = "anomaly-rows"
_Detector = TypeVar("_Detector", bound=NeighbourDetector)


def save_detector(detector: NeighbourDetector, path: str | PathLike[str]) -> None:
    """Save a fitted detector as one folder."""
    model = detector.model_
    tensors: dict[str, NDArray[Any]] = {
        "standardiser.centre": model.standardiser.centre,
        "standardiser.scale": model.standardiser.scale,
        "decision_scores": detector.decision_scores_,
        "held_scores": detector._held_scores,
    }
    if model.locality is not None:
        tensors["locality.anchors"] = model.locality.anchors
        tensors["locality.apart"] = model.locality.apart
    for part, vectors in zip(model.parts, detector._index.vectors, strict=True):
        tensors[f"vectors.{part.space.name}"] = np.asarray(vectors)
        for name, value in part.space.tensors().items():
            tensors[f"{part.space.name}.{name}"] = np.asarray(value)
    for part, sketches in zip(model.parts, detector._index.sketches, strict=False):
        for name in Sketches.__slots__:
            tensors[f"sketches.{part.space.name}.{name}"] = getattr(sketches, name)
    for name, normals in (("reference", detector.reference_), ("aside", detector._aside)):
        tensors[f"{name}.rows"] = normals.rows
    save_bundle(
        path,
        kind=KIND,
        config={
            "settings": detector.settings(),
            "schema": {"names": list(detector.schema_.names), "named": detector.schema_.named},
            "threshold": asdict(detector.calibration_),
            "stale": detector.stale_,
            "k": model.k,
            "parts": [
                {"space": p.space.name, "near": p.near, "wide": p.wide, "weight": p.weight}
                for p in model.parts
            ],
            "learning": {**asdict(model.learning), "hidden": list(model.learning.hidden)},
            "trust": {
                "weight": model.trust.weight,
                "recall": {str(weight): value for weight, value in model.trust.recall.items()},
                "reason": model.trust.reason,
            },
        },
        tensors=tensors,
        tables={
            "reference": _normals_table(detector.reference_),
            "aside": _normals_table(detector._aside),
            "suspects": pl.DataFrame(
                [asdict(one) for one in detector.suspects_],
                schema={"id": _id_type(detector.reference_.ids), "row": pl.Int64,
                        "score": pl.Float64, "times_usual": pl.Float64, "crowd": pl.Int64},
            ),
        },
        reports=_reports(detector),
        fingerprint=model.fingerprint,
    )  # fmt: skip


def load_detector(kind: type[_Detector], path: str | PathLike[str]) -> _Detector:
    """Load a detector that :func:`save_detector` saved."""
    bundle = load_bundle(path, kind=KIND)
    # A copy lies in memory as fitted arrays do, so that products round alike to the last bit.
    config, tensors = bundle.config, {n: np.array(t.numpy()) for n, t in bundle.tensors.items()}
    learning = LearningSettings(
        **{**config["learning"], "hidden": tuple(config["learning"]["hidden"])}
    )
    parts = tuple(
        Part(_space(one["space"], tensors, learning), one["near"], one["wide"], one["weight"])
        for one in config["parts"]
    )
    locality = None
    if "locality.anchors" in tensors:
        locality = Locality(tensors["locality.anchors"], tensors["locality.apart"])
    told = config["trust"]
    trust = Trust(told["weight"], {float(w): r for w, r in told["recall"].items()}, told["reason"])
    model = RowModel(
        Standardiser(tensors["standardiser.centre"], tensors["standardiser.scale"]),
        parts, config["k"], trust, learning, locality,
    )  # fmt: skip
    detector = kind(**config["settings"])
    detector._set_schema(Schema(tuple(config["schema"]["names"]), config["schema"]["named"]))
    detector.model_ = model
    detector.reference_ = _normals(tensors["reference.rows"], bundle.tables["reference"])
    detector._aside = _normals(tensors["aside.rows"], bundle.tables["aside"])
    vectors = [tensors[f"vectors.{part.space.name}"] for part in parts]
    detector._index = Reference(model, vectors, _sketches(model, tensors))
    detector._undo = []
    detector.decision_scores_ = tensors["decision_scores"]
    detector._held_scores = tensors["held_scores"]
    detector.calibration_ = Threshold(**config["threshold"])
    detector.threshold_ = detector.calibration_.value
    detector.labels_ = detector.calibration_.alerts(detector.decision_scores_).astype(int)
    detector.suspects_ = tuple(Suspect(**row) for row in bundle.tables["suspects"].to_dicts())
    detector.stale_ = config["stale"]
    scores = detector.decision_scores_
    detector._classes, detector._mu, detector._sigma = 2, float(scores.mean()), float(scores.std())
    if "register" in bundle.reports:
        detector.register_ = read_register(bundle.reports["register"])
    return detector


def _reports(detector: NeighbourDetector) -> dict[str, dict[str, Any]]:
    register = getattr(detector, "register_", None)
    return {} if register is None else {"register": asdict(register)}


def _space(name: str, tensors: dict[str, NDArray[Any]], learning: LearningSettings) -> Space:
    if name == RawSpace.name:
        return RawSpace()
    prefix = f"{name}."
    own = {
        key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)
    }
    return restore_space(own, learning)


def _sketches(model: RowModel, tensors: dict[str, NDArray[Any]]) -> list[Sketches]:
    if f"sketches.{model.parts[0].space.name}.owner" not in tensors:
        return []
    return [
        Sketches(*(tensors[f"sketches.{part.space.name}.{name}"] for name in Sketches.__slots__))
        for part in model.parts
    ]


def _normals_table(normals: Normals) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": normals.ids.tolist(),
            "batch": normals.batch,
            "trained_on": normals.trained_on,
            "own_score": normals.own_scores,
        },
        schema_overrides={"id": _id_type(normals.ids)},
    )


def _id_type(ids: NDArray[Any]) -> type[pl.Int64] | type[pl.String]:
    return pl.Int64 if ids.dtype.kind in "iu" else pl.String


def _normals(rows: NDArray[np.float64], table: pl.DataFrame) -> Normals:
    ids = table["id"]
    return Normals(
        rows,
        ids.to_numpy() if ids.dtype == pl.Int64 else np.array(ids.to_list(), dtype=str),
        table["batch"].cast(pl.Int64).to_numpy(),
        table["trained_on"].to_numpy(),
        table["own_score"].to_numpy(),
    )
