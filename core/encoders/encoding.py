"""What every encoder has in common: a frozen config, an output width, and plain checks.

In comes what one encoder module needs; the modules themselves are in ``window_encoder.py`` and
``encoders.py``. A habit that all encoders should share (first weights, layers) changes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..errors import SettingError, ShapeError


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """What an encoder is built from. ``kind`` names the module in saved files."""

    kind: str = field(default="", init=False)
    seed: int = 0


class Encoder(nn.Module):
    """Base of the encoders: a ``config``, an output ``width``, and a forward pass.

    Attributes:
        config: The settings, enough to build the module again.
        width: D, the length of an output vector.
    """

    config: EncoderConfig
    width: int
    config_type: ClassVar[type[EncoderConfig]] = EncoderConfig

    def require_positive(self, **settings: int) -> None:
        """Raise SettingError naming every setting below 1."""
        bad = [f"{name}={value}" for name, value in settings.items() if value < 1]
        if bad:
            raise SettingError(
                f"{type(self).__name__} was given {', '.join(bad)}; each must be 1 or more"
            )

    def require_shape(self, x: Tensor, expected: tuple[int, ...]) -> None:
        """Raise ShapeError unless ``x`` is [B, *expected]."""
        if tuple(x.shape[1:]) != expected:
            wanted = ", ".join(map(str, expected))
            raise ShapeError(
                f"{type(self).__name__} takes [B, {wanted}], found {list(x.shape)}; "
                "cut or reshape the input to that, or build the encoder for this shape"
            )


def build_mlp(features: int, hidden: Sequence[int], width: int, dropout: float) -> nn.Sequential:
    """Stack linear layers with GELU and dropout between; no hidden layer gives a linear map."""
    layers: list[nn.Module] = []
    for units in hidden:
        layers += [nn.Linear(features, units), nn.GELU(), nn.Dropout(dropout)]
        features = units
    return nn.Sequential(*layers, nn.Linear(features, width))


def silence_(body: nn.Sequential) -> None:
    """Zero the last layer, so that the body adds nothing until it learns to."""
    last = body[-1]
    assert isinstance(last, nn.Linear)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)


@torch.no_grad()
def set_linear_path_(
    linear: nn.Linear | None, body: nn.Sequential, weight: Tensor, bias: Tensor
) -> None:
    """Set the linear path and silence the body beside it."""
    if linear is None:
        raise SettingError("this encoder has no linear path to set; build it with linear_path=True")
    if weight.shape != linear.weight.shape or bias.shape != linear.bias.shape:
        raise ShapeError(
            f"a linear start needs weight {list(linear.weight.shape)} and bias "
            f"{list(linear.bias.shape)}, found {list(weight.shape)} and {list(bias.shape)}"
        )
    linear.weight.copy_(weight)
    linear.bias.copy_(bias)
    silence_(body)
