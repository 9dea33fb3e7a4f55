"""Offer what was made of the book: ``downloads`` links the files that ``make pdf`` and ``make zip`` left, if any."""

import html
import os
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

OFFERED = {  # below the folder of the build, in their order
    "pdf/cheat-sheet.pdf": "The cheat sheet (PDF, one page)",
    "pdf/the-backward-pass.pdf": "The whole book (PDF)",
    "zip/the-backward-pass.zip": "The whole site, to read offline (zip)",
}
FOLDER = "downloads"


class Downloads(SphinxDirective):
    """``downloads``: a list of links, or nothing."""

    def run(self) -> list[nodes.Node]:
        """Look which files are there."""
        self.env.note_reread()  # they may have come, or gone, since
        up = os.path.relpath(".", Path(self.env.docname).parent)
        links = [
            f'<a href="{up}/{FOLDER}/{path.name}" download>{html.escape(label)}</a>'
            for path, label in find_downloads(Path(self.env.app.outdir).parent).items()
        ]
        return [nodes.raw("", f'<p class="bp-downloads">{" · ".join(links)}</p>', format="html")] if links else []


def find_downloads(build: Path) -> dict[Path, str]:
    """Return the files that were made, and what they are."""
    return {build / name: label for name, label in OFFERED.items() if (build / name).is_file()}


def copy(app: Sphinx, exception: Exception | None) -> None:
    """Put the files beside the pages."""
    if exception is not None or app.builder.format != "html":
        return
    target = Path(app.outdir) / FOLDER
    shutil.rmtree(target, ignore_errors=True)
    for path in find_downloads(Path(app.outdir).parent):
        target.mkdir(exist_ok=True)
        shutil.copy2(path, target)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("downloads", Downloads)
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
