"""Find and load an exercise: its notebook, made from its text, its hidden tests and its limits.

Modules that read the text are imported in the function that uses them: processes that grade are handed the result.
"""

import ast
import contextlib
import copy
import functools
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbformat import NotebookNode

from course_grader.grading.sandbox.by_hand import DIFFERENTIATING
from course_grader.grading.sandbox.limits import Limits
from course_lib.errors import InputError, NotebookError

__all__ = ["TOTAL_FACTOR", "Exercise", "find_exercise", "load_exercise"]

TOTAL_FACTOR = 10


@dataclass(frozen=True)
class Exercise:
    """One exercise: where its key lies, and what its text says; plain data that can be sent to a worker.

    ``imports`` are the modules that the notebook as handed out imports.
    """

    slug: str
    title: str
    key: Path
    limits: Limits
    imports: tuple[str, ...] = ()
    handed_out: NotebookNode = field(default_factory=NotebookNode, repr=False, compare=False)
    solved: NotebookNode = field(default_factory=NotebookNode, repr=False, compare=False)

    @property
    def tests(self) -> Path:
        """The file of hidden tests."""
        return self.key / "test_hidden.py"

    def pristine(self) -> NotebookNode:
        """Return a fresh copy of the notebook as handed out, made from the text and from nothing a learner can edit."""
        return copy.deepcopy(self.handed_out)

    def reference(self) -> NotebookNode:
        """Return the notebook with the reference answers in it."""
        return copy.deepcopy(self.solved)


def find_exercise(slug: str, *, exercises: Path, key: Path | None = None) -> Exercise:
    """Find the exercise called ``slug``.

    Parameters
    ----------
    slug : str
        Its name.
    exercises : Path
        The folder of exercises; the key is ``exercises/<slug>/key``.
    key : Path, optional
        Where a private key lies instead: a folder with ``<slug>/source.md``, or with ``source.md`` of that exercise.

    Raises
    ------
    InputError
        If there is no such exercise.
    """
    places = [exercises / slug / "key"] if key is None else [key / slug, key / slug / "key", key]
    others = []
    for place in places:
        if (place / "source.md").is_file():
            exercise = load_exercise(place.resolve())
            if exercise.slug == slug:
                return exercise
            others.append(f"{exercise.slug!r} at {place}/source.md")
    if others:
        raise InputError(
            f"expected the text of exercise {slug!r}, found that of {' and '.join(others)}; its front matter must say "
            f"course: {{exercise: {slug}}}, or you meant another exercise"
        )
    looked = " or ".join(f"{place}/source.md" for place in places)
    raise InputError(f"expected the text of exercise {slug!r} at {looked}, found none; check --exercises and --key")


@functools.cache
def load_exercise(key: Path) -> Exercise:
    """Read and check the exercise whose key is the folder ``key``.

    Raises
    ------
    InputError
        If its text or its hidden tests are missing or malformed.
    """
    from course_grader.notebooks.exercise_notebooks import graded_notebook, learner_notebook, reference_notebook
    from course_grader.notebooks.myst_text import read_text

    if not (key / "test_hidden.py").is_file():
        raise InputError(f"expected hidden tests at {key / 'test_hidden.py'}, found none; write them or check --key")
    try:
        source = read_text(key / "source.md")
        handed_out, solved = (graded_notebook(made(source)) for made in (learner_notebook, reference_notebook))
    except (NotebookError, UnicodeDecodeError, OSError) as error:
        said = str(error).removeprefix(f"{key / 'source.md'}: ")
        raise InputError(f"{key / 'source.md'} is not an exercise: {said}") from error
    course = source.metadata["course"]
    seconds = float(course.get("timeout_seconds", Limits.cell_seconds))
    by_hand = course.get("by_hand", False)
    limits = replace(Limits(), cell_seconds=seconds, total_seconds=TOTAL_FACTOR * seconds, by_hand=by_hand)
    imports = _imports(handed_out)
    if refused := sorted(DIFFERENTIATING & {name.partition(".")[0] for name in imports} if by_hand else ()):
        raise InputError(
            f"{key / 'source.md'}: an exercise that is done by_hand must give nothing that differentiates, but one of "
            f"its cells imports {refused[0]}; take one of the two out"
        )
    return Exercise(
        slug=course["exercise"],
        title=str(course.get("title", course["exercise"])),
        key=key,
        limits=limits,
        imports=imports,
        handed_out=handed_out,
        solved=solved,
    )


def _imports(notebook: NotebookNode) -> tuple[str, ...]:
    """Return the modules that a notebook's cells import at their top level, sorted."""
    names = set[str]()
    for cell in notebook.cells:
        with contextlib.suppress(SyntaxError):
            for node in ast.parse(cell.source).body if cell.cell_type == "code" else ():
                if isinstance(node, ast.Import):
                    names.update(alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names.add(node.module)
    return tuple(sorted(names))
