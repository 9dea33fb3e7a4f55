"""Name the button of a hidden cell by its own text; else a screen reader calls each "Toggle hidden content"."""

from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput, visit_HideCellInput
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

LABEL = ' aria-label="Toggle hidden content"'


def visit(translator: HTML5Translator, node: HideCodeCellNode) -> None:
    """Write what myst-nb writes, without the label that hides "Show answer 1"."""
    before = len(translator.body)
    visit_HideCellInput(translator, node)
    translator.body[before:] = [piece.replace(LABEL, "") for piece in translator.body[before:]]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("myst_nb")  # first, or its own way of writing the node would replace this one
    app.add_node(HideCodeCellNode, override=True, html=(visit, depart_HideCellInput))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
