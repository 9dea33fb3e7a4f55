"""Show the first cell of a page on another one: ``first-cell`` takes its code and its output, so neither is copied."""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_grader.notebooks.generate import book_notebook


class FirstCell(SphinxDirective):
    """``first-cell``: its argument is the page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Take the code and what it printed."""
        root = Path(self.env.srcdir)
        text = root / f"{self.arguments[0]}.md"
        for path in (text, text.with_suffix(".ipynb")):
            self.env.note_dependency(str(path))
        cell = next(cell for cell in book_notebook(text, root=root).cells if cell.cell_type == "code")
        printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
        code = nodes.container(
            "", nodes.literal_block(cell.source, cell.source, language="python"), classes=["cell_input"]
        )
        output = nodes.container("", nodes.literal_block(printed, printed, language="none"), classes=["cell_output"])
        output[0]["classes"] = ["output", "stream"]
        return [nodes.container("", code, output, classes=["cell"])]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("first-cell", FirstCell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
