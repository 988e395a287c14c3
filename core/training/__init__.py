"""The one optimisation loop, and what it needs to be repeated to the bit.

Begin with ``trainer``, then ``pairs``, what an application offers to be trained on. ``chunking``
and ``distributed`` are the two ways to a batch larger than one device holds, ``capacity`` and
``memory`` say how large it may be, ``checkpoint`` and ``runs`` carry a run over a break, ``tuning``
chooses temperature and rate by the probe.
"""
