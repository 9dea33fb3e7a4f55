"""Colab, Jupyter and GitHub know no MyST: what is committed has none."""

import re
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from course_grader.notebooks.generate import notebook_sources
from course_grader.notebooks.portable import PlainMarkdown, fold_code, name_tabs
from course_lib.errors import NotebookError

ROOT = Path(__file__).parents[2]
COMMITTED = sorted(notebook_sources(ROOT).values())
plain = PlainMarkdown(
    "https://site/", "chapters/part/page", {"a": ("Ann", "2001"), "b": ("Bob et al.", "2002")}, {"nan": "NaN"}
)


@pytest.mark.parametrize(
    ("myst", "markdown"),
    [
        ("{term}`leaf`", "[leaf](https://site/glossary.html#term-leaf)"),
        ("{term}`Leaves <leaf node>`", "[Leaves](https://site/glossary.html#term-leaf-node)"),
        ("{term}`Nan`", "[Nan](https://site/glossary.html#term-NaN)"),
        ("{cite:p}`a,b`", "(Ann, 2001; Bob et al., 2002)"),
        ("{cite:t}`a`", "Ann (2001)"),
        ("[x](b.ipynb)", "[x](https://site/chapters/part/b.html)"),
        ("[x](../../glossary.md#word)", "[x](https://site/glossary.html#word)"),
        ("[x](https://a.example/b.ipynb)", "[x](https://a.example/b.ipynb)"),
        (":::{answer} 2\nYes, *so*.\n:::", "<details>\n<summary><b>Answer 2</b></summary>\n\nYes, *so*.\n\n</details>"),
        (":::{note}\nMind.\n:::", "> **Note.**\n>\n> Mind."),
        (":::{admonition} Why\nSo.\n:::", "> **Why.**\n>\n> So."),
        (
            ":::{play} roofline\n:try: Drag it.\n:::",
            "> **[A figure to play with](https://site/chapters/part/page.html#roofline)**, in the book. Drag it.",
        ),
        ("```text\n{term}`leaf`\n```\n", "```text\n{term}`leaf`\n```\n"),
        ("$x^2$ and `code`", "$x^2$ and `code`"),
    ],
)
def test_each_thing_of_myst_has_its_plain_form(myst, markdown):
    """Terms and pages are links that work anywhere; boxes fold or are quoted; code stays as it is."""
    assert plain(myst) == markdown


def test_what_the_book_folds_is_folded():
    """By Colab's metadata and by Jupyter's; what an answer prints, and what is to be predicted, too."""
    kinds = ("hide-input", "in-answer", "hide-output", "tab:JAX")
    cells = [v4.new_code_cell("1", metadata={"tags": [kind]}) for kind in kinds]
    fold_code(cells)
    assert [cell.metadata.get("cellView") for cell in cells] == ["form", "form", None, None]
    assert [cell.metadata.get("jupyter", {}).get("outputs_hidden") for cell in cells] == [None, True, True, None]


def test_each_framework_is_named_before_its_cells():
    """Once for neighbours; a framework that nobody knows is refused."""
    cells = [v4.new_code_cell("1", metadata={"tags": [f"tab:{tab}"]}) for tab in ("JAX", "JAX", "engine")]
    assert [cell.source for cell in name_tabs(cells)] == ["**JAX**", "1", "1", "**This course's engine**", "1"]
    with pytest.raises(NotebookError, match="tab:NumPy"):
        list(name_tabs([v4.new_code_cell("1", metadata={"tags": ["tab:NumPy"]})]))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_committed_notebook_shows_no_myst_and_no_link_between_files(path):
    """Neither role nor directive, and each link is an address."""
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown"]
    text = re.sub(r"```.*?```|`[^`]*`", "", "\n".join(cell.source for cell in cells), flags=re.DOTALL)
    assert re.findall(r"\{(?:term|cite:\w|doc|ref|eq)\}|^:::", text, re.MULTILINE) == []
    assert [link for link in re.findall(r"\]\(([^)]*)\)", text) if not link.startswith(("https://", "#"))] == []
