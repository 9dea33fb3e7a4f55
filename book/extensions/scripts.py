"""Load scripts after the page is there, in their order, and not those that no page of this book uses."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

# For live code, for toggles of the theme's own, and for Sphinx's search, which search.js loads itself when it is asked.
UNUSED = {"sphinx-thebe.js", "togglebutton.js", "doctools.js", "sphinx_highlight.js"}


def defer(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Drop what is not used, and with it the settings written between scripts, which cannot wait as files can."""
    kept = []
    for script in context["script_files"]:
        name = str(script.filename or "").removeprefix("_static/")
        if name and name not in UNUSED:
            script.attributes["defer"] = "defer"
            script.attributes.pop("async", None)
            kept.append(script)
    context["script_files"] = kept


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", defer, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
