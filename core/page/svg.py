"""SVG that a page can hold: one element, self-contained, and at home in the dark.

:func:`settle_svg` takes a plotting library's document and gives one ``<svg>`` element: colours of
the house palette become CSS variables, so that the page decides how they look on a light and on a
dark ground. :func:`check_svg` is the guard at the door, for drawings from anywhere.
"""

from __future__ import annotations

import hashlib
import re
from xml.etree import ElementTree

from ..errors import InputError, join_faults
from .palette import COLOURS

_DRAWING_ELEMENTS = {
    *("svg", "g", "defs", "symbol", "use", "title", "desc", "image"),
    *("path", "rect", "circle", "ellipse", "line", "polyline", "polygon"),
    *("text", "tspan", "textpath", "clippath", "mask", "pattern", "marker"),
    *("lineargradient", "radialgradient", "stop"),
}
_REFERENCE = re.compile(r"url\(\s*['\"]?(?!#)|@import|javascript:", re.IGNORECASE)
_HOUSE_COLOUR = re.compile("|".join(re.escape(c.light) for c in COLOURS), re.IGNORECASE)
_VARIABLE = {c.light: f"var(--{c.name}, {c.light})" for c in COLOURS}


def settle_svg(document: str) -> str:
    """Turn a matplotlib SVG document into one element that is at home in a page.

    Args:
        document: What ``savefig(format="svg")`` writes.

    Returns:
        The element, without prologue, comment, fixed size or outside reference; house colours as
        CSS variables, ids its own. Equal documents give equal elements.
    """
    return _own_ids(_house_colours(_bare_element(document)))


def check_svg(svg: str) -> None:
    """Refuse a drawing that is not one well-formed, self-contained ``<svg>`` element.

    Browsers read SVG inside a page by other rules than XML, so what is allowed is listed rather
    than what is not, and nothing that the two could read differently is let through.

    Raises:
        InputError: It cannot be parsed, has another root, or holds anything but plain drawing
            elements: a comment, a script, a style sheet, an event handler, a reference to
            another file. All faults are told at once.

    >>> check_svg('<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h1"/></svg>')
    """
    if "<!" in svg or "<?" in svg:
        raise InputError("svg: a prologue, comment or CDATA section; pass the bare <svg> element")
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise InputError(f"svg: not well-formed XML ({error}); pass one <svg> element") from error
    faults = [] if _local(root.tag) == "svg" else [f"the root is <{_local(root.tag)}>, not <svg>"]
    for element in root.iter():
        faults += _faults_of(element)
    if faults:
        raise InputError(f"svg: {join_faults(faults)}; draw it with figure_svg or remove them")


def _faults_of(element: ElementTree.Element) -> list[str]:
    name = _local(element.tag)
    faults = [] if name in _DRAWING_ELEMENTS else [f"a <{name}> element"]
    for key, value in element.attrib.items():
        attribute = _local(key)
        outside = attribute in {"href", "src"} and not value.startswith(("#", "data:image/"))
        if outside or attribute.startswith("on") or _REFERENCE.search(value):
            faults.append(f"{attribute}={value!r} on <{name}>")
    return faults


def _local(tag: str) -> str:
    return tag.rpartition("}")[2].lower()


def _bare_element(document: str) -> str:
    """Only the element: no prologue, comment, global style sheet, fixed size or xlink prefix."""
    element = document[document.index("<svg") :].strip()
    element = re.sub(r"<!--.*?-->\s*", "", element, flags=re.DOTALL)
    element = re.sub(r"<metadata>.*?</metadata>\s*", "", element, flags=re.DOTALL)
    element = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>\s*", "", element, flags=re.DOTALL)
    element = element.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    element = element.replace("xlink:href=", "href=")
    head, body = element.split(">", 1)
    width = re.search(r' width="([\d.]+)pt"', head)
    head = re.sub(r' (width|height|version)="[^"]*"', "", head)
    widest = f' style="max-width: {float(width[1]) / 72:.4g}in"' if width else ""
    return f'{head}{widest} stroke-linejoin="round" stroke-linecap="butt">{body}'


def _house_colours(svg: str) -> str:
    return _HOUSE_COLOUR.sub(lambda match: _VARIABLE[match[0].lower()], svg)


def _own_ids(svg: str) -> str:
    """Keep only the ids that are referred to, and make them this drawing's own."""
    prefix = "f" + hashlib.sha256(svg.encode()).hexdigest()[:8]
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))

    def rename(match: re.Match[str]) -> str:
        return f' id="{prefix}-{match[1]}"' if match[1] in used else ""

    svg = re.sub(r' id="([^"]*)"', rename, svg)
    return re.sub(r'(href="|url\()#', rf"\g<1>#{prefix}-", svg)
