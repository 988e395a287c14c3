"""One page that shows what was found: a self-contained HTML file laid from blocks.

Blocks (``blocks.py``) come in, one file goes out. The file refers to nothing outside itself and
runs no script, so it can be mailed, archived and opened offline; it follows the reader's light or
dark setting and prints. How a page looks is decided in ``templates/``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata, resources
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from .blocks import Block, Heading
from .palette import COLOURS


@dataclass
class Page:
    """A report page.

    Args:
        title: The page's title.
        subtitle: One sentence below it.
        blocks: What the page shows, in order.

    >>> page = Page("A day in June", "Hourly temperatures against what such days did before")
    >>> page.add(Heading("What happened next", level=1)).html().startswith("<!doctype html>")
    True
    """

    title: str
    subtitle: str = ""
    blocks: list[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> Page:
        """Append blocks, and give the page back."""
        self.blocks.extend(blocks)
        return self

    @property
    def contents(self) -> list[Heading]:
        """The headings that open a chapter, in order."""
        return [b for b in self.blocks if isinstance(b, Heading) and b.level == 1]

    def html(self) -> str:
        """The page as one HTML document. The same blocks give the same text."""
        return _template().render(
            page=self, css=_style_sheet(), version=metadata.version("likewise")
        )

    def write(self, path: str | Path) -> Path:
        """Write the page, with the folders above it, and give its path back."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.html(), encoding="utf-8", newline="\n")
        return path


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["paragraphs"] = _set_paragraphs
    return environment.get_template("page.html")


@cache
def _style_sheet() -> Markup:
    light = "".join(f"--{colour.name}: {colour.light}; " for colour in COLOURS)
    dark = "".join(f"--{colour.name}: {colour.dark}; " for colour in COLOURS)
    sheet = resources.files(__package__).joinpath("templates/page.css").read_text("utf-8")
    return Markup(
        f":root {{ {light}}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}\n{sheet}"
    )


def _set_paragraphs(text: str) -> Markup:
    """Part text at blank lines and set phrases between backticks as code; escape all of it."""
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    return Markup("\n").join(
        Markup("<p>{}</p>").format(
            Markup("").join(
                Markup("<code>{}</code>").format(phrase) if at % 2 else escape(phrase)
                for at, phrase in enumerate(re.split(r"`([^`]+)`", paragraph))
            )
        )
        for paragraph in paragraphs
    )
