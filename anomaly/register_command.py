"""What ``likewise anomaly register`` does: measure where needed, save, and print.

In: a bundle of rows or of series, which differ only in how they are measured. Out: the bundle with
its register, lines on the terminal.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..core import track
from .detector import NeighbourDetector
from .row_register import measure_row_register
from .series import SeriesDetector
from .telling import tell_register
from .window_register import measure_window_register


def show_register(bundle: Path, *, of_series: bool, again: bool, count: int, seed: int) -> None:
    """Show what the detector in a bundle cannot see.

    Args:
        bundle: Folder of the detector; keeps the register.
        of_series: Whether it is a detector of series.
        again: Whether a register that is there is measured again.
        count: Injections a kind and severity.
        seed: Of the injections.
    """
    detector: NeighbourDetector | SeriesDetector
    if of_series:
        detector = SeriesDetector.load(bundle)
        measure = partial(measure_window_register, detector)
    else:
        detector = NeighbourDetector.load(bundle)
        measure = partial(measure_row_register, detector)
    if again or detector.register_ is None:
        measure(count=count, seed=seed, progress=track)
        detector.save(bundle)
    tell_register(detector.register_, whole=True)
