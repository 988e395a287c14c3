"""Reports: one self-contained HTML page, laid from blocks.

Begin with ``blocks``, what a page can hold, and ``report``, the page. ``plots`` and ``palette``
give drawings one look, ``svg`` makes them safe to embed, ``templates`` decide how all is set.
``chapters`` is what an application offers for ``likewise demo``.
"""
