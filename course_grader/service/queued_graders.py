"""Grade a class through the service's workers, with the interface of the graders of one machine."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from course_grader.grading.exercises.hashes import hash_key
from course_grader.grading.exercises.submitted_notebook import read_notebook_bytes
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.grade_task import make_empty_report
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.grading.gradebook.late_policy import Policy
from course_grader.grading.gradebook.submission_times import submission_time
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP
from course_grader.service.database import open_service_database
from course_grader.service.hand_ins import HandIn, HandIns
from course_grader.service.tables import State
from course_lib.errors import InputError, NotebookError

__all__ = ["QueuedGraders"]

LOOK_SECONDS = 0.2


class QueuedGraders:
    """Workers of the service that grade a class; use it in a ``with`` statement.

    What was queued is graded also when this process ends before: the next run finds it.

    Parameters
    ----------
    address : str
        The service's database.
    """

    sandbox = BUBBLEWRAP

    def __init__(self, address: str) -> None:
        self._engine = open_service_database(address)
        self._hand_ins, self._book = HandIns(self._engine), Gradebook(address)

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Check that the workers have the same keys as this machine.

        Raises
        ------
        InputError
            If they have others, or none.
        """
        theirs = self._hand_ins.exercises()
        for exercise in {task.exercise for task in tasks if task.exercise}:
            if exercise.slug not in theirs:
                raise InputError(f"expected workers that have {exercise.slug}, found none; start one: course work")
            if theirs[exercise.slug].key_hash != hash_key(exercise):
                wrong = f"expected workers that have the key of {exercise.slug} that is here, found another with them"
                raise InputError(f"{wrong}; give both the same, and start the workers anew")

    def hide(self, folders: Iterable[Path]) -> None:
        """Do nothing: workers are elsewhere, and hide all that is theirs."""

    def grade(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, SubmissionReport]]:
        """Queue submissions, and yield each with its report as it is ready."""
        worth = {slug: row.max_points for slug, row in self._hand_ins.exercises().items()}
        waiting: dict[int, list[Task]] = {}
        for task in tasks:
            if task.path is None or task.exercise is None:
                yield task, make_empty_report(task, worth, "missing", task.message)
                continue
            try:
                mine = (task.learner, task.exercise.slug, read_notebook_bytes(task.path))
            except NotebookError as error:
                yield task, make_empty_report(task, worth, "rejected", str(error))
                continue
            number = self._hand_ins.accept(*mine, at=submission_time(task, {}), policy=Policy(), again=True)
            waiting.setdefault(number, []).append(task)
        while waiting:
            done = self._hand_ins.finished(waiting)
            for hand_in in done:
                report = self._report(hand_in, worth)
                for task in waiting.pop(hand_in.id):
                    yield task, replace(report, messages=(*report.messages, *filter(None, [task.message])))
            if not done:
                time.sleep(LOOK_SECONDS)

    def _report(self, hand_in: HandIn, worth: dict[str, float]) -> SubmissionReport:
        if hand_in.state is State.FAILED:
            here = (hand_in.learner, hand_in.exercise)
            return SubmissionReport(*here, "error", 0, worth.get(hand_in.exercise, 0), (hand_in.message,))
        attempts = self._book.attempts(exercise=hand_in.exercise, learner=hand_in.learner)
        return next(each.report for each in attempts if each.notebook_hash == hand_in.notebook_hash)

    def __enter__(self) -> "QueuedGraders":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._book.__exit__()
        self._engine.dispose()
