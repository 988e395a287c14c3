"""Measurements as they are made: a file of one JSON line each, so that a long run can go on.

A benchmark asks for a measurement by its key; what stands in the file is not measured again.
Whoever changes a scorer deletes its lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path


class Kept:
    """Measured numbers by key.

    Args:
        path: JSON lines to read and add to; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, list[float]] = {}
        if path is not None and path.exists():
            for line in path.read_text("utf-8").splitlines():
                one = json.loads(line)
                self._known["/".join(one["key"])] = one["value"]

    def get(self, key: Sequence[str], measure: Callable[[], Sequence[float]]) -> list[float]:
        """Give the numbers of a key, measured now if they are not known."""
        name = "/".join(key)
        if name not in self._known:
            self._known[name] = [float(one) for one in measure()]
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as opened:
                    opened.write(json.dumps({"key": list(key), "value": self._known[name]}) + "\n")
        return self._known[name]
