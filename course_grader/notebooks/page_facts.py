"""What a page says of itself below its title: goals, prerequisites, reading time, and what a GPU changes."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from course_lib.errors import NotebookError

__all__ = ["PageFacts", "page_facts", "page_title", "reading_minutes", "tab_of"]

WORDS_PER_MINUTE, SECONDS_PER_LINE = 180, 4
WORD = re.compile(r"[^\W_]+(?:['.-][^\W_]+)*")
ASIDE = re.compile(r"^:::\{(?:answer|warm_up)\}.*?^:::$", re.MULTILINE | re.DOTALL)
FOLDED = {"hide-input", "hide-cell", "in-answer", "remove-cell"}
TAB = "tab:"


@dataclass(frozen=True)
class PageFacts:
    """The facts of a page, from ``course:`` in its front matter.

    Attributes
    ----------
    goals : tuple of str
        Each completes "After it you can".
    prerequisites : tuple of str
        Names of the pages that this one builds on.
    also : str
        What else is assumed.
    gpu : str
        A sentence: what runs on a GPU, or that nothing needs one.
    """

    goals: tuple[str, ...] = ()
    prerequisites: tuple[str, ...] = ()
    also: str = ""
    gpu: str = ""


def page_facts(notebook: NotebookNode, path: Path) -> PageFacts:
    """Read the facts of a page from its front matter.

    Raises
    ------
    NotebookError
        If there is an unknown setting, or one is not text or a list of texts.
    """
    course = dict(notebook.metadata.get("course", {}))
    known = {field.name for field in fields(PageFacts)}
    if unknown := sorted(set(course) - known):
        raise NotebookError(
            f"{path}: course: of a page may hold {', '.join(sorted(known))}, but got {unknown[0]!r}; remove it"
        )
    settings: dict[str, Any] = {}
    for name, value in course.items():
        is_list = name in ("goals", "prerequisites")
        texts = value if isinstance(value, list) else [value]
        if is_list != isinstance(value, list) or not all(isinstance(text, str) for text in texts):
            raise NotebookError(
                f"{path}: {name}: must be {'a list of texts' if is_list else 'text'}, but got {value!r}"
            )
        settings[name] = tuple(texts) if is_list else value
    return PageFacts(**settings)


def page_title(notebook: NotebookNode) -> str:
    """Return the title in a page's first cell, without ``#``; empty if there is none."""
    first = notebook.cells[0].source if notebook.cells else ""
    return first.partition("\n")[0].removeprefix("# ") if first.startswith("# ") else ""


def tab_of(tags: Iterable[str]) -> str | None:
    """Return the framework that a cell with these tags belongs to, as in ``tab:JAX``."""
    return next((tag.removeprefix(TAB) for tag in tags if tag.startswith(TAB)), None)


def reading_minutes(notebook: NotebookNode) -> float:
    """Return how many minutes a page takes: 180 words a minute, 4 s a line of code, one framework.

    Answers are not counted, nor warm-ups, which say their own time.

    Examples
    --------
    >>> from nbformat import v4
    >>> reading_minutes(v4.new_notebook(cells=[v4.new_markdown_cell("word " * 360), v4.new_code_cell("x = 1")]))
    2.066...
    """
    words = sum(len(WORD.findall(ASIDE.sub("", c.source))) for c in notebook.cells if c.cell_type == "markdown")
    lines = sum(bool(line.strip()) for cell in _visible_code(notebook) for line in cell.source.splitlines())
    return words / WORDS_PER_MINUTE + lines * SECONDS_PER_LINE / 60


def _visible_code(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """Yield the code cells that a reader of one framework sees."""
    first: str | None = None  # the framework whose tab is open
    for cell in notebook.cells:
        tab = tab_of(cell.metadata.get("tags", [])) if cell.cell_type == "code" else None
        first = first or tab if tab else None
        if cell.cell_type == "code" and tab == first and not FOLDED & set(cell.metadata.get("tags", [])):
            yield cell
