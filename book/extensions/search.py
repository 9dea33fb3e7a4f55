"""Search: the words of each section, for Pagefind where the book is served and for Sphinx's index where it is a file.

Both are given what an author wrote, section by section: text in full, code and outputs for less, and nothing of the
page around it. The box that asks either of them is ``book/assets/search.js``.
"""

import asyncio
import html
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from api_names import FOLDER
from docutils import nodes
from pagefind.index import IndexConfig
from pagefind.service import PagefindService
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

# Pagefind's weights: a heading's are its own (h1 7, h2 6, ...); a page that lists things stands behind those about one.
TEXT, CODE, OUTPUT = 1.0, 0.4, 0.15
LISTINGS = {"glossary": 0.3, "cheat_sheet": 0.2, "references": 0.1, "intro": 0.2, "changelog": 0.05}
EXERCISES = 0.15
# In the API reference names are found, more than words; the engine's are torch's, and found where they are taught.
REFERENCE, ENGINE, SHARED = 0.3, 0.15, 0.3
ASIDE, QUESTIONS = 0.5, {"Check yourself", "Exercise", "Sources"}  # the subject goes before questions on it
UNUSED = ("*-ui.*", "pagefind-highlight.js", "wasm.unknown.pagefind")  # boxes of its own; pages without a language
TEX = {"cdot": "·", "times": "\N{MULTIPLICATION SIGN}", "approx": "≈", "le": "≤", "ge": "≥", "lambda": "λ", "eta": "η"}


@dataclass
class Section:
    """A heading, where a link finds it, and the pieces below it as ``(kind, words)``."""

    anchor: str
    heading: str
    level: int
    pieces: list[tuple[float, str]] = field(default_factory=list)
    goals: str = ""

    def all(self, kind: float) -> str:
        """Return its pieces of a kind as one text."""
        return " ".join(words for each, words in self.pieces if each == kind)


def read_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the words of a page that was read."""
    sections: list[Section] = []
    for top in doctree.children:
        if isinstance(top, nodes.section):
            _collect(top, sections, level=1)
    _kept(app.env)[app.env.docname] = sections


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Drop a page that is read again or gone."""
    _kept(env).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames: list[str], other: BuildEnvironment) -> None:
    """Take over what another process read."""
    _kept(env).update({name: _kept(other)[name] for name in docnames if name in _kept(other)})


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the words for the box, and Pagefind's index."""
    if exception is not None or app.builder.format != "html":
        return
    out, pages = Path(app.outdir), dict(sorted(_kept(app.env).items()))
    words = {
        name: [[s.anchor, s.heading, s.all(TEXT), s.all(CODE)] for s in sections] for name, sections in pages.items()
    }
    script = f"const bookText = {json.dumps(words, ensure_ascii=False, separators=(',', ':'))};\n"
    (out / "_static" / "search-text.js").write_text(script, encoding="utf-8")
    asyncio.run(_index(out / "pagefind", pages))
    for pattern in UNUSED:
        for path in (out / "pagefind").glob(pattern):
            path.unlink()


async def _index(target: Path, pages: dict[str, list[Section]]) -> None:
    shutil.rmtree(target, ignore_errors=True)
    async with PagefindService() as service:
        index = await service.create_index(config=IndexConfig(output_path=str(target), include_characters="_"))
        for name, sections in pages.items():
            await index.add_html_file(content=_as_html(name, sections), url=f"{name}.html")
        await index.write_files()
        while not _is_written(target, len(pages)):  # it answers before the last are on the disk
            await asyncio.sleep(0.05)


def _is_written(target: Path, pages: int) -> bool:
    files = [path for path in target.rglob("*") if path.is_file()]
    return all(path.stat().st_size for path in files) and sum(path.suffix == ".pf_fragment" for path in files) == pages


def _as_html(name: str, sections: list[Section]) -> str:
    """Return a page of nothing but words, as Pagefind reads it."""
    starts = {"exercises/": EXERCISES, f"{FOLDER}/autograd": ENGINE, f"{FOLDER}/shared": SHARED}
    of_page = LISTINGS.get(name, next((weight for start, weight in starts.items() if name.startswith(start)), 1.0))
    body = []
    for section in sections:
        of_heading = of_page * (ASIDE if section.heading in QUESTIONS else 1)
        weight = of_heading * (REFERENCE if name.startswith(f"{FOLDER}/") else 1)
        title = ' data-pagefind-meta="title"' if section.level == 1 else ""
        size = f'data-pagefind-weight="{max(8 - section.level, 1) * of_heading:g}"'
        body.append(
            f'<h{section.level} id="{section.anchor}"{title} {size}>{html.escape(section.heading)}</h{section.level}>'
        )
        body += [
            f'<p data-pagefind-weight="{kind * weight:g}">{html.escape(words)}</p>'
            for kind, words in section.pieces
            if words
        ]
    return f'<html lang="en"><body data-pagefind-body>{"".join(body)}</body></html>'


def _collect(section: nodes.section, found: list[Section], level: int) -> None:
    own = Section(section["ids"][0], words_of(section[0]), min(level, 6))
    found.append(own)
    for child in section.children[1:]:
        if isinstance(child, nodes.section):
            _collect(child, found, level + 1)
        elif isinstance(child, addnodes.desc):
            _collect_entry(child, found, level + 1)
        elif "bp-info" in child.get("classes", []):  # the box below the title, of which the goals are the page's own
            rows = child.findall(nodes.definition_list_item)
            own.goals = next((words_of(row[1]) for row in rows if row[0].astext().startswith("After")), "")
            own.pieces.append((TEXT, own.goals))
        else:
            own.pieces += _pieces(child, TEXT)


def _collect_entry(entry: addnodes.desc, found: list[Section], level: int) -> None:
    """Take an entry of the API reference, and below it its methods, for sections."""
    for names in entry.findall(addnodes.desc_signature):
        if names.parent is entry and names["ids"]:
            own = Section(names["ids"][0], names["fullname"], min(level, 6), [(TEXT, signature(names))])
            found.append(own)
            for child in entry[-1].children:
                if isinstance(child, addnodes.desc):
                    _collect_entry(child, found, level + 1)
                else:
                    own.pieces += _pieces(child, TEXT)


def signature(node: addnodes.desc_signature) -> str:
    """Return a name with its parameters."""
    listed = node.next_node(addnodes.desc_parameterlist)
    return str(node["fullname"]) + ("" if listed is None else listed.astext())


def _pieces(node: nodes.Node, kind: float) -> Iterator[tuple[float, str]]:
    """Yield what is to be found below a node."""
    if isinstance(node, nodes.Element):
        classes = node.get("classes", [])
        if {"bp-field", "bp-mistakes", "bp-names", "bp-warm"} & set(classes):
            return  # of fields and mistakes a result does not say which are wrong; names are found by themselves
        kind = OUTPUT if "cell_output" in classes else CODE if "cell_input" in classes else kind
        if isinstance(node, nodes.literal_block):
            yield min(kind, CODE), node.astext()
        elif isinstance(node, nodes.TextElement) and not isinstance(node, (nodes.raw, nodes.math_block, nodes.comment)):
            if "sd-tab-label" not in classes and (words := words_of(node)):
                yield kind, words
        else:
            for child in node.children:
                yield from _pieces(child, kind)


def words_of(node: nodes.Node) -> str:
    """Return a node's text in one line, with formulas that can be read as text, and a dot each for others."""
    if isinstance(node, nodes.math):
        plain = re.sub(r"\\([a-z]+)", lambda m: TEX.get(m[1], m[0]), node.astext())
        return "…" if re.search(r"[\\{}]", plain) else plain
    if isinstance(node, nodes.Text):
        return str(node)
    if isinstance(node, (nodes.raw, nodes.comment)) or _is_citation(node):
        return ""
    text = "".join(map(words_of, node.children))
    return re.sub(r"\s+", " ", text).strip() if isinstance(node, (nodes.title, nodes.paragraph, nodes.term)) else text


def _is_citation(node: nodes.Node) -> bool:
    return isinstance(node, addnodes.pending_xref) and node.get("refdomain") == "cite"


def _kept(env: BuildEnvironment) -> dict[str, list[Section]]:
    if not hasattr(env, "book_text"):
        env.book_text = {}
    return env.book_text


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-read", read_sections, priority=900)  # after answers and tabs have moved cells
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("build-finished", write)
    app.add_js_file("search.js", loading_method="defer")
    app.add_css_file("search.css")
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
