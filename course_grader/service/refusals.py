"""What may not be handed in: an exercise that there is not, one attempt too many, one too soon."""

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from course_grader.grading.gradebook.late_policy import Policy
from course_grader.grading.gradebook.sql_tables import AttemptRow
from course_grader.grading.text import format_time, quote
from course_grader.service.tables import ExerciseRow, HandInRow
from course_lib.errors import InputError

__all__ = ["NoMoreAttemptsError", "NotReadyError", "TooSoonError", "check_attempts", "unknown_exercise"]


class NoMoreAttemptsError(InputError):
    """All attempts that the course allows are used."""


class NotReadyError(InputError):
    """No worker has said yet which exercises there are."""


class TooSoonError(InputError):
    """The course wants a pause between attempts, which is not over."""


def unknown_exercise(session: Session, slug: str) -> InputError:
    """Return the refusal of an exercise that no worker grades."""
    known = session.scalars(select(ExerciseRow.slug).order_by(ExerciseRow.slug)).all()
    if not known:
        return NotReadyError("expected a worker that grades, found none yet; try again in a minute")
    fix = f"it must be one of {', '.join(known)}"
    return InputError(f"expected the name of an exercise of this course, found {quote(slug, chars=60)}; {fix}")


def check_attempts(session: Session, learner: str, exercise: str, at: datetime, policy: Policy) -> None:
    """Refuse one attempt too many, or one too soon; a file that could not be graded was none."""
    graded = (AttemptRow.learner == learner, AttemptRow.exercise == exercise)
    rejected = select(AttemptRow.notebook_hash).where(*graded, AttemptRow.status == "rejected")
    made = (HandInRow.learner == learner, HandInRow.exercise == exercise, HandInRow.notebook_hash.not_in(rejected))
    used, last = session.execute(select(func.count(), func.max(HandInRow.submitted_at)).where(*made)).one()
    if policy.max_attempts is not None and used >= policy.max_attempts:
        raise NoMoreAttemptsError(
            f"expected at most {policy.max_attempts} attempts, found one more; all of them are used"
        )
    if last is not None and at < last + policy.pause:
        minutes, again = policy.pause.total_seconds() / 60, format_time(last + policy.pause)
        raise TooSoonError(f"expected {minutes:g} minutes between attempts, found less; hand in again from {again} on")
