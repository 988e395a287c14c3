"""Forecasting by what came before: a frame in, a frame and the episodes behind it out.

The anchor is a window of the past, the candidate a continuation that history has already shown,
and the forecast a weighing of what followed the windows most like the present one. Every answer
can name the episodes it leans on.

The door is lazy: importing it costs nothing, and a name loads its module when it is first used.
The names are listed once, in ``__init__.pyi``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
