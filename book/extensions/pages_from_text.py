"""Show each page from its text, with the outputs of its notebook: a notebook's own Markdown is for Colab."""

from pathlib import Path

import nbformat
from sphinx.application import Sphinx

from course_grader.notebooks.generate import book_notebook, notebook_sources


def read_text(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace a notebook that was made from a text by that text, joined with the notebook's outputs."""
    root = Path(app.srcdir)
    texts = {notebook: text for text, notebook in notebook_sources(root).items()}
    if text := texts.get(root / f"{page}.ipynb"):
        app.env.note_dependency(str(text))
        source[0] = nbformat.writes(book_notebook(text, root=root))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", read_text)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
