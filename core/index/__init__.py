"""What was seen before, searched by similarity.

Begin with ``engine``, the contract of every index, then ``exact`` (the default and the truth) and
``hnsw`` (approximate, behind the ``gate``). ``scan`` is the exact search itself, ``scope`` who may
be answered, ``neighbours`` the answer. Larger similarity is nearer, and no answer is filler.
"""
