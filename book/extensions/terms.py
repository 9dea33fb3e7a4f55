"""Show a definition where the pointer or the keyboard is on a term of the glossary or a name of the library.

What ``terms.js`` shows is written here: the glossary's words; a signature, and how its docstring begins.
"""

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from api_names import FOLDER
from docutils import nodes
from maths import set_formula
from search import signature, words_of
from sphinx import addnodes
from sphinx.application import Sphinx

PAGE = "glossary"
LONGEST = 320  # letters; a longer definition ends after the sentence before, and the link has the rest


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write each definition under its id."""
    if exception is not None or app.builder.format != "html":
        return
    found = dict(_terms(app.env.get_doctree(PAGE)))
    for page in sorted(app.env.found_docs):
        if page.startswith(f"{FOLDER}/"):
            found |= _entries(app.env.get_doctree(page))
    script = f"const bookTerms = {json.dumps(found, ensure_ascii=False, separators=(',', ':'))};\n"
    (Path(app.outdir) / "_static" / "terms-text.js").write_text(script, "utf-8")


def _terms(glossary: nodes.document) -> Iterator[tuple[str, str]]:
    for item in glossary.findall(nodes.definition_list_item):
        *terms, definition = item.children
        for term in terms:
            if term["ids"]:
                yield term["ids"][0], f"<b>{html.escape(words_of(term))}</b> {_markup(definition)}"


def _entries(page: nodes.document) -> Iterator[tuple[str, str]]:
    """Yield a page's modules and names."""
    for section in page.findall(nodes.section):
        if (place := section["ids"][0]).startswith("module-"):
            yield place, f"<code>{place.removeprefix('module-')}</code> {_markup(section)}"
    for entry in page.findall(addnodes.desc):
        if entry[0]["ids"]:
            yield entry[0]["ids"][0], f"<code>{html.escape(signature(entry[0]))}</code> {_markup(entry[-1])}"


def _markup(definition: nodes.Node) -> str:
    """Return the first sentences, with code as code."""
    kept, length = [], 0
    for node in getattr(definition.next_node(nodes.paragraph), "children", ()):
        text = words_of(node) if not isinstance(node, nodes.Text) else str(node).replace("\n", " ")
        if length + len(text) > LONGEST and length > LONGEST // 3:
            end = text.find(". ")
            kept.append(html.escape(text[: end + 1] if end >= 0 and isinstance(node, nodes.Text) else "…"))
            break
        length += len(text)
        kept.append(_piece(node, html.escape(text)))
    return "".join(kept)


def _piece(node: nodes.Node, text: str) -> str:
    """Return code as code, and formulas set."""
    if isinstance(node, nodes.math):
        return set_formula(node, display=False)
    is_code = isinstance(node, nodes.literal) or isinstance(node.next_node(), nodes.literal)
    return f"<code>{text}</code>" if is_code else text


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", write)
    app.add_js_file("terms.js", loading_method="defer")
    app.add_css_file("terms.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
