"""The course that a service runs: its database, its rules, and what is asked of both together."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from sqlalchemy import select
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook.attempts import Attempt
from course_grader.grading.gradebook.course_toml import find_policies
from course_grader.grading.gradebook.database import explain, retry_and_explain
from course_grader.grading.gradebook.final_grade import FinalGrade, compute_final_grade
from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.grading.gradebook.late_policy import Policies, Policy
from course_grader.grading.gradebook.standings import compute_final_grades
from course_grader.service.comparisons import Comparisons
from course_grader.service.database import open_service_database
from course_grader.service.hand_ins import HandIn, HandIns
from course_grader.service.kept_data import forget_person, pack_kept_data
from course_grader.service.people import People
from course_grader.service.queue_state import Watch
from course_grader.service.tables import AuditRow, ExerciseRow, ExtensionRow

__all__ = ["AuditEntry", "Course", "Standing"]

NOTHING = "nothing was handed in"


@dataclass(frozen=True)
class Standing:
    """How one learner stands in one exercise."""

    exercise: ExerciseRow
    policy: Policy
    hand_ins: Sequence[HandIn]
    grade: FinalGrade

    @property
    def attempts_left(self) -> int | None:
        """How many more notebooks may be handed in; None if there is no limit."""
        most = self.policy.max_attempts
        rejected = self.grade.attempts and self.grade.report.status == "rejected"
        return None if most is None else max(0, most - len(self.hand_ins) + bool(rejected))


@dataclass(frozen=True)
class AuditEntry:
    """Who did what, to whom or to what, and when."""

    at: datetime
    who: str
    what: str
    about: str


class Course:
    """A course, with what its service and its workers share.

    Parameters
    ----------
    address : str
        Its PostgreSQL database.
    rules : Path, optional
        Its ``course.toml``, if it is not in the folder where the service runs.

    Raises
    ------
    InputError
        If the database or the rules cannot be used.
    """

    def __init__(self, address: str, *, rules: Path | None = None) -> None:
        self.policies: Policies = find_policies(rules)
        self._engine = open_service_database(address)
        self.address = str(self._engine.url)
        self.book, self.people, self.hand_ins = Gradebook(address), People(self._engine), HandIns(self._engine)
        self.comparisons = Comparisons(self._engine)
        self.watch = Watch(self._engine)
        self.people.add(self.policies.roster)

    @retry_and_explain
    def policy(self, exercise: str, learner: str) -> Policy:
        """Return the rules for a learner at an exercise, with what an instructor has granted here."""
        policy = self.policies.of(exercise, learner)
        with Session(self._engine) as session:
            row = session.get(ExtensionRow, (learner, exercise))
        return policy if row is None else replace(policy, due=row.due)

    def hand_in(self, learner: str, exercise: str, raw: bytes) -> int:
        """Take in a notebook, by the rules; return its number. It raises what :meth:`HandIns.accept` does."""
        policy = self.policy(exercise, learner)
        return self.hand_ins.accept(learner, exercise, raw, at=datetime.now(UTC), policy=policy)

    @retry_and_explain
    def standings(self, learner: str) -> list[Standing]:
        """Return how a learner stands in every exercise, by title."""
        with Session(self._engine) as session:
            rows = session.scalars(select(ExtensionRow).where(ExtensionRow.learner == learner))
            due = {row.exercise: row.due for row in rows}
        hand_ins, attempts, manual = defaultdict(list), defaultdict(list), defaultdict(list)
        for hand_in in self.hand_ins.of(learner):
            hand_ins[hand_in.exercise].append(hand_in)
        for attempt in self.book.attempts(learner=learner, with_rows=False):
            attempts[attempt.report.exercise].append(attempt)
        for given in self.book.manual_points(learner=learner):
            manual[given.exercise].append(given)
        found = []
        for slug, row in self.hand_ins.exercises().items():
            policy = self.policies.of(slug, learner)
            policy = replace(policy, due=due[slug]) if slug in due else policy
            none = SubmissionReport(learner, slug, "missing", 0, row.max_points, (NOTHING,))
            grade = compute_final_grade(attempts[slug], policy, manual[slug], came=none)
            found.append(Standing(row, policy, hand_ins[slug], grade))
        return found

    def title(self, exercise: str) -> str:
        """Return an exercise's title; its name, where no worker has it any more."""
        row = self.hand_ins.exercises().get(exercise)
        return exercise if row is None else row.title

    def attempt_and_former(self, hand_in: HandIn) -> tuple[Attempt | None, Attempt | None]:
        """Return the attempt that a hand-in became, and the one before it; None where there is none."""
        attempts = self.book.attempts(exercise=hand_in.exercise, learner=hand_in.learner)
        place = next((at for at, each in enumerate(attempts) if each.notebook_hash == hand_in.notebook_hash), None)
        if place is None:
            return None, None
        return attempts[place], attempts[place - 1] if place else None

    def pack_kept_data(self, name: str) -> IO[bytes]:
        """Return a zip archive of all that is kept about someone, their notebooks included."""
        return pack_kept_data(self._engine, self.book, name)

    @retry_and_explain
    def forget(self, name: str) -> None:
        """Delete a person and all that is kept about them, all or nothing."""
        with Session(self._engine) as session, session.begin():
            forget_person(session, name)

    @retry_and_explain
    def rules(self) -> Policies:
        """Return the course's rules, with its people and the extensions that were granted here."""
        with Session(self._engine) as session:
            rows = session.scalars(select(ExtensionRow)).all()
        granted = {
            (row.learner, row.exercise): replace(self.policies.of(row.exercise, row.learner), due=row.due)
            for row in rows
        }
        roster = tuple(RosterEntry(each.name, each.full_name) for each in self.people.list())
        return replace(self.policies, extensions={**self.policies.extensions, **granted}, roster=roster)

    def grades(self, exercise: str | None = None) -> list[FinalGrade]:
        """Return the final grades of everyone, in one exercise or in all."""
        return compute_final_grades(self.book, [], self.rules(), exercise=exercise)

    @explain
    def extend(self, learner: str, exercise: str, due: datetime) -> None:
        """Give a learner more time for an exercise; a later one takes the place of an earlier one."""
        with Session(self._engine) as session, session.begin():
            row = postgresql.insert(ExtensionRow).values(learner=learner, exercise=exercise, due=due)
            session.execute(row.on_conflict_do_update(index_elements=["learner", "exercise"], set_={"due": due}))

    @explain
    def note(self, who: str, what: str, about: str = "") -> None:
        """Write into the audit log."""
        with Session(self._engine) as session, session.begin():
            session.add(AuditRow(at=datetime.now(UTC), who=who, what=what, about=about))

    @retry_and_explain
    def audit(self, *, most: int = 200) -> list[AuditEntry]:
        """Return the audit log's last entries, the newest first."""
        with Session(self._engine) as session:
            rows = session.scalars(select(AuditRow).order_by(AuditRow.id.desc()).limit(most))
            return [AuditEntry(row.at, row.who, row.what, row.about) for row in rows]

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()
        self.book.__exit__()
