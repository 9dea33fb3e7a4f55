"""Mend what docutils writes and a screen reader stumbles over: lists without items, columns without names."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

EMPTY_HEADING = re.compile(r"<th\b[^>]*>\s*(?:<p>\s*</p>)?\s*</th>")
ROLES = (' role="list" class="citation-list"', ' class="citation-list"'), (' role="doc-biblioentry"', "")


def mend(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Replace empty headings by empty cells, and drop roles that are deprecated and unfinished."""
    if body := context.get("body"):
        for old, new in ROLES:
            body = body.replace(old, new)
        context["body"] = EMPTY_HEADING.sub("<td></td>", body)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
