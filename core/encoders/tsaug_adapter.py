"""tsaug's augmenters as augmentations, behind an allow-list.

In come float32 windows ``[B, L, C]`` and a generator, out comes a float32 view. A tsaug object with
a seed repeats the same draw at every call and one without cannot be reproduced, so each call here
builds a fresh object with a seed drawn from the generator. What tsaug 0.2.1 does wrong (quantile
and k-means levels, kernels that sum to zero, outputs of another length) is refused by name before
anything runs. tsaug is imported at the first call.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from scipy.signal import get_window
from torch import Tensor

from ..errors import NonFiniteError, SettingError, ShapeError

_ALLOWED: dict[str, tuple[str, tuple[str, ...]]] = {
    "AddNoise": (
        "measurement noise",
        ("loc", "scale", "distr", "kind", "per_channel", "normalize", "prob"),
    ),
    "Convolve": ("fine detail", ("window", "size", "per_channel", "prob")),
    "Drift": (
        "slow drift of the level",
        ("max_drift", "n_drift_points", "kind", "per_channel", "normalize", "prob"),
    ),
    "Dropout": ("short gaps", ("p", "size", "fill", "per_channel", "prob")),
    "Pool": ("fine detail", ("kind", "size", "per_channel", "prob")),
    "Quantize": ("resolution of the values", ("n_levels", "how", "per_channel", "prob")),
    "Reverse": ("direction of time", ("prob",)),
    "TimeWarp": ("local tempo", ("n_speed_change", "max_speed_ratio", "prob")),
}


@dataclass(frozen=True, eq=False)
class TsaugAugmentation:
    """One tsaug augmenter.

    Args:
        augmenter: Its name in tsaug: AddNoise, Convolve, Drift, Dropout, Pool, Quantize, Reverse
            or TimeWarp. Crop and Resize change the length and are not offered.
        settings: Its own settings, without ``seed`` and ``repeats``.

    Raises:
        SettingError: An augmenter or setting that is not on the list, or one that tsaug is known
            to answer wrongly.
    """

    augmenter: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.augmenter not in _ALLOWED:
            raise SettingError(
                f"tsaug's {self.augmenter!r} is not offered; choose from {', '.join(_ALLOWED)}"
            )
        unknown = sorted(set(self.settings) - set(_ALLOWED[self.augmenter][1]))
        if unknown:
            raise SettingError(
                f"tsaug's {self.augmenter} is not given {', '.join(unknown)} here; it takes "
                f"{', '.join(_ALLOWED[self.augmenter][1])}"
            )
        if self.settings.get("how", "uniform") != "uniform":
            raise SettingError(
                f"tsaug's Quantize with how={self.settings['how']!r} collapses or fails; use "
                "'uniform'"
            )
        fill = self.settings.get("fill", "ffill")
        if not isinstance(fill, str) and not math.isfinite(fill):
            raise SettingError(f"tsaug's Dropout would fill with {fill}; use a finite number")
        if self.augmenter == "Convolve":
            _require_kernels(self.settings.get("window", "hann"), self.settings.get("size", 7))

    @property
    def name(self) -> str:
        """The augmenter's name, marked as tsaug's."""
        return f"tsaug-{self.augmenter}"

    @property
    def invariance(self) -> str:
        """What the encoder learns to ignore."""
        return _ALLOWED[self.augmenter][0]

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Make a view of windows [B, L, C].

        Raises:
            ShapeError: The windows are not [B, L, C].
            NonFiniteError: A window holds NaN or infinity, which tsaug would spread.
        """
        if x.dim() != 3:
            raise ShapeError(f"{self.name} takes windows [B, L, C], found {list(x.shape)}")
        broken = (~torch.isfinite(x)).flatten(1).any(dim=1).nonzero().flatten().tolist()
        if broken:
            raise NonFiniteError(
                f"{self.name} was given NaN or infinity in {len(broken)} of {len(x)} windows "
                f"(first: {broken[:8]}) and would spread it; fill or drop those windows first"
            )
        seed = int(torch.randint(2**32, (1,), generator=generator, dtype=torch.int64))
        view = _augmenter_class(self.augmenter)(**self.settings, seed=seed).augment(x.cpu().numpy())
        out = torch.from_numpy(np.asarray(view, dtype=np.float32)).to(x)
        if out.shape != x.shape or not bool(torch.isfinite(out).all()):
            raise NonFiniteError(
                f"{self.name} with {dict(self.settings)} turned finite windows {list(x.shape)} "
                f"into {list(out.shape)} with NaN; choose milder settings"
            )
        return out


def _augmenter_class(name: str) -> Any:
    with warnings.catch_warnings():
        # tsaug 0.2.1 imports from a scipy namespace that is on its way out.
        warnings.simplefilter("ignore", DeprecationWarning)
        import tsaug  # noqa: PLC0415 - half a second that only its users pay
    return getattr(tsaug, name)


def _require_kernels(windows: Any, sizes: Any) -> None:
    """Refuse convolution kernels that sum to zero: tsaug divides by that sum."""
    every = windows if isinstance(windows, list) else [windows]
    lengths = range(*sizes) if isinstance(sizes, tuple) else sizes
    for window in every:
        for size in lengths if isinstance(lengths, (list, range)) else [lengths]:
            if not get_window(window, size, fftbins=False).sum() > 1e-9:
                raise SettingError(
                    f"tsaug's Convolve with a {window!r} window of size {size} has a kernel that "
                    "sums to zero and answers NaN; use a larger size"
                )
