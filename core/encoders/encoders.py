"""Encoders: modules that turn vectors, rows or bags into vectors of one width, and their table.

In comes float32 ``[B, ...]`` (or :class:`~likewise.core.Bags`), out goes float32 ``[B, D]``,
not normalised: the sphere belongs to ``core/geometry.py``. Every encoder holds a frozen ``config``
from which :func:`build_encoder` makes the same module again, and draws its first weights from its
own seed. The window encoder has its own file. A new encoder is a config, a module and one line in
the table at the bottom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import SettingError
from ..seeds import seeded
from .encoding import Encoder, EncoderConfig, build_mlp, set_linear_path_, silence_
from .item_bag import ItemBagEncoder
from .window_encoder import WindowEncoder


@dataclass(frozen=True, kw_only=True)
class VectorEncoderConfig(EncoderConfig):
    """Settings of :class:`VectorEncoder`."""

    kind: str = field(default="vector", init=False)
    features: int
    width: int
    hidden: tuple[int, ...]
    dropout: float
    linear_path: bool


@dataclass(frozen=True, kw_only=True)
class RowEncoderConfig(EncoderConfig):
    """Settings of :class:`RowEncoder`."""

    kind: str = field(default="row", init=False)
    features: int
    learned: int
    hidden: tuple[int, ...]
    fourier: int
    fourier_scale: float
    dropout: float


class VectorEncoder(Encoder):
    """Encode a plain vector (a continuation, an embedding from elsewhere) with a small MLP.

    Args:
        features: Length of an input vector.
        width: D, length of an output vector.
        hidden: Units of each hidden layer; empty for a linear map.
        dropout: Share of hidden units dropped while training, 0 <= dropout < 1.
        linear_path: Whether a linear map of the input is added to the output.
        seed: Seed of the first weights.

    >>> VectorEncoder(12, 8)(torch.zeros(3, 12)).shape
    torch.Size([3, 8])
    """

    config_type = VectorEncoderConfig
    config: VectorEncoderConfig

    def __init__(
        self,
        features: int,
        width: int,
        *,
        hidden: Sequence[int] = (128,),
        dropout: float = 0.0,
        linear_path: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.require_positive(features=features, width=width)
        self.config = VectorEncoderConfig(
            features=features,
            width=width,
            hidden=tuple(hidden),
            dropout=dropout,
            linear_path=linear_path,
            seed=seed,
        )
        self.width = width
        with seeded(seed):
            self.linear = nn.Linear(features, width) if linear_path else None
            self.body = build_mlp(features, hidden, width, dropout)
        if linear_path:
            silence_(self.body)

    def forward(self, vectors: Tensor) -> Tensor:
        """Encode ``vectors`` [B, features] as [B, D].

        Raises:
            ShapeError: The vectors are not [B, features].
        """
        self.require_shape(vectors, (self.config.features,))
        out: Tensor = self.body(vectors)
        return out if self.linear is None else out + self.linear(vectors)

    def become_linear_(self, weight: Tensor, bias: Tensor) -> None:
        """Equal ``vectors @ weight.T + bias`` exactly; see the window encoder."""
        set_linear_path_(self.linear, self.body, weight, bias)


class RowEncoder(Encoder):
    """Encode a table row so that the row itself can be read back from its vector.

    A vector is the row, a constant 1, and ``learned`` coordinates behind them. The constant
    survives normalisation as ``1 / norm``, so :meth:`recover` gives the row again, and a neighbour
    in the embedding can be explained in the columns of the table.

    Args:
        features: Columns of a row, standardised by the caller.
        learned: Learned coordinates; D is ``features + 1 + learned``.
        hidden: Units of each hidden layer.
        fourier: Random Fourier features fed to the MLP beside the row, 0 for none.
        fourier_scale: Standard deviation of their frequencies; larger resolves finer differences.
        dropout: Share of hidden units dropped while training, 0 <= dropout < 1.
        seed: Seed of the first weights and of the frequencies.

    Source: ours; Fourier features after Rahimi and Recht (2007).

    >>> encoder = RowEncoder(2, learned=3)
    >>> encoder.recover(nn.functional.normalize(encoder(torch.tensor([[1.0, -2.0]])), dim=1))
    tensor([[ 1., -2.]], grad_fn=<DivBackward0>)
    """

    config_type = RowEncoderConfig
    config: RowEncoderConfig

    def __init__(
        self,
        features: int,
        *,
        learned: int = 32,
        hidden: Sequence[int] = (128,),
        fourier: int = 0,
        fourier_scale: float = 1.0,
        dropout: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.require_positive(features=features, learned=learned)
        self.config = RowEncoderConfig(
            features=features,
            learned=learned,
            hidden=tuple(hidden),
            fourier=fourier,
            fourier_scale=fourier_scale,
            dropout=dropout,
            seed=seed,
        )
        self.width = features + 1 + learned
        with seeded(seed):
            self.register_buffer("frequencies", fourier_scale * torch.randn(features, fourier))
            self.register_buffer("phases", 2 * torch.pi * torch.rand(fourier))
            self.body = build_mlp(features + fourier, hidden, learned, dropout)

    def forward(self, rows: Tensor) -> Tensor:
        """Encode ``rows`` [B, features] as [B, features + 1 + learned].

        Raises:
            ShapeError: The rows are not [B, features].
        """
        self.require_shape(rows, (self.config.features,))
        waves = torch.cos(rows @ self.get_buffer("frequencies") + self.get_buffer("phases"))
        learned = self.body(torch.cat([rows, waves], dim=1))
        return torch.cat([rows, torch.ones_like(rows[:, :1]), learned], dim=1)

    def recover(self, vectors: Tensor) -> Tensor:
        """Read rows [B, features] back from vectors [B, D], normalised or not."""
        self.require_shape(vectors, (self.width,))
        features = self.config.features
        return vectors[:, :features] / vectors[:, features : features + 1]


def build_encoder(config: EncoderConfig | Mapping[str, Any]) -> Encoder:
    """Build the module that a config describes, with its first weights.

    Args:
        config: A config, or the mapping that :func:`describe_encoder` made of one.

    Raises:
        SettingError: No encoder of that kind is known, or its settings are not complete.
    """
    settings = asdict(config) if isinstance(config, EncoderConfig) else dict(config)
    kind = settings.pop("kind", None)
    if kind not in _KINDS:
        raise SettingError(f"no encoder of kind {kind!r}; known are {', '.join(sorted(_KINDS))}")
    built = _KINDS[kind]
    known = {one.name for one in fields(built.config_type)} - {"kind"}
    if known != set(settings):
        unknown, missing = sorted(set(settings) - known), sorted(known - set(settings))
        raise SettingError(
            f"encoder {kind!r} takes exactly {', '.join(sorted(known))}; "
            f"unknown here: {', '.join(unknown) or 'none'}, missing: {', '.join(missing) or 'none'}"
        )
    if built is ItemBagEncoder:
        columns = settings.pop("content")
        settings["content"] = torch.zeros(settings["items"], columns) if columns else None
    encoder: Encoder = built(**settings)
    return encoder


def describe_encoder(encoder: Encoder) -> dict[str, Any]:
    """Write an encoder's config as a plain mapping for JSON; :func:`build_encoder` reads it."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(encoder.config).items()
    }


_KINDS: dict[str, Any] = {
    "window": WindowEncoder,
    "vector": VectorEncoder,
    "row": RowEncoder,
    "item-bag": ItemBagEncoder,
}
