"""``course_grader.check()``: mark the notebook that is open, in its last cell."""

import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from course_grader.grading.exercises.name_analysis import CellNames
from course_grader.grading.exercises.submitted_notebook import Submission, parse_submission
from course_grader.learner.mark import Mark
from course_grader.learner.open_notebook import read_open_notebook
from course_grader.learner.own_process import find_shell
from course_grader.learner.run_notebook import mark_notebook
from course_lib.errors import CourseError, InputError

__all__ = ["captured_output", "check", "last_run", "notebook_names", "shown_as_sentence"]

P = ParamSpec("P")
R = TypeVar("R")


def shown_as_sentence(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function's errors show in a notebook as their sentence, after the function's ``name``."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        class SentenceError(InputError):
            def _render_traceback_(self) -> list[str]:
                return [f"{name}: {self}"]

        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except CourseError as error:
                raise SentenceError(str(error)) from None

        return run

    return decorate


@shown_as_sentence("check")
def check(notebook: str | os.PathLike[str] | None = None) -> Mark:
    """Mark the notebook that is open, as it will be graded: all parts, with points and what the hidden tests say.

    Only answers count, as in grading; nothing of your session is used or changed. It runs in this process, for
    yourself: what your course records is graded elsewhere, in a sandbox.

    Parameters
    ----------
    notebook : path, optional
        The notebook's file, where the editor does not say which one is open.

    Returns
    -------
    Mark
        A table, when it is a cell's last line.

    Raises
    ------
    InputError
        If the notebook's text cannot be had, with how to save or upload it, or is not that of an exercise.

    Examples
    --------
    >>> check("homework.ipynb")
    Traceback (most recent call last):
    course_grader...: expected the notebook that is open, found no file at homework.ipynb; save the notebook, ...
    """
    names = notebook_names()
    opened = read_open_notebook(notebook, names)
    with captured_output():
        mark = mark_notebook(opened.raw)
    unsaved = _warn_of_unsaved(parse_submission(opened.raw), names.get("In", [])) if opened.path else ()
    return replace(mark, notes=(*unsaved, *mark.notes, opened.origin))


def notebook_names() -> Mapping[str, Any]:
    """Return the names of the notebook whose kernel this is; nothing elsewhere."""
    shell = find_shell()
    return shell.user_ns if shell is not None else {}


def last_run(source: str, ran: Sequence[str]) -> str:
    r"""Return the last of the cells that were run which defines what ``source`` does; "" if there is none.

    Examples
    --------
    >>> last_run("def f(): ...", ["x = 1", "def f():\n    return 1", "f()"])
    'def f():\n    return 1'
    """
    bound = CellNames.of(source).bound
    return next((text for text in reversed(ran) if bound & CellNames.of(text).bound), "")


def captured_output() -> AbstractContextManager[Any]:
    """Keep what the answers print and display out of the cell."""
    if "IPython" not in sys.modules:
        return nullcontext()
    capture: Any = importlib.import_module("IPython.utils.capture").capture_output
    return capture()  # type: ignore[no-any-return] # untyped


def _warn_of_unsaved(saved: Submission, ran: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each answer that was last run with another text than the file has."""
    texts = {cell.source.strip() for cell in saved.cells}
    for cell in saved.cells:
        last = last_run(cell.source, ran).strip() if cell.course.get("kind") == "answer" else ""
        if last and last not in texts:
            name = cell.course.get("cell")
            yield f"the answer `{name}` that you ran last is not in the saved file: save, or run its cell"
