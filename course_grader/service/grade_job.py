"""One job of the queue: grade a hand-in as ``course grade`` would, and record what it earned."""

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from course_grader.grading.exercises.exercise import Exercise
from course_grader.grading.exercises.hashes import hash_key
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.standby_graders import StandbyGraders
from course_grader.grading.gradebook.attempts import Attempt
from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.grading.sandbox import scratch_dirs
from course_grader.service.hand_ins import HandIns
from course_grader.service.tables import State

__all__ = ["GradeJobs", "OutdatedKeyError", "WorkedExercise"]

MOST_TRIES = 5
DAMAGED = "the service's copy of this notebook is damaged; hand it in once more"
NO_KEY = "no worker has the key of this exercise; your instructor has been told"
GAVE_UP = "grading this one ended the grader's process several times; your instructor has been told"


class OutdatedKeyError(Exception):
    """The key has changed since this worker read it: another, or this one started anew, is to do the job."""


@dataclass(frozen=True)
class WorkedExercise:
    """An exercise that this worker grades, what it is worth, and the hash of its key."""

    exercise: Exercise
    max_points: float
    key_hash: str

    @property
    def is_current(self) -> bool:
        """Whether the key is still what it was when it was read."""
        return hash_key(self.exercise) == self.key_hash


class GradeJobs:
    """What a worker needs to do jobs; a job done twice leaves what it left once.

    Parameters
    ----------
    hand_ins : HandIns
        Where jobs find what to grade, and write how it ended.
    book : Gradebook
        Where grades are recorded.
    graders : StandbyGraders
        What grades.
    exercises : dict of str to WorkedExercise
        By name.
    """

    def __init__(
        self, hand_ins: HandIns, book: Gradebook, graders: StandbyGraders, exercises: dict[str, WorkedExercise]
    ) -> None:
        self._hand_ins, self._book, self._graders, self._exercises = hand_ins, book, graders, exercises

    @property
    def slugs(self) -> list[str]:
        """The exercises that can be graded."""
        return list(self._exercises)

    def grade(self, number: int, *, tries: int) -> None:
        """Grade the hand-in with this number; ``tries`` says how often a worker had begun before.

        Raises
        ------
        OutdatedKeyError
            If its key has changed; nothing is recorded.
        """
        hand_in = self._hand_ins.find(number)
        if (
            hand_in is None or hand_in.state is not State.WAITING
        ):  # deleted by its learner; or done, and its worker died
            return
        worked, raw = self._exercises.get(hand_in.exercise), self._hand_ins.notebook(hand_in.notebook_hash)
        if worked is None or raw is None or tries >= MOST_TRIES:
            why = GAVE_UP if tries >= MOST_TRIES else DAMAGED if raw is None else NO_KEY
            self._hand_ins.finish(number, State.FAILED, why)
            return
        _require_current(worked)
        with tempfile.TemporaryDirectory(dir=scratch_dirs.own_folder()) as folder:
            (path := Path(folder) / f"{hand_in.exercise}.ipynb").write_bytes(raw)
            task = Task(hand_in.learner, worked.exercise, path)
            report = self._graders.grade(task, max_points=worked.max_points)
        if report.status == "error":
            self._hand_ins.finish(number, State.FAILED, "; ".join(report.messages))
            return
        # It may have changed meanwhile, and who has asked for a regrade since then takes this for one by the new key.
        _require_current(worked)
        times = hand_in.submitted_at, hand_in.last_submitted_at
        attempt = Attempt(report, hand_in.notebook_hash, worked.key_hash, *times, datetime.now(UTC))
        self._book.record(attempt)
        if not self._hand_ins.finish(number, State.GRADED):  # its learner had all of it deleted meanwhile
            self._book.discard(attempt)


def _require_current(worked: WorkedExercise) -> None:
    if not worked.is_current:
        raise OutdatedKeyError(worked.exercise.slug)
