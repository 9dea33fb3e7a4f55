"""Help in an exercise, below each of its checks: folded hints, and the worked solution where it is public."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode, v4

from course_grader.code_digest import code_digest
from course_grader.notebooks.myst_text import read_text
from course_lib.errors import NotebookError

__all__ = ["PUBLISHED", "add_help", "publish_solutions", "solutions_are_public", "solutions_digest"]

PUBLISHED = Path("exercises/published_solutions.json")
HINTS = ("idea", "shapes", "picture", "skeleton")
BOX = re.compile(r":::\{(hint|solution)\} ?([^\n]*)\n(.*?)^:::$\s*", re.MULTILINE | re.DOTALL)
ANYWHERE = re.compile(r"^:::\{(hint|solution)\}", re.MULTILINE)


def add_help(source: NotebookNode, *, hints: bool, solutions: bool) -> NotebookNode:
    """Return an exercise's text whose help stands in cells of its own, each fold below the check of its answer.

    Parameters
    ----------
    source : NotebookNode
        The text, in which the help for an answer stands directly below its check: ``:::{hint} idea`` to ``:::`` up to
        three times, then ``:::{solution}`` with a few words. The code of the solution is added to these.
    hints, solutions : bool
        What is folded in; the rest is left out.

    Raises
    ------
    NotebookError
        If there is a hint elsewhere, or of another kind.
    """
    cells, waiting, part = list[NotebookNode](), "", 0
    solved = {cell.metadata["name"]: cell.source for cell in source.cells if _has_tag(cell, "solution")}
    following = [*source.cells[1:], None]
    for cell, after in zip(source.cells, following, strict=True):
        cells.append(cell)
        if _has_tag(cell, "answer"):
            waiting, part = cell.metadata.get("name", ""), part + 1
        if cell.cell_type == "markdown" and (found := ANYWHERE.search(cell.source)):
            raise NotebookError(
                f"a {found[1]} must stand directly below the check of its answer, but one follows other text: "
                f"{cell.source[found.start() : found.start() + 60]!r}; move it up"
            )
        if waiting and _has_tag(cell, "check"):
            boxes, rest = _split_boxes(after.source if after is not None and after.cell_type == "markdown" else "")
            if boxes and after is not None:
                after.source = rest
            folds = [*_fold_hints(boxes)] if hints else []
            folds += [_fold_solution(boxes, solved[waiting], part)] if solutions and waiting in solved else []
            if folds:
                cells.append(v4.new_markdown_cell("\n\n".join(folds), id=f"{waiting}-help"[:64]))
            waiting = ""
    kept = [cell for cell in cells if cell.cell_type == "code" or cell.source.strip()]
    return NotebookNode(source, cells=kept)


def solutions_digest(source: NotebookNode) -> str:
    """Return the fingerprint of all solutions of an exercise together."""
    return code_digest("\n\n".join(cell.source for cell in source.cells if _has_tag(cell, "solution")))


def solutions_are_public(source: NotebookNode, root: Path) -> bool:
    """Tell whether all solutions of an exercise are those that were published: a private key is never folded in."""
    path = root / PUBLISHED
    published = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return bool(published.get(source.metadata["course"]["exercise"]) == solutions_digest(source))


def publish_solutions(root: Path) -> None:
    """Note the solutions of all exercises below ``root`` as public, as they are now."""
    sources = map(read_text, root.glob("exercises/*/key/source.md"))
    digests = {source.metadata["course"]["exercise"]: solutions_digest(source) for source in sources}
    text = json.dumps(digests, indent=1, sort_keys=True)
    (root / PUBLISHED).write_text(text + "\n", encoding="utf-8")


def _split_boxes(text: str) -> tuple[list[tuple[str, str, str]], str]:
    """Return the boxes that a text begins with, as kind, title and body, and what follows them."""
    boxes, at = [], 0
    while found := BOX.match(text, at):
        boxes.append((found[1], found[2].strip(), found[3].strip()))
        at = found.end()
    return boxes, text[at:]


def _fold_hints(boxes: list[tuple[str, str, str]]) -> Iterator[str]:
    given = [(title, body) for kind, title, body in boxes if kind == "hint"]
    for number, (title, body) in enumerate(given, start=1):
        if title not in HINTS or number > 3:
            raise NotebookError(
                f"an answer has at most three hints, each called {', '.join(HINTS)}, but number {number} is called "
                f"{title!r}; rename it or leave it out"
            )
        yield _fold(f"Hint {number}: {title}", body)


def _fold_solution(boxes: list[tuple[str, str, str]], code: str, part: int) -> str:
    words = "\n\n".join(body for kind, _, body in boxes if kind == "solution")
    shown = f"{words}\n\n```python\n{code}\n```".strip()
    return _fold(f"Worked solution of part {part}: the whole answer", shown)


def _fold(title: str, body: str) -> str:
    return f":::{{dropdown}} {title}\n:class-container: bp-help\n\n{body}\n:::"


def _has_tag(cell: NotebookNode, tag: str) -> bool:
    return cell.cell_type == "code" and tag in cell.metadata.get("tags", [])
