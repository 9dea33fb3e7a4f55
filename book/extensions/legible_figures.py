"""Keep the words of drawings legible: each says how narrow it may be, and scrolls in its own box on a narrower page."""

import math
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LABEL, SCRIPT = 9.6, 8.5  # pixels, at least; a script is an exponent or an index
SVG = re.compile(r'(<figure class="bp-figure"[^>]*>\s*<svg\b)([^>]*)(>.*?</svg>)', re.DOTALL)
TEXT = re.compile(r"<text\b.*?</text>", re.DOTALL)
SIZE = re.compile(r'\bfont-size(?:="|: ?)([\d.]+)')


def least_width(head: str, body: str) -> float:
    """Return the pixels across below which a label or a script would be too small, if the drawing itself is wider."""
    width = float(re.search(r'\bwidth="([\d.]+)"', head)[1])  # type: ignore[index]  # both are in each drawing of course_lib.figures
    units = float(re.search(r'viewBox="\S+ \S+ ([\d.]+)', head)[1])  # type: ignore[index]  # as above
    scales = []
    for text in TEXT.findall(body):
        *scripts, label = sorted({float(size) for size in SIZE.findall(text) or SIZE.findall(head)})
        scales += [LABEL / label, *(SCRIPT / script for script in scripts)]
    return min(width, math.ceil(max(scales, default=0) * units))


def say_width(found: re.Match[str]) -> str:
    """Add that width to a drawing's style; graphs have one of their own."""
    before, head, body = found.groups()
    if "min-width" in head:
        return found[0]
    least = f'style="min-width:{least_width(head, body):g}px;'
    return before + head.replace('style="', least, 1) + body


def mend(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Do so in all drawings of a page."""
    if body := context.get("body"):
        context["body"] = SVG.sub(say_width, body)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
