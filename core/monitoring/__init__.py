"""Does a fitted space still look as it did when it was good?

Begin with ``probes``, frozen at fitting, then ``guards``, which compare them with today.
``inspection`` looks into any bundle and stands behind ``likewise inspect`` and ``likewise check``.
"""
