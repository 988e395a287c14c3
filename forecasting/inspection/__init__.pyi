from .clock import ClockCheck, check_clock
from .nearest import NearestStretches, nearest_stretches
from .pages import clock_blocks, neighbour_blocks, regime_blocks
from .quality import describe_quality, find_duplicates
from .regimes import Regimes, find_regimes
from .similar import cut_stretch, find_similar

__all__ = [
    "ClockCheck",
    "NearestStretches",
    "Regimes",
    "check_clock",
    "clock_blocks",
    "cut_stretch",
    "describe_quality",
    "find_duplicates",
    "find_regimes",
    "find_similar",
    "nearest_stretches",
    "neighbour_blocks",
    "regime_blocks",
]
