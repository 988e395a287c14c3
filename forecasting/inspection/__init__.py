"""Inspection: what a person should look at before trusting a forecaster, or a library of series.

Does the embedding read the clock, which regimes are there, where else did it look like this, what
is in the library twice. Nothing here changes a model or the data. The door is lazy, as the room's.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
