"""Augmentations: views of a window or a row, each with the invariance that it teaches.

In come float32 windows ``[B, L, C]`` (or rows ``[B, F]``) and a generator, out comes a view of
the same shape. Two calls with one generator give two different views; the same seed gives the
same views again. What a view changes the encoder learns to ignore, so every augmentation says
in ``invariance`` what that is: leave out those whose change matters to the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ..errors import SettingError, ShapeError

_TELLING_ROWS = 32


class Augmentation(Protocol):
    """A frozen callable that makes a view."""

    @property
    def name(self) -> str:
        """Short name, saved with the model."""
        ...

    @property
    def invariance(self) -> str:
        """What the encoder learns to ignore."""
        ...

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Make a view of ``x`` with the shape and type of ``x``."""
        ...


@dataclass(frozen=True)
class Jitter:
    """Add normal noise of ``share`` times each window's own deviation, a channel at a time."""

    share: float = 0.1
    name: str = "jitter"
    invariance: str = "measurement noise"

    def __post_init__(self) -> None:
        _require_share(self.name, share=self.share, most=float("inf"))

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Make a view of windows [B, L, C]."""
        _require_windows(self.name, x)
        noise = torch.randn(x.shape, generator=generator).to(x)
        return x + self.share * x.std(dim=1, keepdim=True, correction=0) * noise


@dataclass(frozen=True)
class Scaling:
    """Multiply each channel of a window by exp(normal noise of deviation ``spread``)."""

    spread: float = 0.2
    name: str = "scaling"
    invariance: str = "amplitude"

    def __post_init__(self) -> None:
        _require_share(self.name, spread=self.spread, most=float("inf"))

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Make a view of windows [B, L, C]."""
        _require_windows(self.name, x)
        noise = torch.randn(x.shape[0], 1, x.shape[2], generator=generator).to(x)
        return x * torch.exp(self.spread * noise)


@dataclass(frozen=True)
class Masking:
    """Replace one stretch of ``share`` of the window by the mean of the rest, in all channels."""

    share: float = 0.2
    name: str = "masking"
    invariance: str = "short gaps"

    def __post_init__(self) -> None:
        _require_share(self.name, share=self.share, most=0.9)

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Make a view of windows [B, L, C]."""
        _require_windows(self.name, x)
        rows, steps, _ = x.shape
        length = round(self.share * steps)
        start = torch.randint(steps - length + 1, (rows, 1), generator=generator).to(x.device)
        step = torch.arange(steps, device=x.device)
        hidden = ((step >= start) & (step < start + length)).unsqueeze(2)
        rest = x.masked_fill(hidden, 0.0).sum(dim=1, keepdim=True) / max(steps - length, 1)
        return torch.where(hidden, rest, x)


@dataclass(frozen=True)
class CropResize:
    """Cut a stretch of at least ``least`` of the window and stretch it to full length."""

    least: float = 0.7
    name: str = "crop-resize"
    invariance: str = "tempo, and where the window begins and ends"

    def __post_init__(self) -> None:
        _require_share(self.name, least=self.least, most=1.0)

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Make a view of windows [B, L, C], interpolated linearly."""
        _require_windows(self.name, x)
        rows, steps, _ = x.shape
        draw = torch.rand(2, rows, 1, generator=generator).to(x)
        length = (self.least + (1.0 - self.least) * draw[0]) * (steps - 1)
        start = draw[1] * (steps - 1 - length)
        place = start + length * torch.linspace(0.0, 1.0, steps, device=x.device)
        return _read_between(x, place)


@dataclass(frozen=True)
class Reversal:
    """Turn a window around in time, with probability ``probability``."""

    probability: float = 0.5
    name: str = "reversal"
    invariance: str = "direction of time"

    def __post_init__(self) -> None:
        _require_share(self.name, probability=self.probability, most=1.0)

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Make a view of windows [B, L, C]."""
        _require_windows(self.name, x)
        turned = torch.rand(x.shape[0], 1, 1, generator=generator).to(x) < self.probability
        return torch.where(turned, x.flip(1), x)


@dataclass(frozen=True)
class Shift:
    """Move a window by up to ``most`` of its length; the value at the edge fills the gap."""

    most: float = 0.1
    name: str = "shift"
    invariance: str = "small delays"

    def __post_init__(self) -> None:
        _require_share(self.name, most_share=self.most, most=0.9)

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Make a view of windows [B, L, C]."""
        _require_windows(self.name, x)
        rows, steps, _ = x.shape
        reach = round(self.most * steps)
        moved = torch.randint(-reach, reach + 1, (rows, 1), generator=generator).to(x.device)
        place = (torch.arange(steps, device=x.device) + moved).clamp(0, steps - 1)
        return x.gather(1, place.unsqueeze(2).expand_as(x))


@dataclass(frozen=True, eq=False)
class CellCorruption:
    """Replace ``share`` of a row's cells by cells of the same column from other rows.

    Args:
        reference: float32 [N, F], rows whose columns give the marginals: those of the fit part.
        share: Probability of a cell to be replaced, 0 to 1.

    Source: SCARF (arXiv 2106.15147), algorithm 1.
    """

    reference: Tensor
    share: float = 0.3
    name: str = "cell-corruption"
    invariance: str = "any few columns of a row"

    def __post_init__(self) -> None:
        _require_share(self.name, share=self.share, most=1.0)
        if self.reference.dim() != 2 or len(self.reference) == 0:
            raise ShapeError(
                f"{self.name} needs reference rows [N, F], found {list(self.reference.shape)}"
            )

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Make a view of rows [B, F]."""
        if x.dim() != 2 or x.shape[1] != self.reference.shape[1]:
            raise ShapeError(
                f"{self.name} was given {list(x.shape)}, its reference has "
                f"{self.reference.shape[1]} columns; pass rows of the same table"
            )
        replaced = torch.rand(x.shape, generator=generator).to(x.device) < self.share
        rows = torch.randint(len(self.reference), x.shape, generator=generator)
        cells = self.reference.gather(0, rows.to(self.reference.device)).to(x)
        return torch.where(replaced, cells, x)


@dataclass(frozen=True)
class Chain:
    """Apply augmentations one after the other."""

    steps: tuple[Augmentation, ...]
    name: str = "chain"

    @property
    def invariance(self) -> str:
        """What the steps teach, joined."""
        return "; ".join(step.invariance for step in self.steps)

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Make a view with every step in turn."""
        for step in self.steps:
            x = step(x, generator)
        return x


def make_views(
    x: Tensor, augmentation: Augmentation, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Make two different views of one batch, to be pulled together.

    Args:
        x: What the augmentation takes.
        augmentation: Drawn twice.
        generator: Moved on by both draws.

    Returns:
        Two views of the shape of ``x``.

    Raises:
        SettingError: The augmentation draws nothing, so that both views of a batch are the same.

    >>> views = make_views(torch.randn(2, 8, 1), Jitter(), torch.Generator().manual_seed(0))
    >>> bool((views[0] != views[1]).any())
    True
    """
    first, second = augmentation(x, generator), augmentation(x, generator)
    # A small batch, or a constant one, may give equal views by chance.
    telling = len(x) >= _TELLING_ROWS and bool((x != x[:, :1]).any())
    if telling and torch.equal(first, second):
        raise SettingError(
            f"{augmentation.name} gives the same view twice, and pairs of equal views teach "
            "nothing; chain it with an augmentation that draws, or raise its strength"
        )
    return first, second


def list_invariances(augmentations: Sequence[Augmentation]) -> dict[str, str]:
    """Say what each augmentation teaches the encoder to ignore, by name."""
    return {one.name: one.invariance for one in augmentations}


def _read_between(x: Tensor, place: Tensor) -> Tensor:
    """Read windows [B, L, C] at fractional steps [B, L] by linear interpolation."""
    left = place.floor().long().clamp(0, x.shape[1] - 1)
    right = (left + 1).clamp_max(x.shape[1] - 1)
    part = (place - left).unsqueeze(2)
    before = x.gather(1, left.unsqueeze(2).expand_as(x))
    after = x.gather(1, right.unsqueeze(2).expand_as(x))
    return torch.lerp(before, after, part.expand_as(x))


def _require_windows(name: str, x: Tensor) -> None:
    if x.dim() != 3:
        raise ShapeError(f"{name} takes windows [B, L, C], found {list(x.shape)}")


def _require_share(name: str, *, most: float, **settings: float) -> None:
    for setting, value in settings.items():
        if not 0.0 <= value <= most:
            raise SettingError(f"{name} was given {setting}={value}; it must lie in 0 to {most}")
