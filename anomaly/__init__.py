"""Detection by distance from the normal. Not built yet: this room exports nothing.

It will hold a PyOD detector for rows and one for windows of a series. The anchor is the row to
judge, the candidates are verified-normal rows, and the score is how far it lies from anything
normal, with the neighbours as evidence and a measured register of what it cannot see.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
