"""All that is kept about a person: hand it out, and delete it."""

import json
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Any

from sqlalchemy import Engine, delete, exists, or_, select
from sqlalchemy.orm import DeclarativeBase, Session

from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.grading.gradebook.sql_tables import (
    AttemptRow,
    ManualPointsRow,
    NotebookRow,
    ResultRow,
    StandingRow,
    SubmissionTimeRow,
)
from course_grader.service.tables import AuditRow, CredentialRow, ExtensionRow, HandInRow, PersonRow

__all__ = ["forget_person", "pack_kept_data"]

IN_MEMORY = 4 << 20
# What tests keep for the instructor may hold expected values; of a secret nothing but a hash is kept.
WITHHELD = {"detail", "digest"}


def pack_kept_data(engine: Engine, book: Gradebook, name: str) -> IO[bytes]:
    """Return a zip archive: ``kept.json`` with every row about a person, and each notebook that they handed in."""
    with Session(engine) as session:
        kept = {table.__tablename__: list(rows) for table, rows in _rows_about(session, name)}
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by whoever it is handed to
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("kept.json", json.dumps(kept, indent=2, ensure_ascii=False, default=_write_time))
        for notebook_hash in sorted({row["notebook_hash"] for row in (*kept["hand_ins"], *kept["attempts"])}):
            if (raw := book.notebook(notebook_hash)) is not None:
                archive.writestr(f"notebooks/{notebook_hash}.ipynb", raw)
    file.seek(0)
    return file


def forget_person(session: Session, name: str) -> None:
    """Delete a person and all rows about them, and notebooks that nobody else handed in; the audit log stays."""
    # First of all, so that nothing of theirs comes in meanwhile.
    session.execute(select(PersonRow).where(PersonRow.name == name).with_for_update())
    mine = (select(table.notebook_hash).where(table.learner == name) for table in (HandInRow, AttemptRow))
    hashes = {notebook_hash for query in mine for notebook_hash in session.scalars(query)}
    attempts = select(AttemptRow.id).where(AttemptRow.learner == name)
    session.execute(delete(ResultRow).where(ResultRow.attempt_id.in_(attempts)))
    for table in (AttemptRow, ManualPointsRow, SubmissionTimeRow, StandingRow, HandInRow, ExtensionRow):
        session.execute(delete(table).where(table.learner == name))
    session.execute(delete(CredentialRow).where(CredentialRow.person == name))
    session.execute(delete(PersonRow).where(PersonRow.name == name))
    others = (exists().where(table.notebook_hash == NotebookRow.hash) for table in (HandInRow, AttemptRow))
    session.execute(delete(NotebookRow).where(NotebookRow.hash.in_(hashes), ~or_(*others)))


def _rows_about(session: Session, name: str) -> Iterator[tuple[type[DeclarativeBase], Iterator[dict[str, Any]]]]:
    """Yield each table with the rows about a person."""
    yield PersonRow, _read(session, PersonRow, PersonRow.name == name)
    yield CredentialRow, _read(session, CredentialRow, CredentialRow.person == name)
    for table in (HandInRow, ExtensionRow, AttemptRow, ManualPointsRow, SubmissionTimeRow):
        yield table, _read(session, table, table.learner == name)
    attempts = select(AttemptRow.id).where(AttemptRow.learner == name)
    yield ResultRow, _read(session, ResultRow, ResultRow.attempt_id.in_(attempts))
    yield AuditRow, _read(session, AuditRow, or_(AuditRow.who == name, AuditRow.about == name))


def _read(session: Session, table: type[DeclarativeBase], which: Any) -> Iterator[dict[str, Any]]:
    names = [column.key for column in table.__table__.columns if column.key not in WITHHELD]
    for row in session.scalars(select(table).where(which)):
        yield {name: getattr(row, name) for name in names}


def _write_time(value: object) -> str:
    assert isinstance(value, datetime)
    return value.isoformat()
