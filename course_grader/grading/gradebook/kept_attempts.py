"""Find the attempts that a gradebook can grade again from the notebooks it keeps, wherever their files are now."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course_grader.grading.exercises.exercise import Exercise
from course_grader.grading.exercises.hashes import hash_key
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.gradebook.attempts import AttemptHeader
from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.grading.gradebook.incremental_grading import hash_submission
from course_grader.grading.sandbox import scratch_dirs
from course_lib.errors import InputError

__all__ = ["KeptAttempts", "count_outdated", "find_kept_attempts"]

FOLDER = "kept"


@dataclass(frozen=True)
class KeptAttempts:
    """The attempts in a gradebook that are not among a run's files.

    Parameters
    ----------
    tasks : mapping of Task to AttemptHeader
        Those that can be graded again, as :func:`course_grader.grading.gradebook.grade_into` takes them.
    without_notebook : mapping of str to sequence of str
        The learners whose notebooks are not kept, by exercise.
    without_exercise : sequence of str
        Exercises whose text is not found.
    """

    tasks: Mapping[Task, AttemptHeader] = field(default_factory=dict)
    without_notebook: Mapping[str, Sequence[str]] = field(default_factory=dict)
    without_exercise: Sequence[str] = ()


def find_kept_attempts(
    book: Gradebook, tasks: Sequence[Task], *, find: Callable[[str], Exercise], only: str | None = None
) -> KeptAttempts:
    """Find every attempt in a gradebook that is not one of a run's files.

    Parameters
    ----------
    book : Gradebook
        It is read.
    tasks : sequence of Task
        The run's.
    find : callable
        Returns the exercise of a name, or raises an InputError: for exercises that no file of the run belongs to.
    only : str, optional
        The one exercise that is graded.
    """
    here = {(task.learner, task.exercise.slug, hash_submission(task)) for task in tasks if task.exercise}
    exercises = {task.exercise.slug: task.exercise for task in tasks if task.exercise}
    found, lost, unknown = dict[Task, AttemptHeader](), dict[str, list[str]](), list[str]()
    for slug in [only] if only else book.exercises():
        headers = book.attempt_headers(exercise=slug)
        others = [each for each in headers if (each.learner, slug, each.notebook_hash) not in here]
        if learners := [each.learner for each in others if not each.notebook_kept]:
            lost[slug] = list(dict.fromkeys(learners))
        if not (kept := [each for each in others if each.notebook_kept]):
            continue
        try:
            exercise = exercises.get(slug) or find(slug)
        except InputError:
            unknown.append(slug)
        else:
            found |= {Task(each.learner, exercise, _place(each)): each for each in kept}
    return KeptAttempts(found, lost, unknown)


def _place(header: AttemptHeader) -> Path:
    """Return where the notebook will lie while it is graded: below what the next run removes if this one is killed."""
    return Path(scratch_dirs.own_folder(), FOLDER, f"{header.notebook_hash}.ipynb")


def count_outdated(book: Gradebook, tasks: Sequence[Task]) -> int:
    """Count the attempts at a run's exercises that another key graded, and that can be graded again."""
    exercises = {task.exercise for task in tasks if task.exercise}
    return sum(book.count_outdated(exercise=each.slug, key_hash=hash_key(each)) for each in exercises)
