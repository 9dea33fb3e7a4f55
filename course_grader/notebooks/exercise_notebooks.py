"""Make the notebooks of an exercise from its text: the learner's, and the one with the reference answers."""

import ast
import math
import textwrap
from typing import TypeGuard

from nbformat import NotebookNode
from nbformat.v4 import new_output

from course_grader.code_digest import code_digest
from course_lib.errors import NotebookError

__all__ = [
    "freeze_pictures",
    "graded_notebook",
    "is_check",
    "learner_notebook",
    "pictures_of",
    "reference_notebook",
]

KINDS = ("answer", "check", "payoff", "picture", "solution")
GRADED = ("answer", "check")
# In the book a check is folded away; learners see it where they work.
FOLDED = {"code_prompt_show": "Show the check", "code_prompt_hide": "Hide the check"}
WORKING = """\
**Work** on this notebook in Colab, or download it and open it in Jupyter; in the book, the rocket at the top does both.
**Check** each answer by running the cell below it: where something is wrong, it also shows what the hidden tests say of
that part. **Mark** all of it by running the last cell: it shows every part with its points, as it will be graded. In a
terminal, `course mark {}.ipynb` does the same. To **hand in**, save the notebook and bring the file to where your
course collects work.
"""
SETTINGS = ("exercise", "title", "timeout_seconds", "tolerance", "prerequisites", "pays", "by_hand")
# What uses the answers is run by a learner who may not have them all yet.
PAYOFF = """\
try:
    {0}()
except NotImplementedError as unwritten:
    print(f"Not yet: {{unwritten}}. This cell uses every answer above; come back when all checks pass.")
except NameError as unknown:
    print(f"Not yet: {{unknown}}. Run the cells above first, from the top.")"""


def learner_notebook(source: NotebookNode) -> NotebookNode:
    """Make the notebook a learner works in: stubs to fill, checks with the output they must print, no solutions.

    Parameters
    ----------
    source : NotebookNode
        The exercise's text as :func:`course_grader.notebooks.read_text` reads it. Front matter ``course:`` holds
        ``exercise`` (its name), and may hold ``title``, ``timeout_seconds``, ``tolerance``, ``prerequisites`` (pages),
        ``pays`` (a sentence) and ``by_hand``; code cells are tagged ``answer``, ``solution``, ``check``, ``picture``,
        ``payoff`` or not at all.

    Returns
    -------
    NotebookNode
        Not executed: the outputs are the text's ``:expect:``, and pictures have none yet. Each code cell says in
        ``metadata.course`` which cell of which exercise it is, because Colab and nbformat 4.4 drop cell ids; the
        notebook's own ``metadata.course`` has the names and kinds of answers and checks once more, so that a deleted
        one is noticed.

    Raises
    ------
    NotebookError
        If an answer has no solution after it, a solution no answer before it, a check no ``:expect:``, or the front
        matter has an unknown setting or an impossible value.
    """
    return _derive_notebook(source, solved=False)


def reference_notebook(source: NotebookNode) -> NotebookNode:
    """Return the same notebook with each stub replaced by its solution."""
    return _derive_notebook(source, solved=True)


def pictures_of(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook of the very cells that draw: running it draws them."""
    cells = [cell for cell in notebook.cells if _is_picture(cell)]
    return NotebookNode(notebook, metadata=NotebookNode(notebook.metadata), cells=cells)


def freeze_pictures(notebook: NotebookNode) -> None:
    """Replace the code of each picture by what it drew, in place: running the cell then needs nothing installed."""
    for cell in filter(_is_picture, notebook.cells):
        drawn = [out.data["text/html"] for out in cell.outputs if "text/html" in out.get("data", {})]
        cell.source = "\n".join(["%%html", *drawn]) if drawn else cell.source


def graded_notebook(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook without the cells that draw, or use the answers: nothing that is graded depends on them."""
    return NotebookNode(
        notebook, cells=[cell for cell in notebook.cells if _kind_of(cell) not in ("picture", "payoff")]
    )


def is_check(cell: NotebookNode) -> bool:
    """Tell whether a cell is a check."""
    return _kind_of(cell) == "check"


def _is_picture(cell: NotebookNode) -> bool:
    return _kind_of(cell) == "picture"


def _kind_of(cell: NotebookNode) -> str:
    kind: str = cell.get("metadata", {}).get("course", {}).get("kind", "")
    return kind


def _derive_notebook(source: NotebookNode, *, solved: bool) -> NotebookNode:
    notebook = NotebookNode(nbformat=4, nbformat_minor=5, metadata=NotebookNode(source.metadata), cells=[])
    course = source.metadata.get("course")
    if not isinstance(course, NotebookNode) or not isinstance(course.get("exercise"), str):
        raise NotebookError("an exercise's front matter must name it: course: {exercise: its_name}")
    _check_settings(course)
    previous: NotebookNode | None = None
    for cell in [*source.cells, None]:
        kind = _cell_kind(cell) if cell is not None else "end"
        if previous is not None and (kind != "solution" or cell.metadata["name"] != previous.id):
            raise NotebookError(f"the answer {previous.id!r} must be followed directly by a solution of the same name")
        if cell is None:
            break
        if kind == "solution":
            if previous is None:
                raise NotebookError(
                    f"the solution {cell.id!r} must follow the answer it solves, but what comes before is not tagged "
                    f"answer; put :tags: [answer] and :name: {cell.metadata['name']} there"
                )
            previous.source = cell.source if solved else previous.source
            previous = None
            continue
        derived = _derive_cell(cell, kind, settings=course)
        notebook.cells.append(derived)
        previous = derived if kind == "answer" else None
    _add_instructions(notebook.cells[0], course["exercise"])
    courses = (cell.metadata.course for cell in notebook.cells if cell.cell_type == "code")
    graded = NotebookNode({each.cell: each.kind for each in courses if each.kind in GRADED})
    notebook.metadata.course = NotebookNode(course, cells=graded)
    return notebook


def _add_instructions(opening: NotebookNode, exercise: str) -> None:
    """Add how to work and hand in to the introduction, before the first section."""
    if opening.cell_type != "markdown":
        raise NotebookError(
            "an exercise must begin with its title, as Markdown: # Title; put that before the first cell"
        )
    introduction, heading, rest = opening.source.partition("\n## ")
    opening.source = f"{introduction.rstrip()}\n\n{WORKING.format(exercise)}{heading}{rest}".rstrip()


def _cell_kind(cell: NotebookNode) -> str:
    kinds = [tag for tag in cell.metadata.get("tags", []) if tag in KINDS] if cell.cell_type == "code" else []
    if len(kinds) > 1:
        raise NotebookError(f"the cell {cell.id!r} is tagged {' and '.join(kinds)}; it can be only one of them")
    if kinds and "name" not in cell.metadata:
        first = cell.source.strip().splitlines()[:1]
        raise NotebookError(f"a cell tagged {kinds[0]} needs a :name:; the one that begins {first} has none")
    if "expect" in cell.metadata and kinds != ["check"]:
        raise NotebookError(
            f"a cell with an :expect: must be tagged check, but {cell.id!r} is not; write :tags: [check]"
        )
    return kinds[0] if kinds else "given"


def _check_settings(course: NotebookNode) -> None:
    """Refuse unknown settings, which would be ignored in silence, and values that are not usable."""
    if unknown := sorted(set(course) - set(SETTINGS)):
        raise NotebookError(
            f"course: in the front matter may hold only {', '.join(SETTINGS)}, but got {unknown[0]!r}; remove it"
        )
    if not isinstance(title := course.get("title", ""), str):
        raise NotebookError(f"title: in the front matter must be text, but got {title!r}; put it in quotes")
    if not isinstance(by_hand := course.get("by_hand", False), bool):
        raise NotebookError(f"by_hand: in the front matter must be true or false, but got {by_hand!r}; try true")
    seconds = course.get("timeout_seconds", 1)
    if not _is_number(seconds) or not 0 < seconds < math.inf:
        raise NotebookError(
            f"timeout_seconds: in the front matter must be a number above 0, but got {seconds!r}; try 20"
        )
    tolerance = course.get("tolerance", 0)
    if not _is_number(tolerance) or not 0 <= tolerance < math.inf:
        raise NotebookError(
            f"tolerance: in the front matter must be a finite number of 0 or more, but got {tolerance!r}; try 1.0e-6"
        )


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _derive_cell(cell: NotebookNode, kind: str, *, settings: NotebookNode) -> NotebookNode:
    if cell.cell_type != "code":
        return NotebookNode(id=cell.id, cell_type=cell.cell_type, metadata=NotebookNode(), source=cell.source)
    course = NotebookNode(exercise=settings["exercise"], cell=cell.id, kind=kind)
    source = _wrap(cell, kind) if kind in ("check", "payoff") else cell.source
    if kind != "answer":
        course.digest = code_digest(source)
    metadata = NotebookNode(course=course, tags=list(cell.metadata.get("tags", [])))
    code = NotebookNode(id=cell.id, cell_type="code", metadata=metadata, source=source)
    code.update(execution_count=None, outputs=[])
    if kind == "picture":
        metadata.tags.append("hide-input")
    if kind == "check":
        _add_expected(code, cell.metadata.get("expect"))
        if "tolerance" in settings:
            course.tolerance = settings["tolerance"]
    return code


def _wrap(cell: NotebookNode, kind: str) -> str:
    """Put a check or a payoff into a function, so that its names are its own, and no answer can use them unnoticed."""
    name = cell.id.replace("-", "_")
    called = PAYOFF.format(name) if kind == "payoff" else f"{name}()"
    wrapped = f"def {name}():\n{textwrap.indent(cell.source, '    ')}\n\n\n{called}"
    try:
        function = ast.parse(wrapped).body[0]
        if isinstance(function, ast.FunctionDef) and _dump(function.body) == _dump(ast.parse(cell.source).body):
            return wrapped
    except SyntaxError as error:
        raise NotebookError(f"the {kind} {cell.id!r} must be Python that fits into a function, but {error}") from error
    raise NotebookError(
        f"the {kind} {cell.id!r} is put into a function, and has a string over several lines, which indenting would "
        "change; write it in one line"
    )


def _dump(body: list[ast.stmt]) -> list[str]:
    return [ast.dump(statement) for statement in body]


def _add_expected(check: NotebookNode, expect: object) -> None:
    """Store what the reference prints as the check's output, with the count that makes nbval compare it."""
    if not isinstance(expect, str):
        came = "there is none" if expect is None else f"got {expect!r}; put it in quotes"
        raise NotebookError(
            f"the check {check.id!r} needs an :expect: with what the reference answer prints, as text, but {came}"
        )
    text = expect.rstrip("\n") + "\n" if expect.strip() else ""
    check.execution_count = 1
    check.outputs = [new_output("stream", name="stdout", text=text)] if text else []
    check.metadata.update(editable=False, deletable=False, mystnb=NotebookNode(FOLDED))
    check.metadata.tags.append("hide-input")
    check.metadata.course.expect = text
