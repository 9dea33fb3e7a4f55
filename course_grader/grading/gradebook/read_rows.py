"""Make attempts of rows: plain rows, since an object of SQLAlchemy for each takes several times as long."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, select, tuple_
from sqlalchemy.orm import Session

from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook.attempts import Attempt
from course_grader.grading.gradebook.sql_tables import (
    AttemptRow,
    ManualPointsRow,
    ResultRow,
    StandingRow,
    SubmissionTimeRow,
)
from course_grader.grading.gradebook.standing import KeptStanding, Standing

__all__ = ["read_attempt", "read_results", "read_standings", "select_pairs"]

SHARED_CHARS = 200  # shorter texts are those of the key, as a rule, and so the same for all learners


def select_pairs(
    table: type[AttemptRow | ManualPointsRow | SubmissionTimeRow],
    exercise: str | None,
    learner: str | Collection[str] | None,
) -> list[ColumnElement[bool]]:
    """Return the conditions for rows of an exercise, of a learner or of several; None is all."""
    conditions = [] if exercise is None else [table.exercise == exercise]
    if learner is not None:
        conditions.append(table.learner == learner if isinstance(learner, str) else table.learner.in_(learner))
    return conditions


def read_standings(session: Session, after: tuple[str, str], many: int) -> list[KeptStanding]:
    """Return so many standings, by learner and exercise, from the first after this one on."""
    columns = StandingRow.__table__.columns  # of the table: by way of the class, reading takes half as long again
    names = (*Standing._fields, "changed", "made_from", "rules")
    here = (columns["learner"], columns["exercise"])
    query = select(*(columns[name] for name in names)).where(tuple_(*here) > after).order_by(*here).limit(many)
    return [
        KeptStanding(Standing._make(line), changed, made_from, rules)
        for *line, changed, made_from, rules in session.connection().execute(query).fetchall()
    ]


def read_results(session: Session, which: Sequence[ColumnElement[bool]]) -> Mapping[int, Sequence[Row]]:
    """Return the results of some attempts, by the attempt's number, in the order they ran."""
    found: defaultdict[int, list[Row]] = defaultdict(list)
    texts: dict[str, str] = {}
    names = ("name", "kind", "status", "points", "max_points", "title", "message", "detail", "seconds")
    columns = [getattr(ResultRow, name) for name in names]
    query = select(ResultRow.attempt_id, *columns).join(AttemptRow).where(*which)
    for number, *values in session.execute(query.order_by(ResultRow.attempt_id, ResultRow.position)):
        found[number].append(Row(*(_share(value, texts) for value in values)))
    return found


def _share(value: Any, texts: dict[str, str]) -> Any:
    """Return the copy of a short text that was read first, in place of one for each learner."""
    if isinstance(value, str) and len(value) < SHARED_CHARS:
        return texts.setdefault(value, value)
    return value


def read_attempt(row: Any, results: Sequence[Row], submitted_at: datetime | None) -> Attempt:
    """Build an attempt from its row and results, with the submission time that was set for it, if any."""
    report = SubmissionReport(
        row.learner,
        row.exercise,
        row.status,
        row.points,
        row.max_points,
        tuple(row.messages),
        tuple(results),
        row.sandbox,
    )
    hashes = (row.notebook_hash, row.key_hash)
    times = (row.submitted_at, row.last_submitted_at, row.graded_at)
    attempt = Attempt(report, *hashes, *times, row.grader_version)
    if submitted_at is None:
        return attempt
    return replace(attempt, submitted_at=submitted_at, last_submitted_at=submitted_at)
