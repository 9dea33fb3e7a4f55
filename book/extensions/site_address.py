"""Derive the published site's address from the repository's, so that it too is set in one place."""

from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.config import Config


def set_baseurl(app: Sphinx, config: Config) -> None:
    """Set ``html_baseurl`` to the address GitHub Pages gives the repository, unless it was set by hand."""
    repository = urlsplit(config.html_theme_options.get("repository_url") or "")
    if config.html_baseurl or repository.hostname != "github.com":
        return
    owner, name = repository.path.strip("/").split("/")
    config.html_baseurl = f"https://{owner.lower()}.github.io/{name}/"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", set_baseurl)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
