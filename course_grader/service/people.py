"""Who may come in, and by which secrets: one-time links, browsers' sessions, tokens for programs.

Another way to tell who someone is, such as a university's single sign-on, has this module to replace, and no other.
"""

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Engine, delete, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.grading.gradebook.database import explain, retry_and_explain
from course_grader.service.tables import CredentialKind, CredentialRow, PersonRow, Role

__all__ = ["People", "Person"]

SECRET_BYTES = 32
LIFETIMES = {
    CredentialKind.LINK: timedelta(days=14),
    CredentialKind.SESSION: timedelta(days=14),
    CredentialKind.TOKEN: timedelta(days=200),  # a term, and its second exam
}


@dataclass(frozen=True)
class Person:
    """Someone who has come in."""

    name: str
    role: Role
    full_name: str = ""


class People:
    """The people in a service's database, and their secrets, of which it holds nothing but hashes."""

    def __init__(self, engine: Engine) -> None:
        self.address, self._engine = str(engine.url), engine

    @retry_and_explain
    def add(self, entries: Iterable[RosterEntry], *, role: Role = Role.LEARNER) -> int:
        """Add people, and take over changed full names; return how many are new. Nobody's role changes."""
        now = datetime.now(UTC)
        # By name, so that two rosters at once do not wait for each other.
        by_name = {each.username: each.name for each in sorted(entries, key=lambda each: each.username)}
        values = [{"name": name, "role": role, "full_name": full, "added_at": now} for name, full in by_name.items()]
        if not values:
            return 0
        with Session(self._engine) as session, session.begin():
            known = set(session.scalars(select(PersonRow.name)))
            statement = postgresql.insert(PersonRow)
            changed = {"full_name": statement.excluded.full_name}
            # A list beside the statement, and not in it: PostgreSQL takes 65,535 values in one.
            session.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changed), values)
            return len(by_name.keys() - known)

    @retry_and_explain
    def list(self, role: Role = Role.LEARNER) -> list[Person]:
        """Return everyone of a role, by name."""
        with Session(self._engine) as session:
            rows = session.scalars(select(PersonRow).where(PersonRow.role == role).order_by(PersonRow.name))
            return [_read(row) for row in rows]

    @retry_and_explain
    def find(self, name: str) -> Person | None:
        """Return the person of this name, or None."""
        with Session(self._engine) as session:
            row = session.get(PersonRow, name)
            return None if row is None else _read(row)

    @explain
    def make_secret(self, name: str, kind: CredentialKind) -> str:
        """Make a secret for someone; this is the only time that it is seen."""
        secret, now = secrets.token_urlsafe(SECRET_BYTES), datetime.now(UTC)
        with Session(self._engine) as session, session.begin():
            expires_at = now + LIFETIMES[kind]
            session.add(
                CredentialRow(digest=_digest(secret), person=name, kind=kind, made_at=now, expires_at=expires_at)
            )
        return secret

    @explain
    def make_links(self, names: Iterable[str]) -> dict[str, str]:
        """Make a one-time link for each of these people, all or none; return the secrets by name."""
        made, now = {name: secrets.token_urlsafe(SECRET_BYTES) for name in names}, datetime.now(UTC)
        kind, expires_at = CredentialKind.LINK, now + LIFETIMES[CredentialKind.LINK]
        with Session(self._engine) as session, session.begin():
            session.add_all(
                CredentialRow(digest=_digest(secret), person=name, kind=kind, made_at=now, expires_at=expires_at)
                for name, secret in made.items()
            )
        return made

    @retry_and_explain
    def kinds_of_secrets(self) -> dict[str, set[CredentialKind]]:
        """Return which kinds of secrets each person has that still hold."""
        found: dict[str, set[CredentialKind]] = {}
        query = select(CredentialRow.person, CredentialRow.kind).where(CredentialRow.expires_at > datetime.now(UTC))
        with Session(self._engine) as session:
            for name, kind in session.execute(query.distinct()):
                found.setdefault(name, set()).add(CredentialKind(kind))
        return found

    @retry_and_explain
    def who(self, secret: str, kind: CredentialKind) -> Person | None:
        """Return whose secret this is, if it is one of this kind and has not expired."""
        query = select(PersonRow).join(CredentialRow, CredentialRow.person == PersonRow.name)
        with Session(self._engine) as session:
            row = session.scalar(query.where(*_valid(secret, kind)))
            return None if row is None else _read(row)

    @explain
    def redeem_link(self, secret: str) -> str | None:
        """Use up a one-time link: return the secret of a new session, or None if it is not or no longer a link."""
        with Session(self._engine) as session, session.begin():
            used = delete(CredentialRow).where(*_valid(secret, CredentialKind.LINK)).returning(CredentialRow.person)
            name = session.scalar(used)
        return None if name is None else self.make_secret(name, CredentialKind.SESSION)

    @retry_and_explain
    def revoke(self, *, name: str | None = None, kind: CredentialKind | None = None, secret: str | None = None) -> int:
        """Revoke secrets, of someone, of a kind, or a single one; return how many there were."""
        wanted = [CredentialRow.person == name] if name is not None else []
        wanted += [CredentialRow.kind == kind] if kind is not None else []
        wanted += [CredentialRow.digest == _digest(secret)] if secret is not None else []
        assert wanted
        with Session(self._engine) as session, session.begin():
            return len(session.scalars(delete(CredentialRow).where(*wanted).returning(CredentialRow.digest)).all())

    @retry_and_explain
    def count_secrets(self, name: str, kind: CredentialKind) -> int:
        """Count someone's secrets of a kind that still hold."""
        holds = (CredentialRow.person == name, CredentialRow.kind == kind, CredentialRow.expires_at > datetime.now(UTC))
        with Session(self._engine) as session:
            return len(session.scalars(select(CredentialRow.digest).where(*holds)).all())


def _digest(secret: str) -> str:
    """Return what is kept of a secret: as random as this, it needs no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _valid(secret: str, kind: CredentialKind) -> list[ColumnElement[bool]]:
    return [
        CredentialRow.digest == _digest(secret),
        CredentialRow.kind == kind,
        CredentialRow.expires_at > datetime.now(UTC),
    ]


def _read(row: PersonRow) -> Person:
    return Person(row.name, Role(row.role), row.full_name)
