"""Make the built book self-contained: MathJax beside the pages instead of on a CDN, and no script twice."""

import importlib.util
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

# Of the package's 24 MB these 1.8 MB are what TeX input and CHTML output need.
NEEDED = ("tex-chtml-full.js", "output/chtml/fonts/woff-v2")


def copy_mathjax(app: Sphinx) -> None:
    """Copy MathJax out of the installed sphinx-mathjax-offline into the book's static files."""
    if app.builder.format != "html":
        return
    target = Path(app.outdir) / "_static" / "mathjax"
    for name in NEEDED:
        source = _mathjax() / name
        if source.is_dir():
            shutil.copytree(source, target / name, dirs_exist_ok=True)
        else:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)


def drop_repeated_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Keep the first of each inline script: the theme stack emits sphinx-thebe's twice, and the second one throws."""
    seen: set[str] = set()
    kept = []
    for script in context.get("script_files", []):
        body = getattr(script, "attributes", {}).get("body")
        if body is None or body not in seen:
            kept.append(script)
            seen.add(body)
    context["script_files"] = kept


def _mathjax() -> Path:
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or not found.submodule_search_locations:
        raise ExtensionError("MathJax was expected in the package sphinx-mathjax-offline; install requirements.lock")
    return Path(next(iter(found.submodule_search_locations))) / "static" / "mathjax"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.config.mathjax_path = "mathjax/tex-chtml-full.js"
    app.connect("builder-inited", copy_mathjax)
    app.connect("html-page-context", drop_repeated_scripts, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
