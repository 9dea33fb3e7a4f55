"""Say at the foot of a page what the next one is good for, as the contents on the first page do.

The template is ``components/prev-next.html``.
"""

import html
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def read_reasons(app: Sphinx, doctree: nodes.document) -> None:
    """Keep, from the list of contents, what is said of each page."""
    if app.env.docname == app.config.root_doc:
        items = (item.next_node(nodes.paragraph) for item in doctree.findall(nodes.list_item))
        app.env.book_reasons = {
            link["reftarget"]: "".join(map(_markup, said)).lstrip(": ")
            for link, *said in (item.children for item in items)
            if isinstance(link, addnodes.pending_xref)
        }


def _markup(node: nodes.Node) -> str:
    text = html.escape(node.astext().replace("\n", " "))
    return f"<code>{text}</code>" if isinstance(node, nodes.literal) else text


def add(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Give a page the reason to go on to the next."""
    _, _, following = app.builder.relations.get(page, (None, None, None))
    context["next_reason"] = app.env.book_reasons.get(following, "")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", read_reasons)
    app.connect("html-page-context", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
