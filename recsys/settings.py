"""What a generator is made of, in one frozen record that is saved with it.

In: plain settings. Out: :class:`GeneratorSettings`, checked. A new source gets a field here, a
place in ``fitting.py`` where it is fitted, and one in ``storage.py`` where it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..core import SettingError
from .content import ContentSettings
from .cooccurrence import CooccurrenceSettings
from .interactions import Merge
from .linear import LinearSettings
from .spectral import SpectralSettings
from .tower_settings import TowerSettings

Cooccurring: TypeAlias = CooccurrenceSettings | Literal["choose"] | None
Linear: TypeAlias = LinearSettings | Literal["choose"] | None
Spectral: TypeAlias = SpectralSettings | Literal["choose"] | None

USUAL_TOWER = TowerSettings()
USUAL_CONTENT = ContentSettings()
USUAL_WEIGHTS: Mapping[str, float] = {
    "tower": 0.3,
    "cooccurrence": 1.0,
    "spectral": 0.4,
    "linear": 2.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorSettings:
    """What a generator is made of.

    Attributes:
        tower: Of the learned tower; None for none.
        cooccurrence: Of the co-occurrence source; ``"choose"`` holds a fifth of each history back
            and takes the exponents that find it best; None for none.
        linear: Of the linear source; ``"choose"`` takes it where the catalogue is small enough and
            what was held back says that it helps; None for none.
        spectral: Of the spectral source; ``"choose"`` takes it where what was held back says that
            it helps; None for none.
        content: How an item table becomes numbers.
        weights: Weight of each source in the blend.
        quotas: How many of a source's own first items stand in each list.
        merge: What several events of one user with one item become.
        seed: Of everything random.
    """

    tower: TowerSettings | None = USUAL_TOWER
    cooccurrence: Cooccurring = "choose"
    linear: Linear = "choose"
    spectral: Spectral = "choose"
    content: ContentSettings = USUAL_CONTENT
    weights: Mapping[str, float] = field(default_factory=lambda: dict(USUAL_WEIGHTS))
    quotas: Mapping[str, int] = field(default_factory=dict)
    merge: Merge = "once"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.tower is None and self.cooccurrence is None:
            raise SettingError("a generator needs a tower or the co-occurrence source, or both")
        for name in ("cooccurrence", "linear", "spectral"):
            value = getattr(self, name)
            if isinstance(value, str) and value != "choose":
                raise SettingError(f"{name} is {value!r}; give settings, 'choose', or None")
        wrong = [name for name, weight in self.weights.items() if not weight >= 0]
        wrong += [name for name, quota in self.quotas.items() if quota < 0]
        if wrong:
            raise SettingError(f"weights and quotas are 0 or more; look at {', '.join(wrong)}")
