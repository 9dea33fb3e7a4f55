"""Open a database as a gradebook: make its tables in an empty one, migrate an old one, and leave any other alone."""

import functools
import logging
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, insert, inspect, make_url, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from course_grader.grading.gradebook.sql_tables import MARK, REVISION, RevisionRow, Tables, VersionRow
from course_lib.errors import CourseError, InputError
from course_lib.extras import load

__all__ = ["UnavailableError", "database_url", "explain", "open_database", "retry_and_explain"]

P = ParamSpec("P")
R = TypeVar("R")
WAIT_SECONDS, CONNECTIONS = 30, 15
LOCK = 0x67726164  # PostgreSQL's advisory locks are told apart by number
PAUSES_SECONDS = [0.1 * 2**number for number in range(8)]  # while PostgreSQL restarts: 25 s in all
OTHER = "name another with --gradebook"
# Interrupted while it gives a connection back, SQLAlchemy logs a traceback and raises as well: to raise is enough.
logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())
UNUSABLE = (SQLAlchemyError, ValueError, TypeError, ImportError)  # what SQLAlchemy raises at an address


class UnavailableError(InputError):
    """A gradebook that is open cannot be read or written, for now."""


def database_url(address: str) -> URL:
    """Return the database URL of a gradebook: a path is an SQLite file.

    Raises
    ------
    InputError
        If it is neither a path nor the URL of SQLite or PostgreSQL.

    Examples
    --------
    >>> database_url("grades/gradebook.sqlite")
    sqlite:///grades/gradebook.sqlite
    >>> database_url("postgresql://ada:secret@db/course")
    postgresql+psycopg://ada:***@db/course
    """
    if "://" not in address:
        return URL.create("sqlite", database=address)
    try:
        url = make_url(address)
    except UNUSABLE:
        url = URL.create("nothing")
    match url.get_backend_name():
        case "sqlite" if url.database:
            return url.set(drivername="sqlite")
        case "postgresql":
            return url.set(drivername="postgresql+psycopg")
    came = address.split("://")[0]  # the rest may hold a password
    raise InputError(f"expected a file or postgresql://USER@HOST/DATABASE as gradebook, found {came}://...; {OTHER}")


def open_database(address: str, *, create: bool = True) -> Engine:
    """Open a database that is a gradebook, or make one of an empty database.

    Parameters
    ----------
    address : str
        A file, or a URL.
    create : bool
        Whether an empty or missing one becomes a gradebook.

    Raises
    ------
    InputError
        If it cannot be opened, or holds something else.
    """
    url = database_url(address)
    shown = _without_passwords(url)
    try:
        engine = _make_engine(url, create=create)
        try:
            with engine.begin() as connection:
                _check_tables(connection, shown, create=create)
        except BaseException:
            engine.dispose()
            raise
    except CourseError:  # has its sentence; some are a ValueError or an ImportError, too
        raise
    except UNUSABLE as error:
        raise InputError(f"expected a gradebook at {shown}, found: {_database_message(error)}; {OTHER}") from error
    return engine


class _Addressed(Protocol):
    """What has the address of its database, as it was given."""

    address: str


_Book = TypeVar("_Book", bound=_Addressed)


def retry_and_explain(method: Callable[Concatenate[_Book, P], R]) -> Callable[Concatenate[_Book, P], R]:
    """Run a gradebook's method again while the connection is lost, and make one sentence of what else goes wrong.

    A method is one transaction: what was cut off has not happened. If it was cut off as it was confirmed, it may have;
    so a method must be one that can be run twice.

    Raises
    ------
    InputError
        If the database is locked, its disk is full, it does not come back, and the like.
    """

    @functools.wraps(method)
    def run(book: _Book, /, *args: P.args, **kwargs: P.kwargs) -> R:
        for seconds in PAUSES_SECONDS:
            try:
                return method(book, *args, **kwargs)
            except SQLAlchemyError as error:
                if not _lost_connection(error):
                    raise _explain_error(book, error) from error
                time.sleep(seconds)
        return explain(method)(book, *args, **kwargs)

    return run


def explain(method: Callable[Concatenate[_Book, P], R]) -> Callable[Concatenate[_Book, P], R]:
    """Make one sentence of what goes wrong in a gradebook's method that is not to be run twice."""

    @functools.wraps(method)
    def run(book: _Book, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(book, *args, **kwargs)
        except SQLAlchemyError as error:
            raise _explain_error(book, error) from error

    return run


def _explain_error(book: _Addressed, error: SQLAlchemyError) -> UnavailableError:
    wrong = f"the gradebook at {_shown_address(book.address)} could not be read or written: {_database_message(error)}"
    return UnavailableError(f"{wrong}; run the same command again")


def _lost_connection(error: SQLAlchemyError) -> bool:
    """Tell whether a server went away, or could not be reached; a file of SQLite's does not come back by waiting."""
    if not isinstance(error, DBAPIError) or isinstance(error.orig, sqlite3.Error):
        return False
    return error.connection_invalidated or error.statement is None


def _shown_address(address: str) -> str:
    """Return a gradebook's address for a message: a file as a path, and no passwords."""
    url = database_url(address)
    return str(url.database) if url.get_backend_name() == "sqlite" else _without_passwords(url)


def _make_engine(url: URL, *, create: bool) -> Engine:
    """Return an engine that has not looked at its database yet."""
    if url.get_backend_name() == "postgresql":
        load("psycopg", extra="grade")
        # A connection from before a restart is made anew. None is made for one use alone: that costs more than the use.
        return create_engine(url, pool_pre_ping=True, pool_size=CONNECTIONS, max_overflow=0)
    _check_file(Path(str(url.database)), create=create)
    engine = create_engine(url, connect_args={"timeout": WAIT_SECONDS})
    event.listen(engine, "connect", _disable_implicit_begin)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def _without_passwords(url: URL) -> str:
    """Return a URL without its passwords, which PostgreSQL takes among the options as well."""
    return url.difference_update_query([name for name in url.query if "pass" in name]).render_as_string()


def _check_file(path: Path, *, create: bool) -> None:
    if path.is_dir():
        raise InputError(f"expected a file for the gradebook, found a folder at {path}; {OTHER}")
    if not path.exists() and not create:
        raise InputError(f"expected a gradebook at {path}, found none; grade first, or {OTHER}")
    if not path.parent.is_dir():
        raise InputError(f"expected a folder for the gradebook at {path.parent}, found none; make it, or {OTHER}")


def _disable_implicit_begin(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_immediate(connection: Connection) -> None:
    """Take the write lock first: two graders then wait for each other, and never end up both waiting."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _check_tables(connection: Connection, shown: str, *, create: bool) -> None:
    """Check the tables that are there before writing any, alone: two graders may open a gradebook at once."""
    if connection.dialect.name == "postgresql":  # SQLite's transactions begin with a lock, see _begin_immediate
        connection.execute(select(func.pg_advisory_xact_lock(LOCK)))
    found = set(inspect(connection).get_table_names())
    if not found and create:
        Tables.metadata.create_all(connection)
        connection.execute(insert(VersionRow).values(version=MARK))
        connection.execute(insert(RevisionRow).values(version_num=REVISION))
        return
    if VersionRow.__tablename__ not in found:
        came = f"tables of something else ({', '.join(sorted(found)[:3])})" if found else "an empty database"
        raise InputError(f"expected a gradebook at {shown}, found {came}; {OTHER}")
    mark = connection.scalar(select(VersionRow.version)) or 0
    migrated = RevisionRow.__tablename__ in found
    revision = connection.scalar(select(RevisionRow.version_num)) if migrated else None
    if (mark, revision) != (MARK, REVISION):
        _migrate(connection, mark, revision, shown)


def _migrate(connection: Connection, mark: int, revision: str | None, shown: str) -> None:
    """Bring an old gradebook's tables up to date; refuse a newer one's."""
    load("alembic", extra="grade")
    from course_grader.grading.gradebook.migrate import Migrations

    migrations = Migrations(Path(__file__).parent / "migrations", RevisionRow.__tablename__)
    if mark > MARK or not (revision is None or migrations.lead_to(revision)):
        came = f"{mark if mark > MARK else revision}, of a newer grader"
        raise InputError(
            f"expected version {REVISION} of the gradebook at {shown} or an older one, found {came}; use that grader"
        )
    migrations.take(connection)


def _database_message(error: Exception) -> str:
    """Return the database's own message, without the statement and the link to documentation."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]
