"""The gradebook's tables, the same in SQLite and PostgreSQL."""

from datetime import UTC, datetime

from sqlalchemy import JSON, DateTime, ForeignKey, Text, UniqueConstraint
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

__all__ = ["VERSION", "AttemptRow", "ManualPointsRow", "ResultRow", "SubmissionTimeRow", "Tables", "VersionRow"]

VERSION = 1  # of these tables; a gradebook says which it has


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


class Tables(DeclarativeBase):
    """The base of all tables."""

    type_annotation_map = {datetime: _UtcTime, str: _StorableText}  # noqa: RUF012 - SQLAlchemy reads this name


class VersionRow(Tables):
    """One row: the version of the tables."""

    __tablename__ = "gradebook"
    version: Mapped[int] = mapped_column(primary_key=True)


class AttemptRow(Tables):
    """An attempt: one learner, one exercise, one notebook."""

    __tablename__ = "attempts"
    __table_args__ = (UniqueConstraint("learner", "exercise", "notebook_hash"),)
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
    results: Mapped[list["ResultRow"]] = relationship(
        order_by="ResultRow.position", lazy="selectin", passive_deletes=True
    )


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
