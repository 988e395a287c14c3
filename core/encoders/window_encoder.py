"""The window encoder: several scales of learned filters beside a linear path.

In comes float32 ``[B, L, C]``, out goes float32 ``[B, D]``, not normalised. The features are made
of matrix products alone, so a step costs little on two CPU cores. What a window is read for
(scales, patches, filters) changes here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..seeds import seeded
from .encoding import Encoder, EncoderConfig, set_linear_path_, silence_


@dataclass(frozen=True, kw_only=True)
class WindowEncoderConfig(EncoderConfig):
    """Settings of :class:`WindowEncoder`."""

    kind: str = field(default="window", init=False)
    lookback: int
    width: int
    channels: int
    hidden: int
    filters: int
    patch: int
    scales: int
    dropout: float
    linear_path: bool


class WindowEncoder(Encoder):
    """Encode a window at several scales, beside a linear path.

    Scale ``i`` averages ``2**i`` neighbouring steps, cuts overlapping patches and reads each with
    one bank of learned filters (a strided convolution). The oldest steps are left out where a
    scale does not divide the window, never the newest. With ``linear_path`` the module starts as
    a random linear map and learns how far to leave it.

    Args:
        lookback: L, steps in a window, >= 1.
        width: D, length of an output vector.
        channels: C, values a step.
        hidden: Units between features and output.
        filters: Filters in the bank of each scale.
        patch: Steps a filter sees, at its scale; shortened to the window where needed.
        scales: How many scales, coarse ones that hold less than one patch left out.
        dropout: Share of hidden units dropped while training, 0 <= dropout < 1.
        linear_path: Whether a linear map of the window is added to the output.
        seed: Seed of the first weights.

    Source: ours; multi-scale patches after PatchTST (arXiv 2211.14730) and DLinear's linear path
        (arXiv 2205.13504).

    >>> WindowEncoder(24, 8)(torch.zeros(3, 24, 1)).shape
    torch.Size([3, 8])
    """

    config_type = WindowEncoderConfig
    config: WindowEncoderConfig

    def __init__(
        self,
        lookback: int,
        width: int,
        *,
        channels: int = 1,
        hidden: int = 128,
        filters: int = 16,
        patch: int = 8,
        scales: int = 3,
        dropout: float = 0.0,
        linear_path: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.require_positive(lookback=lookback, width=width, channels=channels, hidden=hidden)
        self.require_positive(filters=filters, patch=patch, scales=scales)
        self.config = WindowEncoderConfig(
            lookback=lookback,
            width=width,
            channels=channels,
            hidden=hidden,
            filters=filters,
            patch=patch,
            scales=scales,
            dropout=dropout,
            linear_path=linear_path,
            seed=seed,
        )
        self.width = width
        self._patch = min(patch, lookback)
        self._stride = max(1, self._patch // 2)
        kept = [2**i for i in range(scales) if lookback >> i >= self._patch]
        self._pools = kept
        patches = sum((lookback // pool - self._patch) // self._stride + 1 for pool in kept)
        with seeded(seed):
            self.linear = nn.Linear(lookback * channels, width) if linear_path else None
            self.banks = nn.ModuleList(nn.Linear(self._patch * channels, filters) for _ in kept)
            self.body = nn.Sequential(
                nn.Linear(lookback * channels + patches * filters, hidden),
                nn.GELU(),
                nn.Dropout(dropout),
                nn.Linear(hidden, width),
            )
        if linear_path:
            silence_(self.body)

    def forward(self, windows: Tensor) -> Tensor:
        """Encode ``windows`` [B, L, C] as [B, D].

        Raises:
            ShapeError: The windows are not [B, lookback, channels].
        """
        self.require_shape(windows, (self.config.lookback, self.config.channels))
        flat = windows.flatten(1)
        features = [flat]
        for pool, bank in zip(self._pools, self.banks, strict=True):
            patches = self._cut_patches(_average(windows, pool))
            features.append(F.gelu(bank(patches)).flatten(1))
        out: Tensor = self.body(torch.cat(features, dim=1))
        return out if self.linear is None else out + self.linear(flat)

    def _cut_patches(self, windows: Tensor) -> Tensor:
        # Patches end at the newest step; what does not come out even is left out at the oldest.
        oldest = (windows.shape[1] - self._patch) % self._stride
        return windows[:, oldest:].unfold(1, self._patch, self._stride).flatten(2)

    def become_linear_(self, weight: Tensor, bias: Tensor) -> None:
        """Equal ``flat window @ weight.T + bias`` exactly, as a start to learn from.

        Args:
            weight: [D, L * C], over the window flattened step by step.
            bias: [D].

        Raises:
            SettingError: The encoder was built without a linear path.
        """
        set_linear_path_(self.linear, self.body, weight, bias)


def _average(windows: Tensor, pool: int) -> Tensor:
    if pool == 1:
        return windows
    batch, lookback, channels = windows.shape
    steps = lookback // pool
    return windows[:, lookback - steps * pool :].reshape(batch, steps, pool, channels).mean(dim=2)
