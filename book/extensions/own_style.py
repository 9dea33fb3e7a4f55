"""Give a page a style sheet of its own: ``book/assets/<page>.css``, where there is one, and on this page alone."""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

ASSETS = Path(__file__).parents[1] / "assets"


def load(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Have the page load it, after those of all pages."""
    if doctree is not None and (ASSETS / f"{page}.css").is_file():
        app.add_css_file(f"{page}.css", priority=900)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
