"""Recommendation by what such a history took next. Not built yet: this room exports nothing.

It will hold two towers and a candidate generator. The anchor is a user's history or a session,
the candidates are items by id and content, and the answer is a list of raw item ids, each with
the source that proposed it and never padded to length.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
