"""What the parts of a detector ignore, and which faults that may hide.

In: augmentations and the names of a detector's parts. Out: the list that heads every register. An
augmentation that is not in the table is still listed, by its own sentence, with every kind of
fault under suspicion: nothing that teaches an invariance goes unnamed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core import Augmentation
from .blindspots import Invariance
from .injection import WINDOW_FAULTS

HIDDEN_BY: dict[str, tuple[str, ...]] = {
    "jitter": ("variance up", "quantisation"),
    "scaling": ("amplitude",),
    "masking": ("missing run", "flatline"),
    "crop-resize": ("frequency", "phase"),
    "reversal": ("reversal",),
    "shift": ("phase",),
    "tsaug-AddNoise": ("variance up", "quantisation"),
    "tsaug-Convolve": ("variance down", "spike", "quantisation"),
    "tsaug-Drift": ("trend", "level shift"),
    "tsaug-Dropout": ("missing run", "flatline"),
    "tsaug-Pool": ("variance down", "spike", "quantisation"),
    "tsaug-Quantize": ("quantisation",),
    "tsaug-Reverse": ("reversal",),
    "tsaug-TimeWarp": ("frequency", "phase"),
}
"""Augmentation -> kinds of window fault that look like what it does."""

SPHERE = Invariance("unit sphere", "the length of a learned vector", ("amplitude", "level shift"))
SPHERE_OF_ROWS = Invariance(
    "unit sphere", "the length of a learned vector", ("scale error", "far cluster")
)
NEIGHBOUR_ROWS = Invariance(
    "near neighbours as positives",
    "differences as small as those between neighbours",
    ("cell error",),
)
CROWD = Invariance(
    "crowd around a row",
    "a part of the distance where normal rows lie far from each other",
    ("between modes", "far cluster"),
)
NEIGHBOUR_WINDOWS = Invariance(
    "windows a few steps apart as positives", "delays of a few steps", ("phase",)
)
STANDARD_SCALE = Invariance(
    "standard scale", "the unit of a column; columns far from normal weigh as much as any", ()
)
CHANNELS_ALONE = Invariance(
    "channels compared one by one", "what channels have to do with each other",
    ("channel decorrelation",),
)  # fmt: skip
LEVELS = Invariance(
    "levels of a window", "order in time", ("reversal", "phase", "frequency", "swap")
)
SPECTRUM = Invariance("spectrum of a window", "when things happen", ("phase", "reversal"))
LAST_STEP = Invariance("last step alone", "order and neighbourhood in time", ())
POOLING = Invariance(
    "patches at several scales", "detail finer than a patch at the coarse scales",
    ("spike", "quantisation"),
)  # fmt: skip


def kinds_hidden_by(augmentations: Sequence[Augmentation]) -> frozenset[str]:
    """Name the kinds of window fault that augmentations teach an encoder to ignore."""
    return frozenset(kind for one in augmentations for kind in HIDDEN_BY.get(one.name, ()))


def list_window_invariances(
    parts: Sequence[str], augmentations: Sequence[Augmentation]
) -> tuple[Invariance, ...]:
    """List everything a detector of windows ignores by construction or by training."""
    by_part = {
        "point": (LAST_STEP,),
        "window": (CHANNELS_ALONE,),
        "residual": (),
        "levels": (LEVELS,),
        "spectrum": (CHANNELS_ALONE, SPECTRUM),
        "learned": (SPHERE, POOLING, NEIGHBOUR_WINDOWS),
    }
    fixed = dict.fromkeys([STANDARD_SCALE, *(one for part in parts for one in by_part[part])])
    every = tuple(fault.name for fault in WINDOW_FAULTS)
    taught = [
        Invariance(one.name, one.invariance, HIDDEN_BY.get(one.name, every))
        for one in augmentations
    ]
    return (*fixed, *(taught if "learned" in parts else ()))


def list_row_invariances(*, learned: bool) -> tuple[Invariance, ...]:
    """List everything a detector of rows ignores by construction or by training."""
    taught = (SPHERE_OF_ROWS, NEIGHBOUR_ROWS, CROWD)
    return (STANDARD_SCALE, *(taught if learned else ()))
