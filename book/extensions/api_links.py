"""Link the library's names to their entries, in text and in code; and below each entry list the pages that use it.

Nobody writes these links: a cell's imports say what its names are, and inline code such as ``profile_step`` or
``monitor.step()`` is read in the same way. A name that a page imports from elsewhere, or defines, is not the library's.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from api_names import FOLDER, Library, read_library
from api_scope import INLINE, Scope, bind, entry_of, parse, resolve, written
from docutils import nodes
from sphinx.addnodes import desc, pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator

from course_grader.notebooks.page_facts import tab_of

NAME = r'<span class="n\w?">([\w.]+)</span>'
DOT = r'<span class="o">\.</span>'
CHAIN = re.compile(rf"(?<!\.</span>){NAME}(?:{DOT}{NAME})*")
TOKEN = re.compile(rf"({DOT})?{NAME}")
KEYWORD = '<span class="o">=</span>'
CLASS = re.compile(r"(?<![\w.])((?:course_lib\.[a-z_.]+)?\b[A-Z]\w+)")


def read_page(app: Sphinx, doctree: nodes.document) -> None:
    """Find the library's names on a page, and remember where it uses them."""
    page, library = app.env.docname, read_library(Path(app.srcdir))
    uses: dict[str, str] = {}
    scope: Scope = dict(library.plain)
    if page.startswith(f"{FOLDER}/"):
        names = [each for module, where in library.pages.items() if where == page for each in library.own[module]]
        scope |= {each.name: each.full for each in names}
    else:
        for block, found, bound in _read_cells(doctree, library):
            block["api"] = found
            scope |= {name: what for name, what in bound.items() if "autograd" not in what}
            for entry in found.values():
                uses.setdefault(entry, _section_of(block))
    for literal in doctree.findall(nodes.literal):
        name = INLINE.fullmatch(literal.astext()) if "xref" not in literal["classes"] else None
        entry = entry_of(resolve(name[1].split("."), scope), library) if name else None
        if entry and not isinstance(literal.parent, (nodes.title, nodes.reference)) and _entry_around(literal) != entry:
            literal["api"] = entry
            uses.setdefault(entry, _section_of(literal))
    if page.startswith(f"{FOLDER}/"):
        _mark_types(doctree, scope, library)
    elif page.startswith(("chapters/", "exercises/")):
        _uses(app.env)[page] = uses


def _mark_types(doctree: nodes.document, scope: Scope, library: Library) -> None:
    """Mark the classes that are named as types of parameters, of results and of errors."""
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, (nodes.term, nodes.classifier)):
            pieces: list[nodes.Node] = []
            for place, piece in enumerate(CLASS.split(text)):
                entry = entry_of(resolve(piece.split("."), scope), library) if place % 2 else None
                pieces.append(nodes.inline("", piece, api=entry) if entry else nodes.Text(piece))
            text.parent.replace(text, pieces)


def _read_cells(doctree: nodes.document, library: Library) -> Iterator[tuple[nodes.literal_block, Scope, Scope]]:
    """Yield each block of code, the entries of what is written in it, and all that is imported so far."""
    shared: Scope = {}
    tabs: dict[str | None, Scope] = {}
    for cell in doctree.findall(lambda node: isinstance(node, nodes.container) and "cell" in node["classes"]):
        tab = tab_of(cell.get("cell_metadata", {}).get("tags", []))
        own = tabs.setdefault(tab, {}) if tab else shared
        for block in cell.findall(nodes.literal_block):
            if "cell_input" in block.parent["classes"] and (tree := parse(block.astext())):
                bind(tree, own, library)
                found = dict(written(tree, shared | own, library))
                yield block, found, own


def _entry_around(node: nodes.Node) -> str:
    """Return the entry whose docstring a node stands in."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, desc):
            return str(next(iter(node[0]["ids"]), ""))
    return ""


def _section_of(node: nodes.Node) -> str:
    """Return the id of the section that a node stands in; of the page's first none."""
    while not isinstance(node, nodes.section):
        if (node := node.parent) is None:
            return ""
    return str(node["ids"][0]) if isinstance(node.parent, nodes.section) else ""


def link_page(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Make links of the inline code that was found, and list below each entry who uses it."""
    for found in list(doctree.findall(lambda node: isinstance(node, (nodes.literal, nodes.inline)) and "api" in node)):
        if address := address_of(app, page, found["api"]):
            link = nodes.reference("", "", refuri=address, internal=True, classes=["bp-api"])
            found.replace_self(link)
            link += found
    for link in doctree.findall(nodes.reference):
        if link.get("reftitle", "") in app.env.get_domain("py").objects:  # type: ignore[attr-defined]
            link["classes"].append("bp-api")  # a tip of ours instead of the browser's
            del link["reftitle"]
    if page.startswith(f"{FOLDER}/"):
        users = _users(app.env)
        for entry in doctree.findall(desc):
            used = users.get(next(iter(entry[0]["ids"]), ""), {})
            if used:
                content = entry[-1]
                place = content.first_child_matching_class(desc)
                content.insert(len(content) if place is None else place, _used_on(app, page, used))


def find_name(app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.Element) -> nodes.reference | None:
    """Resolve what a docstring refers to by its bare name, from the packages around its own."""
    library, around = read_library(Path(app.srcdir)), str(node.get("py:module") or "")
    while around:
        if address := address_of(app, node["refdoc"], library.entries.get(f"{around}.{node['reftarget']}", "")):
            return nodes.reference("", "", text, refuri=address, internal=True)
        around = around.rpartition(".")[0]
    return None


def address_of(app: Sphinx, page: str, entry: str) -> str | None:
    """Return the address of an entry, as a page links to it."""
    found = app.env.get_domain("py").objects.get(entry)  # type: ignore[attr-defined]
    return f"{app.builder.get_relative_uri(page, found.docname)}#{found.node_id}" if found else None


def _users(env: BuildEnvironment) -> dict[str, dict[str, str]]:
    """Return for each entry the pages that use it, in the book's order, and where."""
    found: dict[str, dict[str, str]] = {}
    for page in _in_order(env, env.config.root_doc):
        for entry, section in _uses(env).get(page, {}).items():
            found.setdefault(entry, {})[page] = section
    return found


def _in_order(env: BuildEnvironment, page: str) -> Iterator[str]:
    yield page
    for below in env.toctree_includes.get(page, []):
        yield from _in_order(env, below)


def _used_on(app: Sphinx, page: str, used: dict[str, str]) -> nodes.paragraph:
    line = nodes.paragraph(classes=["bp-used"])
    line += nodes.Text("Used on: ")
    for place, (user, section) in enumerate(used.items()):
        address = app.builder.get_relative_uri(page, user) + (f"#{section}" if section else "")
        line += nodes.Text(", " if place else "")
        line += nodes.reference("", app.env.titles[user].astext(), refuri=address, internal=True)
    return line


def visit_code(translator: HTML5Translator, node: nodes.literal_block) -> None:
    """Write a block of code as Sphinx does, with links on the library's names."""
    before = len(translator.body)
    try:
        HTML5Translator.visit_literal_block(translator, node)
    finally:  # it ends in an exception, which says that the block is written
        if found := node.get("api"):
            builder: Any = translator.builder
            addresses = {name: address_of(builder.app, builder.current_docname, entry) for name, entry in found.items()}
            translator.body[before:] = [_with_links(piece, addresses) for piece in translator.body[before:]]


def _with_links(code: str, addresses: dict[str, str | None]) -> str:
    """Link names in highlighted code; the keyboard stops at the first link of each."""
    seen: set[str] = set()

    def link(chain: re.Match[str]) -> str:
        if code.startswith(KEYWORD, chain.end()):
            return chain[0]
        name, end = "", 0
        for token in TOKEN.finditer(chain[0]):
            name += f".{token[2]}" if token[1] else token[2]
            if addresses.get(name):
                best, end = name, token.end()
        if not end:
            return chain[0]
        stop = ' tabindex="-1"' if best in seen else ""
        seen.add(best)
        return (
            f'<a class="bp-api" href="{html.escape(addresses[best] or "")}"{stop}>{chain[0][:end]}</a>{chain[0][end:]}'
        )

    return CHAIN.sub(link, code)


def changed_pages(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write the reference again whenever a page was read: another one may use a name."""
    return [page for page in env.found_docs if page.startswith(f"{FOLDER}/")]


def forget(app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """Drop a page that is read again or gone."""
    _uses(env).pop(page, None)


def merge(app: Sphinx, env: BuildEnvironment, pages: list[str], other: BuildEnvironment) -> None:
    """Take over what another process read."""
    _uses(env).update({page: _uses(other)[page] for page in pages if page in _uses(other)})


def _uses(env: BuildEnvironment) -> dict[str, dict[str, str]]:
    if not hasattr(env, "book_uses"):
        env.book_uses = {}
    return env.book_uses


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_node(nodes.literal_block, override=True, html=(visit_code, HTML5Translator.depart_literal_block))
    app.connect("doctree-read", read_page)
    app.connect("doctree-resolved", link_page)
    app.connect("missing-reference", find_name)
    app.connect("env-updated", changed_pages)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
