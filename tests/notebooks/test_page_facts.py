"""A page says what it needs and takes; a reader of one framework can run it alone."""

import ast
import builtins
from pathlib import Path

import pytest
from nbformat import v4

from course_grader.notebooks.generate import book_notebook
from course_grader.notebooks.myst_text import read_text
from course_grader.notebooks.page_facts import page_facts, reading_minutes, tab_of
from course_lib.errors import NotebookError

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "chapters").glob("*/*.md"))
LONGEST_MINUTES = 15


def code(source, *tags):
    return v4.new_code_cell(source, metadata={"tags": list(tags)})


def test_a_reader_of_one_framework_reads_one_tab_and_nothing_folded():
    """Words at 180 a minute, lines of code at 4 seconds; answers are not counted."""
    words = v4.new_markdown_cell("word " * 180 + "\n:::{answer} 1\n" + "word " * 180 + "\n:::\n")
    lines = code("\n".join(["x = 1"] * 15))
    assert reading_minutes(v4.new_notebook(cells=[words, lines])) == pytest.approx(2, abs=0.02)
    others = [code("a = 1", "tab:PyTorch"), code("b = 1\n" * 100, "tab:JAX"), code("c = 1\n" * 100, "in-answer")]
    assert reading_minutes(v4.new_notebook(cells=[words, lines, *others])) == pytest.approx(2 + 4 / 60, abs=0.02)


@pytest.mark.parametrize(
    ("course", "said"), [({"goal": ["x"]}, "'goal'"), ({"goals": "x"}, "goals"), ({"gpu": ["x"]}, "gpu")]
)
def test_facts_that_would_be_lost_are_refused(course, said):
    """A setting nobody knows, or of another kind than it is."""
    with pytest.raises(NotebookError, match=said):
        page_facts(v4.new_notebook(metadata={"course": course}), Path("a.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_says_its_facts_and_takes_a_quarter_of_an_hour(path):
    """Goals, what a GPU changes, and pages before it that exist; below the title stands the box."""
    notebook = read_text(path)
    facts = page_facts(notebook, path)
    assert 1 <= len(facts.goals) <= 4
    assert facts.gpu
    assert reading_minutes(notebook) <= LONGEST_MINUTES
    assert ":::{div} bp-info" in book_notebook(path, root=ROOT).cells[0].source


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_cells_of_each_framework_run_without_the_others(path):
    """A cell uses names of its own framework's cells, and of those that belong to none."""
    known = {None: set(dir(builtins)) | {"get_ipython"}}
    for cell in read_text(path).cells:
        if cell.cell_type == "code":
            tab = tab_of(cell.metadata.get("tags", []))
            made, used = _names(cell.source)
            unknown = used - made - known[None] - known.get(tab, set())
            assert unknown == set(), f"{cell.source.splitlines()[0]} ({tab})"
            known.setdefault(tab, set()).update(made)


def _names(source):
    """Return the names that code makes, anywhere in it, and those that it uses."""
    made, used = set(), set()
    for node in ast.walk(ast.parse("\n".join(line for line in source.splitlines() if not line.startswith(("%", "!"))))):
        match node:
            case ast.Name():
                (used if isinstance(node.ctx, ast.Load) else made).add(node.id)
            case ast.FunctionDef() | ast.ClassDef():
                made.add(node.name)
            case ast.Import() | ast.ImportFrom():
                made.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
            case ast.arg():
                made.add(node.arg)
            case ast.ExceptHandler(name=str()):
                made.add(node.name)
    return made, used
