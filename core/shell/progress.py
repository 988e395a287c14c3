"""How long loops show that they are alive.

Anything called like :func:`track` is a :class:`Progress`, so a trainer or a backtest takes one as
an argument and never asks where it runs. :func:`track` draws a bar when stderr is a terminal and
says nothing in a pipe; :func:`silent` says nothing anywhere. Another display goes here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Progress(Protocol):
    """Anything called like :func:`track`: it hands every item through, unchanged and in order."""

    def __call__(
        self, items: Iterable[Item], label: str, total: int | None = None
    ) -> Iterator[Item]:
        """Hand the items through, telling how far the loop has come."""


def silent(
    items: Iterable[Item],
    label: str,  # noqa: ARG001 - the protocol's argument
    total: int | None = None,  # noqa: ARG001
) -> Iterator[Item]:
    """Hand the items through and say nothing.

    >>> list(silent([1, 2, 3], "counting"))
    [1, 2, 3]
    """
    return iter(items)


def track(items: Iterable[Item], label: str, total: int | None = None) -> Iterator[Item]:
    """Hand the items through, with a bar on stderr when that is a terminal.

    Args:
        items: What the loop walks through.
        label: What the loop does, as a short phrase: ``"training"``.
        total: How many items there are; taken from ``len(items)`` where that is known.

    Returns:
        The same items in the same order. In a pipe or a log file nothing is printed.

    >>> sum(track([1, 2, 3], "adding"))
    6
    """
    if not sys.stderr.isatty():
        return silent(items, label, total)
    return _draw_bar(items, label, total)


def _draw_bar(items: Iterable[Item], label: str, total: int | None) -> Iterator[Item]:
    # A pipe never needs rich, so only a terminal pays for its import.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import track as draw  # noqa: PLC0415

    return iter(draw(items, label, total=total, console=Console(stderr=True), transient=True))
