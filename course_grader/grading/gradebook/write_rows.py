"""Write an attempt into the gradebook's tables, and note whose standing has changed by it."""

from collections.abc import Sequence

from sqlalchemy import Select, Table, bindparam, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from course_grader.grading.gradebook.attempts import Attempt
from course_grader.grading.gradebook.notebook_store import keep_notebook
from course_grader.grading.gradebook.sql_tables import AttemptRow, ResultRow, StandingRow
from course_grader.grading.gradebook.standing import KeptStanding, Standing

__all__ = ["note_change", "save_standings", "select_attempt", "write_attempt"]


def write_attempt(session: Session, attempt: Attempt, notebook: bytes | None) -> None:
    """Write an attempt, in the place of what the same notebook of the same learner had."""
    if notebook is not None:
        keep_notebook(session, notebook)
    values = _attempt_columns(attempt)
    row = session.scalar(select_attempt(attempt))
    if row is None:
        session.add(row := AttemptRow(**values))
    else:
        values["submitted_at"] = min(row.submitted_at, attempt.submitted_at)
        values["last_submitted_at"] = max(row.last_submitted_at, attempt.last_submitted_at)
        for name, value in values.items():
            setattr(row, name, value)
        session.execute(delete(ResultRow).where(ResultRow.attempt_id == row.id))
    session.flush()
    # One statement for all: an object for each row takes as long as all the rest of this.
    results = enumerate(each.as_record() | {"seconds": each.seconds} for each in attempt.report.rows)
    if rows := [{"attempt_id": row.id, "position": position, **result} for position, result in results]:
        session.execute(insert(ResultRow), rows)
    note_change(session, attempt.report.learner, attempt.report.exercise)


def select_attempt(attempt: Attempt) -> Select[AttemptRow]:
    """Select the row of an attempt."""
    return select(AttemptRow).where(
        AttemptRow.learner == attempt.report.learner,
        AttemptRow.exercise == attempt.report.exercise,
        AttemptRow.notebook_hash == attempt.notebook_hash,
    )


def note_change(session: Session, learner: str, exercise: str) -> None:
    """Note in the same transaction that a learner's standing at an exercise is no longer what was computed."""
    dialect = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    row = dialect(StandingRow).values(learner=learner, exercise=exercise, changed=1)
    here = [StandingRow.learner, StandingRow.exercise]
    session.execute(row.on_conflict_do_update(index_elements=here, set_={"changed": StandingRow.changed + 1}))


def save_standings(session: Session, kept: Sequence[KeptStanding]) -> None:
    """Keep standings as they were computed: if more has changed meanwhile, ``changed`` says so."""
    table = StandingRow.__table__
    assert isinstance(table, Table)
    here = (table.c.learner == bindparam("of_learner"), table.c.exercise == bindparam("at_exercise"))
    fields: dict[str, object] = {
        name: bindparam(f"new_{name}") for name in (*Standing._fields[2:], "made_from", "rules")
    }
    rows = [
        {f"new_{name}": value for name, value in each.standing._asdict().items()}
        | {"new_made_from": each.made_from, "new_rules": each.rules}
        | {"of_learner": each.standing.learner, "at_exercise": each.standing.exercise}
        for each in kept
    ]
    session.connection().execute(update(table).where(*here).values(**fields), rows)


def _attempt_columns(attempt: Attempt) -> dict[str, object]:
    """Return an attempt as the columns of its row."""
    report = attempt.report
    return {
        "learner": report.learner,
        "exercise": report.exercise,
        "notebook_hash": attempt.notebook_hash,
        "key_hash": attempt.key_hash,
        "submitted_at": attempt.submitted_at,
        "last_submitted_at": attempt.last_submitted_at,
        "graded_at": attempt.graded_at,
        "grader_version": attempt.grader_version,
        "sandbox": report.sandbox,
        "status": report.status,
        "points": report.points,
        "max_points": report.max_points,
        "messages": list(report.messages),
    }
