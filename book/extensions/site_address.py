"""Derive the published site's address from the repository's, so that it too is set in one place."""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

from course_grader.notebooks.repository import Repository


def set_baseurl(app: Sphinx, config: Config) -> None:
    """Set ``html_baseurl``, unless it was set by hand."""
    config.html_baseurl = config.html_baseurl or Repository.read(Path(app.srcdir)).site


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", set_baseurl)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
