"""Say below a check, as soon as its cell has run, what the hidden tests say of the same part."""

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from course_grader.code_digest import code_digest
from course_grader.grading.exercises.name_analysis import CellNames
from course_grader.grading.exercises.submitted_notebook import CodeCell, Submission
from course_grader.grading.grade_one.edited_cells import cell_name
from course_grader.grading.text import join_names
from course_grader.learner.in_notebook import captured_output, last_run, notebook_names
from course_grader.learner.mark import CODE, Verdict, as_html
from course_grader.learner.own_process import find_shell
from course_grader.learner.public_key import read_key
from course_grader.learner.run_notebook import mark_with
from course_grader.part_points import answers_by_test
from course_lib import extras
from course_lib.errors import CourseError

__all__ = ["Explanation", "explain_check", "explain_checks"]

CHECK = re.compile(r"def check_(\w+)\(\):")
RAISED = re.compile(r"`\w+` raised \w+ in its line `[^`]*`")  # one failure, whatever a test adds to it


@dataclass(frozen=True)
class Explanation:
    """What the hidden tests say of a part, in a sentence and their messages; as text and HTML.

    Examples
    --------
    >>> Explanation("The tests of `double` say:", ("`double(2)` is 2, not 4",))
    The tests of `double` say:
      ✗ `double(2)` is 2, not 4
    """

    title: str
    messages: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "\n".join([self.title, *(f"  ✗ {message}" for message in self.messages)])

    def _repr_html_(self) -> str:
        listed = "".join(f"<br>✗ {as_html(message)}" for message in self.messages)
        return f"<p><b>{as_html(self.title)}</b>{listed}</p>"


def explain_checks(exercise: str) -> None:
    """From now on, show below each check of this notebook what the hidden tests of its part say, if any fails.

    They take the answers as they were last run, in this process and in names of their own. Where all pass, nothing is
    shown; nor is it where the hidden tests are not public.

    Parameters
    ----------
    exercise : str
        The exercise whose notebook this is.

    Examples
    --------
    >>> explain_checks("learning_rates")  # outside of a notebook it does nothing
    """
    if (shell := find_shell()) is None:
        return
    try:
        extras.load("pytest", extra="check")
    except CourseError as error:
        print(f"The checks say less than they can: {error}")
        return
    shell.events.register("post_run_cell", _Explainer(exercise))


@dataclass(frozen=True)  # one that is registered again is equal to the first, and runs once
class _Explainer:
    exercise: str

    def __call__(self, result: Any) -> None:
        """Explain the check that a cell has run; other cells have none."""
        error = result.error_before_exec or result.error_in_exec
        if not CHECK.match(check := result.info.raw_cell) or isinstance(error, NotImplementedError):
            return
        try:
            with captured_output():
                said = explain_check(self.exercise, check, notebook_names().get("In", []), failed=error is not None)
        except (CourseError, KeyboardInterrupt):
            return  # the last cell says what is missing
        if said is not None:
            show: Callable[[Explanation], None] = importlib.import_module("IPython.display").display
            show(said)


def explain_check(exercise: str, check: str, ran: Sequence[str], *, failed: bool) -> Explanation | None:
    """Return what the hidden tests say of the part to which a check belongs; None if they have nothing to add.

    Parameters
    ----------
    exercise : str
        The exercise.
    check : str
        The text of the check, as it was handed out: to another, these tests may not belong.
    ran : sequence of str
        The text of the cells that were run, the first one first: the answers are taken from the last ones.
    failed : bool
        Whether the check failed. If the tests of its part pass, the mistake may be in a part above.
    """
    if (key := read_key(exercise)) is None:
        return None
    handed_out = key.notebook()
    digests = {cell.course["cell"]: cell.course["digest"] for cell in handed_out.cells if "digest" in cell.course}
    part = check.partition("(")[0].removeprefix("def check_")
    if digests.get(f"check_{part}") != code_digest(check):
        return None
    answers = {cell_name(cell): cell.source for cell in handed_out.cells if cell.course.get("kind") == "answer"}
    if not last_run(answers[part], ran):
        return Explanation(f"`{part}` is not there: run the cell of its answer, and then this one")
    given = [cell.source for cell in handed_out.cells if cell.course.get("kind") == "given"]
    owners = {answer: answer for answer in answers} | answers_by_test(key.tests, answers, given)
    wrong: dict[str, dict[str, str]] = {answer: {} for answer in answers}
    for row in mark_with(_filled_in(handed_out, ran), key, checks=False).rows:
        blamed = _blamed(row.message, answers) or owners.get(row.name.partition("[")[0])
        if Verdict.of(row) is Verdict.WRONG and blamed:
            same = RAISED.search(row.message)
            wrong[blamed].setdefault(same.group() if same else row.message, row.message)
    return _explain(part, {answer: tuple(said.values()) for answer, said in wrong.items()}, failed=failed)


def _filled_in(handed_out: Submission, ran: Sequence[str]) -> Submission:
    """Return the notebook with what was run last in place of each stub, and the learner's own cells at its end."""
    answers = [cell for cell in handed_out.cells if cell.course.get("kind") == "answer"]
    known = {cell.source.strip() for cell in handed_out.cells}
    names = {name for cell in answers for name in CellNames.of(cell.source).bound}
    own = [text for text in ran if text.strip() not in known and not CellNames.of(text).bound & names]
    filled = [
        replace(cell, source=last_run(cell.source, ran) or cell.source) if cell in answers else cell
        for cell in handed_out.cells
    ]
    return replace(handed_out, cells=(*filled, *(CodeCell(text, (), {}) for text in own)))


def _explain(part: str, wrong: Mapping[str, tuple[str, ...]], *, failed: bool) -> Explanation | None:
    """Tell a part's own mistakes or, if its check failed, in which parts above there are some."""
    own, before = wrong[part], list(wrong)[: list(wrong).index(part)]
    above = [f"`{name}`" for name in before if wrong[name]] if failed else []
    if own and not failed:
        return Explanation(f"The check passes, but the tests of `{part}` do not:", own)
    if own:
        first = f" (there is a mistake in {join_names(above)}, too: mend that first)" if above else ""
        return Explanation(f"The tests of `{part}` say{first}:", own)
    if above:
        return Explanation(
            f"The tests find a mistake in {join_names(above)}: mend that first, then run this check again"
        )
    return None


def _blamed(message: str, answers: Mapping[str, str]) -> str | None:
    """Return the first answer whose function a message names: a test of several functions says so which it means."""
    functions = {function: name for name, source in answers.items() for function in CellNames.of(source).bound}
    words = (word.partition("(")[0] for word in CODE.findall(message))
    return next((functions[word] for word in words if word in functions), None)
