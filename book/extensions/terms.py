"""Show a term's definition where the pointer or the keyboard is on it: the glossary's words, for ``terms.js``."""

import html
import json
from pathlib import Path
from typing import Any

from docutils import nodes
from search import words_of
from sphinx.application import Sphinx

PAGE = "glossary"
LONGEST = 320  # letters; a longer definition ends after the sentence before, and the link has the rest


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write each term's definition under its id."""
    if exception is not None or app.builder.format != "html":
        return
    found = {}
    for item in app.env.get_doctree(PAGE).findall(nodes.definition_list_item):
        *terms, definition = item.children
        for term in terms:
            if term["ids"]:
                found[term["ids"][0]] = f"<b>{html.escape(words_of(term))}</b> {_markup(definition)}"
    script = f"const bookTerms = {json.dumps(found, ensure_ascii=False, separators=(',', ':'))};\n"
    (Path(app.outdir) / "_static" / "terms-text.js").write_text(script, "utf-8")


def _markup(definition: nodes.Node) -> str:
    """Return the first sentences, with code as code."""
    kept, length = [], 0
    for node in definition.next_node(nodes.paragraph).children:
        text = words_of(node) if not isinstance(node, nodes.Text) else str(node).replace("\n", " ")
        if length + len(text) > LONGEST and length > LONGEST // 3:
            end = text.find(". ")
            kept.append(html.escape(text[: end + 1] if end >= 0 and isinstance(node, nodes.Text) else "…"))
            break
        length += len(text)
        kept.append(f"<code>{html.escape(text)}</code>" if isinstance(node, nodes.literal) else html.escape(text))
    return "".join(kept)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", write)
    app.add_js_file("terms.js", loading_method="defer")
    app.add_css_file("terms.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
