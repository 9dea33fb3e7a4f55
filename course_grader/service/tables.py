"""The service's own tables, beside the gradebook's in the same PostgreSQL."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from course_grader.grading.gradebook.sql_tables import TYPES

__all__ = [
    "AuditRow",
    "ComparisonRow",
    "CredentialKind",
    "CredentialRow",
    "ExerciseRow",
    "ExtensionRow",
    "HandInRow",
    "PersonRow",
]
__all__ += ["REVISION", "RevisionRow", "Role", "ServiceTables", "State"]

REVISION = "2"  # of these tables, as the last file in migrations/ has it


class Role(StrEnum):
    """What a person may do."""

    LEARNER = "learner"
    INSTRUCTOR = "instructor"


class CredentialKind(StrEnum):
    """What a secret is good for: a one-time link, a browser that came by one, a program."""

    LINK = "link"
    SESSION = "session"
    TOKEN = "token"  # noqa: S105 - a kind


class State(StrEnum):
    """How far a hand-in has come."""

    WAITING = "waiting"
    GRADED = "graded"
    FAILED = "failed"  # the grader, not the learner


class ServiceTables(DeclarativeBase):
    """The base of all tables."""

    type_annotation_map = TYPES


class RevisionRow(ServiceTables):
    """One row: the revision of these tables, as Alembic writes it; the gradebook's has a table of its own."""

    __tablename__ = "service_version"
    version_num: Mapped[str] = mapped_column(String(32), primary_key=True)


class PersonRow(ServiceTables):
    """Someone who may come in; ``name`` is the one that the gradebook knows a learner by."""

    __tablename__ = "people"
    name: Mapped[str] = mapped_column(primary_key=True)
    role: Mapped[str]
    full_name: Mapped[str] = mapped_column(default="")
    added_at: Mapped[datetime]


class CredentialRow(ServiceTables):
    """A secret that someone has, of which only the SHA-256 is kept."""

    __tablename__ = "credentials"
    digest: Mapped[str] = mapped_column(primary_key=True)
    person: Mapped[str] = mapped_column(ForeignKey("people.name", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    made_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class ExerciseRow(ServiceTables):
    """An exercise that workers can grade, as the last worker that started has it; keys lie with workers alone."""

    __tablename__ = "exercises"
    slug: Mapped[str] = mapped_column(primary_key=True)
    title: Mapped[str]
    max_points: Mapped[float]
    key_hash: Mapped[str]


class HandInRow(ServiceTables):
    """A notebook that a learner handed in: the same bytes for the same exercise are one.

    Its bytes are in the gradebook's ``notebooks``, and what it earned in ``attempts``.
    """

    __tablename__ = "hand_ins"
    __table_args__ = (
        UniqueConstraint("learner", "exercise", "notebook_hash"),
        Index("hand_ins_waiting", "id", postgresql_where=text("state = 'waiting'")),  # the places in the queue
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    learner: Mapped[str] = mapped_column(index=True)
    exercise: Mapped[str]
    notebook_hash: Mapped[str]
    submitted_at: Mapped[datetime]
    last_submitted_at: Mapped[datetime]
    state: Mapped[str] = mapped_column(index=True)
    message: Mapped[str] = mapped_column(default="")  # why it failed


class ExtensionRow(ServiceTables):
    """More time for one learner at one exercise, given in the service; it takes precedence over ``course.toml``."""

    __tablename__ = "extensions"
    learner: Mapped[str] = mapped_column(primary_key=True)
    exercise: Mapped[str] = mapped_column(primary_key=True)
    due: Mapped[datetime]


class ComparisonRow(ServiceTables):
    """The similar pairs of an exercise, as a worker found them last; ``pairs`` is None until then."""

    __tablename__ = "comparisons"
    exercise: Mapped[str] = mapped_column(primary_key=True)
    asked_at: Mapped[datetime]
    compared_at: Mapped[datetime | None]
    pairs: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON)


class AuditRow(ServiceTables):
    """Who did what, and when; a row is only ever added."""

    __tablename__ = "audit"
    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    who: Mapped[str]
    what: Mapped[str]
    about: Mapped[str]
