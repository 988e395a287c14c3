"""All faults of one frame, told at once.

Checks put what they find into one :class:`Faults`; the reader raises it when every check that can
still run has run. Faults of one kind raise that kind, several kinds raise InputError.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..core import InputError, join_faults

# Rows spelt out for one kind of fault; the rest is counted.
SHOWN_ROWS = 5


class Faults:
    """Faults in reading order, each with the error it would raise alone."""

    def __init__(self) -> None:
        self._told: list[tuple[type[InputError], str]] = []

    def add(self, kind: type[InputError], text: str) -> None:
        """Remember one fault."""
        self._told.append((kind, text))

    def add_rows(
        self, kind: type[InputError], rows: NDArray[np.int64], tell: Callable[[int], str]
    ) -> None:
        """Remember one fault a row; a long list is counted after its first rows."""
        for row in rows[:SHOWN_ROWS].tolist():
            self.add(kind, tell(row))
        if len(rows) > SHOWN_ROWS:
            self.add(kind, f"{len(rows) - SHOWN_ROWS} more faults like the one before")

    def raise_any(self) -> None:
        """Raise everything that was remembered as one error; return when there is nothing.

        Raises:
            InputError: Of the most specific class that covers all faults.
        """
        if not self._told:
            return
        kinds = {kind for kind, _ in self._told}
        texts = [text for _, text in self._told]
        raise (kinds.pop() if len(kinds) == 1 else InputError)(join_faults(texts, shown=len(texts)))
