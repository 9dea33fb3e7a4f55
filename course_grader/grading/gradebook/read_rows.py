"""Make attempts of rows: plain rows, since an object of SQLAlchemy for each takes several times as long."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook.attempts import Attempt
from course_grader.grading.gradebook.sql_tables import AttemptRow, ResultRow

__all__ = ["read_attempt", "read_results"]

SHARED_CHARS = 200  # shorter texts are those of the key, as a rule, and so the same for all learners


def read_results(session: Session, which: Sequence[ColumnElement[bool]]) -> Mapping[int, Sequence[Row]]:
    """Return the results of some attempts, by the attempt's number, in the order they ran."""
    found: defaultdict[int, list[Row]] = defaultdict(list)
    texts: dict[str, str] = {}
    names = ("name", "kind", "status", "points", "max_points", "title", "message", "detail")
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
