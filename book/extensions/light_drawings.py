"""Write matplotlib's drawings shorter, with every point where it was: a page that has many is painted sooner."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from docutils import nodes
from sphinx.application import Sphinx

DRAWING = re.compile(r'(<figure class="bp-figure"[^>]*>\s*)(<svg xmlns:xlink=.*?</svg>)', re.DOTALL)
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
STEP = re.compile(r"([MLz])\s*(?:(-?[\d.]+) (-?[\d.]+))?\s*")
LEVEL = re.compile(r"rotate\(-0 [^)]*\)")  # how matplotlib writes that a label is not turned


def shorten(svg: str) -> str:
    """Drop what draws nothing, draw areas of one look at once, and write lines as steps from point to point.

    >>> shorten('<svg xmlns="http://www.w3.org/2000/svg"><g><path d="M 0 1.5 L 2 1 z" style="fill: red"/></g></svg>')
    '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 1.5l2-.5z" style="fill:red"/></svg>'
    """
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(svg)  # noqa: S314 - the book drew it
    styles = {f"#{path.get('id')}": path.get("style") for path in root.iter(f"{{{SVG}}}path")}
    _tidy(root)
    for element in root.iter():
        _shorten_attributes(element.attrib, styles)
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")


def _tidy(element: Element) -> None:
    """Keep of an element's children those that draw, without the space around them; a text is left as it is."""
    if element.tag == f"{{{SVG}}}text":
        return
    element.text = None
    for child in element:
        _tidy(child)
        child.tail = None
    element[:] = _merge(_list_drawn(element))


def _list_drawn(element: Element) -> Iterator[Element]:
    for child in element:
        name = child.tag.removeprefix(f"{{{SVG}}}")
        if name == "g" and not child.attrib:
            yield from child
        elif (len(child) or name not in {"g", "defs", "style"}) and child.get("style") != "fill: none":
            yield child


def _merge(children: Iterator[Element]) -> list[Element]:
    """Join neighbours of one look, each to the right of the one before: where two met, a joint would be seen."""
    kept: list[Element] = []
    for child in children:
        if kept and _look(child) == _look(kept[-1]) != {} and max(_xs(kept[-1])) < min(_xs(child)):
            kept[-1].set("d", kept[-1].get("d", "") + child.get("d", ""))
        else:
            kept.append(child)
    return kept


def _look(element: Element) -> dict[str, str]:
    """Return all about an area but where it is; nothing for what is no area, or has an outline or a name."""
    style = element.get("style", "")
    plain = element.tag == f"{{{SVG}}}path" and style.startswith("fill:") and "stroke" not in style
    if not plain or "id" in element.attrib or STEP.sub("", element.get("d", "")):
        return {}
    return {name: value for name, value in element.attrib.items() if name != "d"}


def _xs(path: Element) -> list[Decimal]:
    return [Decimal(x) for _, x, _ in STEP.findall(path.get("d", "")) if x]


def _shorten_attributes(attributes: dict[str, str], styles: dict[str, str | None]) -> None:
    if "style" in attributes and attributes["style"] == styles.get(attributes.get(f"{{{XLINK}}}href", "")):
        del attributes["style"]  # the mark that is used has it
    elif "style" in attributes:
        attributes["style"] = re.sub(r"([:;]) ", r"\1", attributes["style"])
    if LEVEL.fullmatch(attributes.get("transform", "")):
        del attributes["transform"]
    if "d" in attributes:
        attributes["d"] = shorten_path(attributes["d"])


def shorten_path(path: str) -> str:
    """Write a path of straight lines as steps; they are exact, being differences of decimals.

    >>> shorten_path("M 83.14 119.06 L 368.72 119.06 L 368.72 3 L 370 3.5 z")
    'M83.14 119.06h285.58v-116.06l1.28.5z'
    """
    if STEP.sub("", path):
        return " ".join(path.split())  # it has curves
    parts, x, y, start = [], Decimal(0), Decimal(0), (Decimal(0), Decimal(0))
    for letter, *place in STEP.findall(path):
        if letter == "z":
            parts.append(letter)
            x, y = start
            continue
        (before_x, before_y), (x, y) = (x, y), map(Decimal, place)
        parts.append(f"M{_join(x, y)}" if letter == "M" else _write_step(x - before_x, y - before_y))
        start = (x, y) if letter == "M" else start
    return "".join(parts)


def _write_step(dx: Decimal, dy: Decimal) -> str:
    if dx and dy:
        return f"l{_join(dx, dy)}"
    return f"h{_join(dx)}" if dx else f"v{_join(dy)}"


def _join(*numbers: Decimal) -> str:
    """Write numbers with no more between them than a path needs."""
    words = [re.sub(r"^(-?)0\.", r"\1.", f"{number.normalize():f}") for number in numbers]
    return re.sub(r" (?=-)|(?<=\.\d) (?=\.)|(?<=\.\d\d) (?=\.)", "", " ".join(words))


def mend(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Do so with all of a page's drawings."""
    if body := context.get("body"):
        context["body"] = DRAWING.sub(lambda found: found[1] + shorten(found[2]), body)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", mend, priority=900)  # after legible_figures, which measures them
    return {"parallel_read_safe": True, "parallel_write_safe": True}
