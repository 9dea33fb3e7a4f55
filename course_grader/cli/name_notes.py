"""Note names that stand in the rules, the roster or the table of times alone: they may be misspelled."""

from collections.abc import Sequence

import typer

from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.gradebook import Policies
from course_grader.grading.gradebook.submission_times import SubmissionTimes
from course_grader.grading.text import join_names

__all__ = ["note_names"]


def note_names(tasks: Sequence[Task], policies: Policies, times: SubmissionTimes) -> None:
    """Print a note for each such name."""
    _note_unused_rules(tasks, policies)
    _note_strangers({task.learner for task in tasks}, policies)
    _note_unused_times(tasks, times)
    _note_missing_times(tasks, times)


def _note_unused_rules(tasks: Sequence[Task], policies: Policies) -> None:
    """Note rules for exercises of which there is no notebook."""
    ruled = {*policies.exercises, *(slug for _, slug in policies.extensions if slug)}
    for slug in sorted(ruled - {task.exercise.slug for task in tasks if task.exercise}):
        _note(f"there are rules for the exercise {slug}, but no notebook of it; is its name right?")


def _note_strangers(learners: set[str], policies: Policies) -> None:
    """Note learners with an extension who are nowhere else, and those who are not on the roster."""
    roster = {entry.username for entry in policies.roster}
    if strange := sorted({learner for learner, _ in policies.extensions} - (roster or learners)):
        place = "on the roster" if roster else "here"
        _note(f"there are extensions for {join_names(strange)}, but nobody of that name {place}; is it right?")
    if roster and (strange := sorted(learners - roster)):
        _note(f"not on the roster: {join_names(strange)}; give the folder the name in the roster, or add a line there")


def _note_unused_times(tasks: Sequence[Task], times: SubmissionTimes) -> None:
    """Note the first time that belongs to no notebook, and how many more there are."""
    if strange := sorted(times.keys() - {(task.learner, task.exercise.slug) for task in tasks if task.exercise}):
        learner, slug = strange[0]
        more = f", and for {len(strange) - 1} more like it" if len(strange) > 1 else ""
        _note(f"there is a time for {slug} of {learner}, but no notebook{more}; are the names right?")


def _note_missing_times(tasks: Sequence[Task], times: SubmissionTimes) -> None:
    """Note notebooks that the table of times leaves out: a file's own time may be that of a copy."""
    missing: dict[str, list[str]] = {}
    for task in tasks if times else ():
        if task.exercise and task.path is not None and (task.learner, task.exercise.slug) not in times:
            missing.setdefault(task.exercise.slug, []).append(task.learner)
    for slug, learners in missing.items():
        _note(
            f"--submitted has no time for {slug} of {join_names(learners)}: what an earlier table said counts, else "
            "when the file was last changed; add what is missing"
        )


def _note(text: str) -> None:
    typer.echo(f"note: {text}", err=True)
