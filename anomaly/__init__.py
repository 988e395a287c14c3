"""Detection by distance from the normal, with the blind spots measured beforehand.

Fit a detector on verified-normal rows (:class:`NeighbourDetector`) or series
(:class:`SeriesDetector`); it scores others by how far they are from anything normal, alerts above a
level that held-out normals exceed at a stated rate, shows the neighbours behind every alert, and
carries a register of what it cannot see.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
