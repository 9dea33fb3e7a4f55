"""Grade one submission in this process: read the notebook, run it and the hidden tests, report."""

import functools
import tempfile
import traceback
from dataclasses import replace
from pathlib import Path

from nbformat import NotebookNode

from course_grader.grading.exercises.answers import answers_of, check_exercise, collect_answers, insert_answers
from course_grader.grading.exercises.exercise import Exercise
from course_grader.grading.exercises.hashes import hash_key, hash_notebook
from course_grader.grading.exercises.submitted_notebook import parse_submission, read_notebook_bytes
from course_grader.grading.exercises.ungraded_cells import UngradedCells
from course_grader.grading.grade_one.cell_items import NotebookPlugin
from course_grader.grading.grade_one.learner_messages import report_fault, report_ungraded
from course_grader.grading.grade_one.pytest_isolation import keep_compiled
from course_grader.grading.grade_one.pytest_session import KeyFailure, collect_tests, run_session
from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.kernel.kernel import Kernel
from course_grader.grading.sandbox import scratch_dirs
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP
from course_grader.grading.text import excerpt
from course_grader.grading.warm_start.zygote_client import Zygote
from course_lib.errors import InputError, NotebookError

__all__ = ["grade_submission", "hidden_tests"]

WRONG_FORM = "{} returned something of the wrong form: compare it with what it should return"


@functools.lru_cache(maxsize=64)
def hidden_tests(exercise: Exercise) -> tuple[Row, ...]:
    """Return a row for each hidden test, none of them run, with its points.

    Raises
    ------
    InputError
        If the hidden tests cannot be collected.
    """
    with tempfile.TemporaryDirectory(dir=scratch_dirs.own_folder()) as folder:
        try:
            return tuple(collect_tests(exercise.tests, folder=Path(folder).resolve(), compiled=keep_compiled()))
        except KeyFailure as error:
            last = [line for line in str(error).splitlines() if line.strip()][-1]
            raise InputError(
                f"{exercise.tests} cannot be used: {last.removeprefix('E').strip()}; run it through pytest"
            ) from error


def grade_submission(
    path: Path, *, learner: str, exercise: Exercise, sandbox: str = BUBBLEWRAP, zygote: Zygote | None = None
) -> SubmissionReport:
    """Grade one notebook and return its report, whatever is in the notebook.

    Points come from the hidden tests alone. They run in this process and get plain data from the learner's; the
    verdict of a visible check is made in the learner's own process, where it can be forged, and so it is shown but
    worth nothing.

    Parameters
    ----------
    path : Path
        The notebook handed in.
    learner : str
        The learner's name. With the key and the notebook it seeds the random inputs of the hidden tests: another
        attempt sees others, and the same bytes, graded again, the same.
    exercise : Exercise
        The exercise whose answers it holds.
    sandbox : {"bubblewrap", "none"}
        Where the learner's code runs.
    zygote : Zygote, optional
        The process in the sandbox that its kernel is forked from; without one it starts from scratch.
    """
    try:
        submission = parse_submission(raw := read_notebook_bytes(path))
        check_exercise(submission, exercise.slug)
        answers, faults = collect_answers(submission, answers_of(pristine := exercise.pristine()))
    except NotebookError as error:
        return _report_without_run(learner, exercise, "rejected", [str(error)])
    notebook, notes = insert_answers(pristine, answers), list(map(report_fault, faults))
    ungraded = UngradedCells.of(submission)
    seed = learner, hash_key(exercise), hash_notebook(raw)
    run = functools.partial(_run, ungraded=ungraded, seed=seed, exercise=exercise, sandbox=sandbox, zygote=zygote)
    try:
        plugin, kernel = run(notebook, dict.fromkeys(answers_of(notebook), "") | answers)
        rows = plugin.rows
        if any(row.status == "error" for row in rows):
            rows = _blame_tests_or_answers(plugin, run(exercise.reference(), answers_of(exercise.reference()))[0].rows)
    except Exception:  # one submission must not end the class's run
        row = Row(name="grader", kind="grader", status="error", detail=excerpt(traceback.format_exc()))
        message = "grading failed, not your answer: your instructor has been told"
        return _report_without_run(learner, exercise, "error", [*notes, message], rows=(row, *hidden_tests(exercise)))
    if any(row.points < row.max_points for row in rows):
        notes += report_ungraded(ungraded)
    report = _make_report(learner, exercise, rows, notes, stops=[*map(str, kernel.stops)], sandbox=kernel.place)
    return replace(report, starved=kernel.starved, causes=tuple(stop.cause for stop in kernel.stops))


def _run(
    notebook: NotebookNode,
    answers: dict[str, str],
    *,
    seed: tuple[str, ...],
    exercise: Exercise,
    sandbox: str,
    zygote: Zygote | None,
    ungraded: UngradedCells,
) -> tuple[NotebookPlugin, Kernel]:
    """Run a notebook and the hidden tests; return the plugin with their rows, and the kernel, which is gone."""
    with (
        tempfile.TemporaryDirectory(dir=scratch_dirs.own_folder()) as name,
        Kernel(limits=exercise.limits, sandbox=sandbox, zygote=zygote) as kernel,
    ):
        plugin = NotebookPlugin(exercise.tests, kernel, answers, seed, ungraded, notebook=notebook)
        run_session(plugin, folder=Path(name).resolve(), compiled=keep_compiled())
    return plugin, kernel


def _blame_tests_or_answers(plugin: NotebookPlugin, reference: list[Row]) -> list[Row]:
    """Blame an answer for a hidden test that broke, unless the test breaks on the reference answers, too.

    Parameters
    ----------
    plugin : NotebookPlugin
        The submission's, after its run.
    reference : list of Row
        The rows of the reference answers.
    """
    sound = {row.name for row in reference if row.kind == "test" and row.status == "passed"}
    return [
        replace(row, status="failed", message=WRONG_FORM.format(plugin.last_requests[row.name]))
        if row.status == "error" and row.name in sound
        else row
        for row in plugin.rows
    ]


def _make_report(
    learner: str, exercise: Exercise, rows: list[Row], notes: list[str], *, stops: list[str], sandbox: str
) -> SubmissionReport:
    """Add up the points and gather the messages for the learner, each once."""
    broken = any(row.status == "error" for row in rows)
    failed = [row for row in rows if row.status in ("failed", "error") and row.message not in stops]
    said = [*notes, *stops]
    said += [f"the cell `{row.name}`: {row.message}" for row in failed if row.kind in ("given", "answer")]
    said += [row.message for row in failed if row.kind == "test"]
    return SubmissionReport(
        learner=learner,
        exercise=exercise.slug,
        status="error" if broken else "stopped" if stops else "graded",
        points=sum(row.points for row in rows),
        max_points=sum(row.max_points for row in rows),
        messages=tuple(dict.fromkeys(said)),
        rows=tuple(rows),
        sandbox=sandbox,
    )


def _report_without_run(
    learner: str, exercise: Exercise, status: str, messages: list[str], *, rows: tuple[Row, ...] | None = None
) -> SubmissionReport:
    rows = hidden_tests(exercise) if rows is None else rows
    return SubmissionReport(
        learner=learner,
        exercise=exercise.slug,
        status=status,
        points=0,
        max_points=sum(row.max_points for row in rows),
        messages=tuple(messages),
        rows=rows,
    )
