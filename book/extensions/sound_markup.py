"""Mend what docutils writes and a screen reader stumbles over: lists without items, columns and rows without names."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

ROLES = (' role="list" class="citation-list"', ' class="citation-list"'), (' role="doc-biblioentry"', "")
TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)
EMPTY = r"<th\b[^>]*>\s*(?:<p>\s*</p>)?\s*</th>"
CORNER = re.compile(rf"(<thead>\s*<tr[^>]*>\s*){EMPTY}")
FIRST_CELL = re.compile(r"(<tr[^>]*>\s*)<td\b([^>]*)>(.*?)</td>", re.DOTALL)
REMARK = '<th class="head"><p class="visually-hidden">remark</p></th>'


def name_cells(found: re.Match[str]) -> str:
    """Name a table's cells: below an empty corner by the first of their row, else a column without a name "remark"."""
    head, mark, body = found[0].partition("<tbody>")
    named = CORNER.sub(r"\1<td></td>", head)
    if named != head:
        body = FIRST_CELL.sub(r'\1<th scope="row"\2>\3</th>', body)
    return re.sub(EMPTY, REMARK, named) + mark + body


def mend(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Name cells, and drop roles that are deprecated and unfinished."""
    if body := context.get("body"):
        for old, new in ROLES:
            body = body.replace(old, new)
        context["body"] = TABLE.sub(name_cells, body)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
