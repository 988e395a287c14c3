"""From data to vectors: encoders, two towers that meet on one sphere, and views of one thing.

Begin with ``dual``, the pair of towers that is trained and served. Each encoder has a frozen
config from which it is built again; ``fingerprint`` says which weights made a vector, and
``augment`` makes the views a pair can be taken from.
"""
