"""Recommendation by what such a history took next: for each user, the items a ranker should see.

The anchor is a user's history or a session, the candidates are items by id and content, and the
answer is a table of raw item ids, each with the source that proposed it and never padded to length.

The door is lazy: importing it costs nothing, and a name loads its module when it is first used.
The names are listed once, in ``__init__.pyi``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
