"""Figures to play with: ``:::{play} learning-rate`` puts one on a page.

A figure is two modules in ``book/play``: ``learning_rate.js`` computes and draws it in the browser, and
``learning_rate.py`` computes the same by the library, for the tests, for paper and for those without JavaScript.
A page loads the scripts of its own figures only.
"""

import html
import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol, cast

from bundle_modules import bundle
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from course_lib.figures import Drawing

BOOK = Path(__file__).parents[1]
SOURCES = BOOK / "play"
STYLES = (BOOK / "machine" / "frame.css", SOURCES / "play.css")


class Figure(Protocol):
    """What the Python module of a figure has."""

    TITLE: str  # what it shows: its heading, and its name for a screen reader
    START: dict[str, Any]  # the state that it begins with, as JSON

    def model(self, state: dict[str, Any]) -> dict[str, Any]:
        """Compute by the library what the JavaScript's ``model`` computes, under the same names."""

    def still(self) -> Drawing:
        """Draw what paper shows, and who has no JavaScript."""

    def table(self) -> list[list[str]]:
        """Return numbers that make the same point; the first row is the head."""

    # and, if the script needs numbers that it cannot compute: def data() -> Any, which becomes JSON


@cache
def load_figure(name: str) -> Figure:
    """Import ``book/play/<name>.py``."""
    file = SOURCES / f"{name.replace('-', '_')}.py"
    spec = importlib.util.spec_from_file_location(f"play_{file.stem}", file)
    if not file.is_file() or spec is None or spec.loader is None:
        known = ", ".join(sorted(path.stem.replace("_", "-") for path in SOURCES.glob("*.py")))
        raise ValueError(f"a figure to play with is one of {known}, but got {name!r}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(Figure, module)


class PlayNode(nodes.General, nodes.Element):
    """A figure, with its ``name``, its ``settings`` for attributes and ``tried``, what to try first."""


class PlayDirective(SphinxDirective):
    """``play``: its argument is the figure's name, which is its id as well; ``try`` says what to try first."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"try": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Draw what is seen without JavaScript: what cannot be computed fails the build."""
        name = self.arguments[0]
        if "try" not in self.options:
            raise self.error("a figure to play with says in one line what to try first: add `:try:`")
        try:
            body = write_figure(name, self.options["try"])
        except Exception as error:
            raise self.error(f"this figure cannot be drawn: {error}") from error
        for file in SOURCES.glob(f"{name.replace('-', '_')}.*"):
            self.env.note_dependency(str(file))
        return [PlayNode(figure=name, body=body)]


def write_figure(name: str, tried: str) -> str:
    """Return the element that the script fills, with a picture and a table inside for those without it."""
    figure = load_figure(name)
    attributes = {"id": name, "data-figure": name, "data-title": figure.TITLE, "data-try": tried}
    attributes["data-start"] = json.dumps(figure.START)
    written = " ".join(f'{key}="{html.escape(value)}"' for key, value in attributes.items())
    head, *rows = [[html.escape(cell) for cell in row] for row in figure.table()]
    still = f"{figure.still()._repr_html_()}<table><thead><tr>"
    still += "".join(f'<th scope="col">{cell}</th>' for cell in head) + "</tr></thead><tbody>"
    still += "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows) + "</tbody></table>"
    data = json.dumps(figure.data()).replace("</", r"<\/") if hasattr(figure, "data") else "null"
    return (
        f'<div class="bp-play" role="region" aria-label="{html.escape(figure.TITLE)}" {written}>'
        f'<noscript><p class="title">{html.escape(figure.TITLE)}</p>{still}</noscript>'
        f'<script type="application/json">{data}</script></div>'
    )


def visit_html(translator: HTML5Translator, node: PlayNode) -> None:
    """Write the element."""
    translator.body.append(node["body"])
    raise nodes.SkipNode


def skip(translator: nodes.NodeVisitor, node: PlayNode) -> None:
    """Leave it out where there is nothing to play with."""
    raise nodes.SkipNode


def write_assets(app: Sphinx) -> None:
    """Join the modules of each figure, and the style sheets, into one file each."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    static.mkdir(parents=True, exist_ok=True)
    for file in SOURCES.glob("*.py"):
        script = bundle(file.with_suffix(".js"))
        (static / f"play-{file.stem.replace('_', '-')}.js").write_text(script, "utf-8")
    (static / "play.css").write_text("".join(style.read_text("utf-8") for style in STYLES), "utf-8")


def load_assets(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Have a page load the scripts of its figures, after its text."""
    names = dict.fromkeys(node["figure"] for node in doctree.findall(PlayNode)) if doctree is not None else {}
    if names:
        app.add_css_file("play.css")
    for name in names:
        app.add_js_file(f"play-{name}.js", loading_method="defer", priority=900)  # after progress.js, which remembers


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(PlayNode, html=(visit_html, None), latex=(skip, None), text=(skip, None))
    app.add_directive("play", PlayDirective)
    app.connect("builder-inited", write_assets)
    app.connect("html-page-context", load_assets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
