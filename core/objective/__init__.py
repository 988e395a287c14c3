"""The loss: one similarity matrix, a few rows at a time, that serves loss, gradient and geometry.

Begin with ``objective`` (who the candidates are) and ``config`` (what can be set). The work is in
``tiling`` (one pass), ``rows`` (what a row costs) and ``contrast`` (the pass in the autograd
graph); ``masks`` say who must not be told apart. A new member of the loss family is a line in
``rows``.
"""
