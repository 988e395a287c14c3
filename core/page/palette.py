"""The house colours, each once for a light and once for a dark ground.

Drawings use the light values; ``svg.py`` turns them into CSS variables of the same name and the
page defines both sets, so one drawing reads well on either ground.
"""

from __future__ import annotations

from typing import NamedTuple


class Colour(NamedTuple):
    """A colour by its CSS name, on a light and on a dark ground."""

    name: str
    light: str
    dark: str


PAPER = Colour("paper", "#fcfbf8", "#16181b")
RAISED = Colour("raised", "#f4f2ec", "#1e2125")
INK = Colour("ink", "#1f2326", "#e4e2dc")
MUTED = Colour("muted", "#6b7075", "#9a9fa5")
RULE = Colour("rule", "#dedad0", "#33373c")
SERIES = (
    Colour("series-1", "#2b5f8f", "#7db2e3"),
    Colour("series-2", "#c0562b", "#ec9468"),
    Colour("series-3", "#3f7d5c", "#7fc6a0"),
    Colour("series-4", "#8a5a9e", "#c7a0d8"),
    Colour("series-5", "#a98216", "#dcbb58"),
    Colour("series-6", "#4c8f9c", "#86c9d6"),
)
COLOURS = (PAPER, RAISED, INK, MUTED, RULE, *SERIES)
