"""``course demo``: grade a class made of one right, one untouched, one broken and every known-wrong notebook."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_grader.cli.options import Exercises, Key, Sandbox

if TYPE_CHECKING:
    from course_grader.grading.exercises.exercise import Exercise
    from course_grader.grading.grade_one.report import SubmissionReport

__all__ = ["demo"]


def demo(
    exercise: Annotated[str, typer.Argument(help="The exercise to show.")] = "two_layer_gradients",
    *,
    exercises: Exercises = Path("exercises"),
    key: Key = None,
    sandbox: Sandbox = True,
) -> None:
    """Grade a small class made from the exercise's own reference and known-wrong answers, and print the table."""
    from course_lib.extras import load

    load("nbval", extra="grade")
    from course_grader.cli.result_tables import grades_table
    from course_grader.cli.terminal_output import make_console
    from course_grader.grading.exercises.exercise import find_exercise
    from course_grader.grading.grade_class.find_submissions import find_submissions
    from course_grader.grading.grade_class.graders import grade_class
    from course_grader.grading.gradebook.final_grade import FinalGrade
    from course_grader.grading.sandbox import scratch_dirs
    from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP, NONE

    found = find_exercise(exercise, exercises=exercises, key=key)
    with tempfile.TemporaryDirectory(dir=scratch_dirs.own_folder()) as folder:
        _make_class(found, Path(folder))
        tasks = find_submissions(Path(folder), exercises=exercises, slug=exercise, key=key)
        reports = list(grade_class(tasks, sandbox=BUBBLEWRAP if sandbox else NONE))
    console = make_console()
    console.print(f"{found.title}: {len(reports)} submissions", markup=False)
    grades = [FinalGrade(report) for report in reports]
    console.print(grades_table(grades, names="submission", width=console.width, details="below"))
    for line in (*_describe_broken_tests(reports), *_describe_broken_promises(found, reports)):
        console.print(line, markup=False, soft_wrap=True)


def _describe_broken_tests(reports: "list[SubmissionReport]") -> Iterator[str]:
    """Yield the ``detail`` of each hidden test that broke, for the first submission: a demo keeps no reports."""
    first: dict[str, tuple[str, str]] = {}
    for report in sorted(reports, key=lambda report: report.learner):
        for row in report.rows:
            if row.status == "error":
                first.setdefault(row.name, (report.learner, row.detail))
    for name, (learner, detail) in first.items():
        yield f"\n`detail` of {name} for {learner}:\n{detail}"


def _describe_broken_promises(exercise: "Exercise", reports: "list[SubmissionReport]") -> Iterator[str]:
    """Yield a line for each submission whose points or message are not those that its author promised."""
    from course_grader.grading.exercises.wrong_answers import read_wrong_answers

    promised = {wrong.name: (wrong.points, wrong.expects) for wrong in read_wrong_answers(exercise)}
    promised["(untouched)"] = (0, "")
    for report in sorted(reports, key=lambda report: report.learner):
        points, expects = promised.get(report.learner, (report.points, ""))
        failed = ", ".join(row.name for row in report.rows if row.status != "passed")
        if report.learner == "(reference)" and failed:
            yield f"\nthe reference must pass everything, but not {failed}; correct the solutions or the tests"
        if report.points != points or not any(expects in message for message in report.messages or [""]):
            said = f"{points:g} points" + f" and {expects!r}" * bool(expects)
            yield f"\n{report.learner} must get {said}, but got {report.points:g} and {list(report.messages)}"


def _make_class(exercise: "Exercise", folder: Path) -> None:
    """Write the submissions, the known-wrong ones under the name of their mistake."""
    import nbformat

    from course_grader.grading.exercises.wrong_answers import read_wrong_answers

    notebooks = {wrong.name: wrong.notebook(exercise) for wrong in read_wrong_answers(exercise)}
    notebooks |= {"(reference)": exercise.reference(), "(untouched)": exercise.pristine()}
    texts = {name: nbformat.writes(notebook) for name, notebook in notebooks.items()}
    texts["(cut off)"] = texts["(reference)"][:1000]
    for name, text in texts.items():
        (folder / name).mkdir()
        (folder / name / f"{exercise.slug}.ipynb").write_text(text, encoding="utf-8")
