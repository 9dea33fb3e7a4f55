"""Make notebooks from their texts, not executed: what is committed for Colab, and what the book shows."""

import os
import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode, v4

from course_grader.notebooks.citations import read_citations
from course_grader.notebooks.exercise_facts import describe_parts, needed_packages, parts_of, write_part_lines
from course_grader.notebooks.exercise_help import add_help, solutions_are_public
from course_grader.notebooks.exercise_notebooks import is_check, learner_notebook
from course_grader.notebooks.myst_text import read_text
from course_grader.notebooks.page_facts import PageFacts, page_facts, page_title, reading_minutes
from course_grader.notebooks.portable import PlainMarkdown, fold_code, name_tabs, read_terms
from course_grader.notebooks.repository import Repository
from course_grader.notebooks.run_record import describe_run
from course_grader.part_points import points_by_answer
from course_lib.errors import NotebookError

__all__ = ["book_notebook", "generate_notebook", "is_exercise", "notebook_sources", "text_notebook"]

MARK = """\
# Marks the whole notebook as it will be graded: every part, with its points. In Jupyter, save first.
import course_grader

course_grader.check()
# If your course gave you a token, this hands the notebook in, and shows the marks that are recorded:
# course_grader.hand_in()"""
# Jupyter goes on after a cell that is tagged so; Colab does not.
STOPS = "Some cells raise an error on purpose; if *Run all* stops there, choose *Run cell and below* on the next one."


def notebook_sources(root: Path) -> dict[Path, Path]:
    """Return the path of each text under ``root`` that a notebook is made from, and that of its notebook."""
    pages = {text: text.with_suffix(".ipynb") for text in sorted((root / "chapters").glob("*/*.md"))}
    exercises = {text: text.parents[1] / f"{text.parents[1].name}.ipynb" for text in _exercise_texts(root)}
    return {**pages, **exercises}


def generate_notebook(text: Path, *, root: Path) -> NotebookNode:
    """Make the notebook of a text, not executed: plain Markdown, with its Colab badge and set-up cell."""
    notebook, about = _with_facts(text, root) if is_exercise(text) else (text_notebook(text), {})
    path = notebook_sources(root)[text].relative_to(root)
    repository = Repository.read(root)
    citations, terms = read_citations(root / "references.bib"), read_terms(root / "glossary.md")
    plain = PlainMarkdown(repository.site, path.with_suffix("").as_posix(), citations, terms)
    said = "" if is_exercise(text) else _describe_page(notebook, text, root)
    _add_below_title(notebook, _list_facts(about))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source)
    fold_code(notebook.cells)
    exercise = notebook.metadata.course.exercise if is_exercise(text) else ""
    opening = repository.opening_cells(
        path.as_posix(), about=plain(said), imports_library=_imports_library(notebook), exercise=exercise
    )
    notebook.cells = [*notebook.cells[:1], *opening, *name_tabs(notebook.cells[1:])]
    if exercise:
        _hand_out(notebook)
    else:
        notebook.metadata.pop("course", None)  # said by the opening
    return notebook


def _hand_out(exercise: NotebookNode) -> None:
    """Leave nothing below a check that has not been run, and end with the cell that marks everything."""
    for cell in exercise.cells:
        if is_check(cell):
            cell.update(outputs=[], execution_count=None)
    course = NotebookNode(exercise=exercise.metadata.course.exercise, cell="mark", kind="mark")
    exercise.cells.append(v4.new_code_cell(MARK, id="mark", metadata=NotebookNode(course=course, tags=[])))


def text_notebook(text: Path) -> NotebookNode:
    """Read the text of a page, or of an exercise as a learner gets it; its Markdown is MyST."""
    notebook = read_text(text)
    return learner_notebook(notebook) if is_exercise(text) else notebook


def book_notebook(text: Path, *, root: Path) -> NotebookNode:
    """Join a text with the outputs of its committed notebook: what the book shows, its Markdown MyST.

    Below the title of a page stands a box with its facts. A cell tagged ``gpu-panel`` that printed nothing is left
    out: no GPU has been recorded.
    """
    notebook, about = _with_facts(text, root) if is_exercise(text) else (text_notebook(text), {})
    committed = nbformat.read(notebook_sources(root)[text], as_version=4)
    executed = {cell.id: cell for cell in committed.cells if cell.cell_type == "code"}
    for cell in notebook.cells:
        if cell.id in executed and not is_check(cell):  # whose output is the one that its text expects
            cell.update(outputs=executed[cell.id].outputs, execution_count=executed[cell.id].execution_count)
    notebook.cells = [
        cell for cell in notebook.cells if "gpu-panel" not in cell.metadata.get("tags", []) or cell.get("outputs")
    ]
    if is_exercise(text):
        box = _make_exercise_box(about)
    else:
        box = _make_box(notebook, text, root, verified=describe_run(committed))
    _add_below_title(notebook, box)
    return notebook


def _add_below_title(notebook: NotebookNode, said: str) -> None:
    title, _, rest = notebook.cells[0].source.partition("\n")
    notebook.cells[0].source = f"{title}\n\n{said}\n{rest}" if said else notebook.cells[0].source


def _with_facts(text: Path, root: Path) -> tuple[NotebookNode, dict[str, str]]:
    """Return the notebook of an exercise, with its help and its parts' points, and what is told beforehand."""
    source, has_help = read_text(text), Repository.read(root).has_help
    about: dict[str, str] = {}
    if any("minutes" in cell.metadata for cell in source.cells):
        course, points = source.metadata["course"], points_by_answer(text.with_name("test_hidden.py"), source)
        parts, facts = parts_of(source, points), PageFacts(prerequisites=tuple(course.get("prerequisites", ())))
        about = {
            "Time": f"about {sum(part.minutes for part in parts)} minutes",
            "Needs": needed_packages(source),
            "Rests on": _list_prerequisites(facts, text, root),
            "At the end": course.get("pays", ""),
            "": describe_parts(parts),
        }
        write_part_lines(source, points)
    source = add_help(source, hints=has_help, solutions=has_help and solutions_are_public(source, root))
    return learner_notebook(source), about


def _list_facts(about: dict[str, str]) -> str:
    listed = "\n".join(f"- **{name}**: {said}" for name, said in about.items() if name and said)
    return f"{listed}\n\n{about['']}\n" if about else ""


def _make_exercise_box(about: dict[str, str]) -> str:
    listed = "\n\n".join(f"{name}\n: {said}" for name, said in about.items() if name and said)
    return f":::{{div}} bp-info\n{listed}\n:::\n\n{about['']}\n" if about else ""


def _describe_page(notebook: NotebookNode, text: Path, root: Path) -> str:
    """Say in a line what the box of the book says: reading time, prerequisites, and what a GPU changes."""
    facts = page_facts(notebook, text)
    needs = _list_prerequisites(facts, text, root)
    raises = any("raises-exception" in cell.metadata.get("tags", []) for cell in notebook.cells)
    said = [f"About {_minutes(notebook)} minutes.", f"It builds on {needs}." if needs else "", facts.gpu]
    return " ".join(part for part in [*said, STOPS if raises else ""] if part)


def _make_box(notebook: NotebookNode, text: Path, root: Path, *, verified: str) -> str:
    facts = page_facts(notebook, text)
    rows = {
        "Time": f"{_minutes(notebook)} minutes",
        "Before this": _list_prerequisites(facts, text, root),
        "After it you can": "; ".join(facts.goals),
        "GPU": facts.gpu,
        "Verified on": verified,
    }
    listed = "\n\n".join(f"{name}\n: {value}" for name, value in rows.items() if value)
    colab = Repository.read(root).colab_url(notebook_sources(root)[text].relative_to(root).as_posix())
    links = " ".join([f"[Open in Colab]({colab})", *_exercise_links(notebook)])
    return f":::{{div}} bp-info\n{listed}\n\n{links}\n:::\n" if facts.goals else ""


def _exercise_links(notebook: NotebookNode) -> list[str]:
    """Return the links to exercises that stand below the heading *Exercise*."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    _, _, below = text.partition("\n## Exercise")
    return re.findall(r"\[[^\]]+\]\(\.\./\.\./exercises/[^)]+\)", below.partition("\n## ")[0])


def _list_prerequisites(facts: PageFacts, text: Path, root: Path) -> str:
    """Return links to the pages that come before, by their titles, and what else is assumed."""
    pages = {page.stem: page for page in notebook_sources(root) if not is_exercise(page)}
    if unknown := sorted(set(facts.prerequisites) - set(pages)):
        raise NotebookError(f"{text}: prerequisites: names pages without extension, but there is no {unknown[0]!r}")
    folder = notebook_sources(root)[text].parent
    linked = [
        f"[{page_title(read_text(pages[name]))}]({os.path.relpath(pages[name].with_suffix('.ipynb'), folder)})"
        for name in facts.prerequisites
    ]
    return ", ".join([*linked, *([facts.also] if facts.also else [])])


def _minutes(notebook: NotebookNode) -> int:
    return max(1, round(reading_minutes(notebook)))


def _exercise_texts(root: Path) -> list[Path]:
    return sorted((root / "exercises").glob("*/key/source.md"))


def is_exercise(text: Path) -> bool:
    """Tell whether a text is that of an exercise, and not of a page."""
    return text.parent.name == "key"


def _imports_library(notebook: NotebookNode) -> bool:
    return any(cell.cell_type == "code" and "course_lib" in cell.source for cell in notebook.cells)
