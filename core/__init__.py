"""The contrastive core: tensors in, vectors, neighbours and reports out.

Core knows anchors, candidates, vectors and rows; it knows no series, no alert and no user. The
three applications are built from the names below and from nothing else in here, so whatever an
application needs of core passes through this door.

The door is lazy: importing it costs nothing, and a name loads its module when it is first used.
The names are listed once, in ``__init__.pyi``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
