"""All that is kept about a person goes with them, also what a worker is about to write."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from course_grader.grading.exercises.exercise import load_exercise
from course_grader.grading.exercises.hashes import hash_key
from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook.late_policy import Policy
from course_grader.service.course import Course
from course_grader.service.grade_job import GradeJobs, WorkedExercise
from course_grader.service.tables import ExerciseRow
from course_lib.errors import InputError
from tests.grading.conftest import SOURCE, TESTS


@dataclass
class DeletedMeanwhile:
    """What grades, while the learner deletes everything."""

    course: Course

    def grade(self, task, *, max_points):
        """Return a report, too late."""
        self.course.forget(task.learner)
        return SubmissionReport(task.learner, task.exercise.slug, "graded", max_points, max_points)


@pytest.fixture
def course(new_database):
    """A course with one exercise and one learner."""
    course = Course(new_database())
    course.people.add([RosterEntry("ada")])
    course.hand_ins.publish([ExerciseRow(slug="double", title="Twice as much", max_points=3, key_hash="k")])
    yield course
    course.close()


def test_marks_of_somebody_deleted_meanwhile_are_taken_back(course, tmp_path):
    """And nothing comes in any more under that name."""
    (tmp_path / "source.md").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "test_hidden.py").write_text(TESTS, encoding="utf-8")
    exercise = load_exercise(tmp_path)
    worked = WorkedExercise(exercise, 3, hash_key(exercise))
    number = course.hand_in("ada", "double", b"{}")
    GradeJobs(course.hand_ins, course.book, DeletedMeanwhile(course), {"double": worked}).grade(number, tries=0)
    assert course.book.attempts(exercise="double") == []
    with pytest.raises(InputError, match="someone of this course"):
        course.hand_ins.accept("ada", "double", b"{}", at=datetime.now(UTC), policy=Policy())
