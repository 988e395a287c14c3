"""What an application adds to ``likewise demo``.

A chapter is told by a function ``tell(progress) -> Chapter``, found through the entry-point group
``likewise.chapters``: data in; blocks for the shared page and a table for the terminal out. The
shell binds all chapters into one page, so an application never writes a page of its own there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..shell.progress import Progress
from .blocks import Block


@dataclass(frozen=True)
class Chapter:
    """One application's part of the demonstration.

    Args:
        title: The chapter's heading on the page, and its entry in the contents.
        blocks: What the page shows below that heading, in order.
        printed: What the terminal shows, usually ``Table.as_text()``; may be empty.
    """

    title: str
    blocks: tuple[Block, ...]
    printed: str = ""


class Tell(Protocol):
    """A function that tells one chapter: it loads data, fits, and reports."""

    def __call__(self, progress: Progress) -> Chapter:
        """Tell the chapter, passing long loops through ``progress``."""
