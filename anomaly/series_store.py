"""Storing a detector of series: one bundle, no pickle; it answers to the bit as before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from ..core import (
    Augmentation,
    CropResize,
    InputError,
    Jitter,
    Masking,
    Reversal,
    Scaling,
    Shift,
    TsaugAugmentation,
    WindowEncoder,
    build_encoder,
    describe_encoder,
    load_bundle,
    save_bundle,
)
from .blindspots import read_register
from .series import SeriesDetector
from .series_fit import FittedSeries, Stretch
from .threshold import Threshold
from .window_learning import WindowLearning, WindowSpace
from .window_model import WindowModel
from .window_parts import MainDirections
from .window_reference import ReferenceWindows

KIND = "anomaly-series"
_Detector = TypeVar("_Detector", bound=SeriesDetector)
_AUGMENTATIONS = {one.name: one for one in (CropResize, Jitter, Masking, Reversal, Scaling, Shift)}


def save_series(detector: SeriesDetector, path: str | PathLike[str]) -> None:
    """Save a fitted detector of series as one folder."""
    tensors: dict[str, NDArray[Any]] = {}
    groups = []
    for number, (series, fitted) in enumerate(detector.fitted_.items()):
        tensors |= {f"{number}.{name}": value for name, value in _tensors(fitted).items()}
        space = fitted.model.space
        groups.append(
            {
                "series": _plain(series),
                "k": fitted.model.k,
                "spreads": [[name, sizes.tolist()] for name, sizes in fitted.model.spreads.items()],
                "threshold": asdict(fitted.threshold),
                "stale": fitted.stale,
                "stretches": [[_plain(one.series), one.unseen_from] for one in fitted.stretches],
                "encoder": None if space is None else describe_encoder(space.encoder),
            }
        )
    fingerprints = [
        "" if one.model.space is None else one.model.space.fingerprint
        for one in detector.fitted_.values()
    ]
    register = detector.register_
    save_bundle(
        path,
        kind=KIND,
        config={
            "settings": _settings(detector),
            "channels": list(detector.channels_),
            "notes": list(detector.notes_),
            "groups": groups,
        },
        tensors=tensors,
        reports={} if register is None else {"register": asdict(register)},
        fingerprint="-".join(fingerprints),
    )


def load_series(kind: type[_Detector], path: str | PathLike[str]) -> _Detector:
    """Load a detector that :func:`save_series` saved."""
    bundle = load_bundle(path, kind=KIND)
    # A copy lies in memory as fitted arrays do, so that products round alike to the last bit.
    tensors = {name: np.array(value.numpy()) for name, value in bundle.tensors.items()}
    settings = dict(bundle.config["settings"])
    learning = WindowLearning(**settings.pop("learning"))
    augmentations = tuple(map(_augmentation, settings.pop("augmentations")))
    detector = kind(**settings, learning=learning, augmentations=augmentations)
    detector.channels_ = tuple(bundle.config["channels"])
    detector.notes_ = list(bundle.config["notes"])
    detector.fitted_ = {
        group["series"]: _group(group, tensors, f"{number}.")
        for number, group in enumerate(bundle.config["groups"])
    }
    detector._undo = []
    if "register" in bundle.reports:
        detector.register_ = read_register(bundle.reports["register"])
    return detector


def _settings(detector: SeriesDetector) -> dict[str, Any]:
    names = (
        "false_alarm_rate", "lookback", "k", "mode", "pooling", "calibration_share",
        "reference_size", "id_col", "time_col", "seed",
    )  # fmt: skip
    learning = asdict(detector.learning)
    del learning["augmentations"]
    return {
        **{name: getattr(detector, name) for name in names},
        "parts": list(detector.parts),
        "learning": learning,
        "augmentations": [_described(one) for one in detector.augmentations],
    }


def _described(augmentation: Augmentation) -> dict[str, Any]:
    if isinstance(augmentation, TsaugAugmentation):
        return {"tsaug": augmentation.augmenter, "settings": dict(augmentation.settings)}
    if augmentation.name not in _AUGMENTATIONS:
        raise InputError(
            f"the augmentation {augmentation.name!r} cannot be saved; use one of "
            f"{', '.join(_AUGMENTATIONS)} or a TsaugAugmentation"
        )
    return asdict(augmentation)  # type: ignore[call-overload, no-any-return]


def _augmentation(told: Mapping[str, Any]) -> Augmentation:
    if "tsaug" in told:
        return TsaugAugmentation(told["tsaug"], told["settings"])
    built: Augmentation = _AUGMENTATIONS[told["name"]](**told)
    return built


def _tensors(fitted: FittedSeries) -> dict[str, NDArray[Any]]:
    model = fitted.model
    weights = {} if model.space is None else model.space.encoder.state_dict()
    return {
        "centre": model.centre,
        "scale": model.scale,
        "middle": model.main.middle,
        "directions": model.main.directions,
        "early.middle": model.early.middle,
        "early.directions": model.early.directions,
        "owner": model.reference.owner,
        "ends": model.reference.ends,
        "windows": model.reference.windows,
        "held": fitted.held,
        **{f"stretch.{number}": one.values for number, one in enumerate(fitted.stretches)},
        **{f"encoder.{name}": value.numpy(force=True) for name, value in weights.items()},
    }


def _group(
    group: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], prefix: str
) -> FittedSeries:
    own = {name.removeprefix(prefix): v for name, v in tensors.items() if name.startswith(prefix)}
    space = None
    if group["encoder"] is not None:
        encoder = build_encoder(group["encoder"])
        assert isinstance(encoder, WindowEncoder)
        weights = {
            name.removeprefix("encoder."): torch.from_numpy(np.array(value))
            for name, value in own.items()
            if name.startswith("encoder.")
        }
        encoder.load_state_dict(weights)
        space = WindowSpace(encoder)
    model = WindowModel(
        own["centre"],
        own["scale"],
        group["k"],
        MainDirections(own["middle"], own["directions"]),
        MainDirections(own["early.middle"], own["early.directions"]),
        space,
        {name: np.array(sizes) for name, sizes in group["spreads"]},
        ReferenceWindows(own["owner"], own["ends"], own["windows"]),
    )
    return FittedSeries(
        model,
        Threshold(**group["threshold"]),
        own["held"],
        tuple(
            Stretch(series, own[f"stretch.{number}"], unseen_from)
            for number, (series, unseen_from) in enumerate(group["stretches"])
        ),
        group["stale"],
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
