"""The gradebook's tables, the same in SQLite and PostgreSQL."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

__all__ = [
    "MARK",
    "REVISION",
    "TYPES",
    "AttemptRow",
    "ManualPointsRow",
    "NotebookRow",
    "ResultRow",
    "RevisionRow",
    "StandingRow",
    "SubmissionTimeRow",
    "Tables",
    "VersionRow",
]

REVISION = "4"  # of these tables, as the last file in migrations/ has it; a gradebook says which it has
MARK = 2  # what graders from before migrations look at: they refuse all but 1


class _UtcTime(TypeDecorator[datetime]):
    """A point in time: UTC in the database, aware in Python."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Store UTC, since SQLite drops the offset."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return an aware time."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class _StorableText(TypeDecorator[str]):
    """Text that both databases can store: lone surrogates and zero bytes are escaped."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Escape."""
        return None if value is None else value.replace("\0", r"\x00").encode("utf-8", "backslashreplace").decode()


# Sorted by code point in both databases, as Python sorts: rows can then be read in pieces, each after the last name.
SORTED_TEXT = _StorableText().with_variant(_StorableText(collation="C"), "postgresql")

TYPES: dict[type, type[TypeDecorator[Any]]] = {datetime: _UtcTime, str: _StorableText}


class Tables(DeclarativeBase):
    """The base of all tables."""

    type_annotation_map = TYPES


class VersionRow(Tables):
    """One row, by which a database is known as a gradebook: 1 from before migrations, ``MARK`` ever since."""

    __tablename__ = "gradebook"
    version: Mapped[int] = mapped_column(primary_key=True)


class RevisionRow(Tables):
    """One row: the revision of the tables, as Alembic writes it."""

    __tablename__ = "alembic_version"
    version_num: Mapped[str] = mapped_column(String(32), primary_key=True)


class AttemptRow(Tables):
    """An attempt: one learner, one exercise, one notebook."""

    __tablename__ = "attempts"
    __table_args__ = (
        UniqueConstraint("learner", "exercise", "notebook_hash"),
        Index("attempts_by_key", "exercise", "key_hash"),
        Index("attempts_by_time", "exercise", "graded_at"),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    learner: Mapped[str]
    exercise: Mapped[str]
    notebook_hash: Mapped[str]
    key_hash: Mapped[str]
    submitted_at: Mapped[datetime]
    last_submitted_at: Mapped[datetime]
    graded_at: Mapped[datetime]
    grader_version: Mapped[str]
    sandbox: Mapped[str]
    status: Mapped[str]
    points: Mapped[float]
    max_points: Mapped[float]
    messages: Mapped[list[str]] = mapped_column(JSON)


class ResultRow(Tables):
    """The result of one hidden test or cell of an attempt, in the order they ran."""

    __tablename__ = "results"
    attempt_id: Mapped[int] = mapped_column(ForeignKey("attempts.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    kind: Mapped[str]
    status: Mapped[str]
    points: Mapped[float]
    max_points: Mapped[float]
    title: Mapped[str]
    message: Mapped[str]
    detail: Mapped[str]
    seconds: Mapped[float | None]


class NotebookRow(Tables):
    """The bytes of a notebook, compressed; once, however many learners handed them in.

    An attempt from before notebooks were kept has none.
    """

    __tablename__ = "notebooks"
    hash: Mapped[str] = mapped_column(primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)


class SubmissionTimeRow(Tables):
    """The submission time that a table of times set last; it takes precedence over those of the attempt."""

    __tablename__ = "told_times"
    learner: Mapped[str] = mapped_column(primary_key=True)
    exercise: Mapped[str] = mapped_column(primary_key=True)
    notebook_hash: Mapped[str] = mapped_column(primary_key=True)
    submitted_at: Mapped[datetime]


class ManualPointsRow(Tables):
    """Points given by hand; a row is added, or taken back, and never changed."""

    __tablename__ = "manual_points"
    id: Mapped[int] = mapped_column(primary_key=True)
    learner: Mapped[str] = mapped_column(index=True)
    exercise: Mapped[str]
    points: Mapped[float]
    why: Mapped[str]
    given_at: Mapped[datetime]


class StandingRow(Tables):
    """Where a learner stands at an exercise, as it was computed last: a class's tables are read off these rows.

    Whatever changes a learner's attempts, times or points by hand adds one to ``changed``. The rest was computed when
    that was ``made_from``, by the ``rules`` of that name: where one of them is another now, it is computed anew.
    """

    __tablename__ = "standings"
    learner: Mapped[str] = mapped_column(SORTED_TEXT, primary_key=True)
    exercise: Mapped[str] = mapped_column(SORTED_TEXT, primary_key=True)
    changed: Mapped[int]
    made_from: Mapped[int] = mapped_column(default=0)
    rules: Mapped[str] = mapped_column(default="")
    points: Mapped[float] = mapped_column(default=0)
    max_points: Mapped[float] = mapped_column(default=0)
    status: Mapped[str] = mapped_column(default="")
    sandbox: Mapped[str] = mapped_column(default="")
    said: Mapped[str] = mapped_column(default="[]")
    attempts: Mapped[int] = mapped_column(default=0)
    digest: Mapped[str] = mapped_column(default="")
