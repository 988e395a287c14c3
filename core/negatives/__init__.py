"""What a positive is told apart from, and with which probability it was drawn.

Begin with ``samplers``, the contract: a name, a log q and a saved config. ``drawing``, ``queues``
and ``hard`` keep it; ``mining`` finds hard negatives through the index, and ``audit`` says what it
found, for reading by eye.
"""
