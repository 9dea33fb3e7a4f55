"""Open a database as a gradebook: make its tables in an empty one, and leave any other alone."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, make_url, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from course_grader.grading.gradebook.tables import VERSION, Tables, VersionRow
from course_lib.errors import CourseError, InputError
from course_lib.extras import load

__all__ = ["connect", "explained", "where"]

WAIT_SECONDS = 30
OTHER = "name another with --gradebook"
UNUSABLE = (SQLAlchemyError, ValueError, TypeError, ImportError)  # what SQLAlchemy raises at an address


def where(address: str) -> URL:
    """Return the URL of a gradebook: a path is an SQLite file.

    Raises
    ------
    InputError
        If it is neither a path nor the URL of SQLite or PostgreSQL.

    Examples
    --------
    >>> where("grades/gradebook.sqlite")
    sqlite:///grades/gradebook.sqlite
    >>> where("postgresql://ada:secret@db/course")
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


def connect(address: str, *, create: bool = True) -> Engine:
    """Return an engine whose database is a gradebook.

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
    url = where(address)
    shown = _shown(url)
    try:
        engine = _engine(url, create=create)
        try:
            with engine.begin() as connection:
                _check_tables(connection, shown, create=create)
        except BaseException:
            engine.dispose()
            raise
    except CourseError:  # has its sentence; some are a ValueError or an ImportError, too
        raise
    except UNUSABLE as error:
        raise InputError(f"expected a gradebook at {shown}, found: {_reason(error)}; {OTHER}") from error
    return engine


@contextmanager
def explained() -> Iterator[None]:
    """Turn what a database says while a gradebook is in use, that it is locked or its disk full, into one sentence."""
    try:
        yield
    except SQLAlchemyError as error:
        wrong = f"the gradebook could not be read or written: {_reason(error)}"
        raise InputError(f"{wrong}; run the same command again") from error


def _engine(url: URL, *, create: bool) -> Engine:
    """Return an engine that has not looked at its database yet."""
    if url.get_backend_name() == "postgresql":
        load("psycopg", extra="grade")
        return create_engine(url)
    _check_file(Path(str(url.database)), create=create)
    engine = create_engine(url, connect_args={"timeout": WAIT_SECONDS})
    event.listen(engine, "connect", _begin_by_hand)
    event.listen(engine, "begin", _begin)
    return engine


def _shown(url: URL) -> str:
    """Return a URL without its passwords, which PostgreSQL takes among the options as well."""
    return url.difference_update_query([name for name in url.query if "pass" in name]).render_as_string()


def _check_file(path: Path, *, create: bool) -> None:
    if path.is_dir():
        raise InputError(f"expected a file for the gradebook, found a folder at {path}; {OTHER}")
    if not path.exists() and not create:
        raise InputError(f"expected a gradebook at {path}, found none; grade first, or {OTHER}")
    if not path.parent.is_dir():
        raise InputError(f"expected a folder for the gradebook at {path.parent}, found none; make it, or {OTHER}")


def _begin_by_hand(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    """Take the write lock first: two graders then wait for each other, and never end up both waiting."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _check_tables(connection: Connection, shown: str, *, create: bool) -> None:
    """Look at what is there before writing anything."""
    found = set(inspect(connection).get_table_names())
    if not found and create:
        Tables.metadata.create_all(connection)
        connection.execute(insert(VersionRow).values(version=VERSION))
        return
    if VersionRow.__tablename__ not in found:
        came = f"tables of something else ({', '.join(sorted(found)[:3])})" if found else "an empty database"
        raise InputError(f"expected a gradebook at {shown}, found {came}; {OTHER}")
    version = connection.scalar(select(VersionRow.version))
    if version != VERSION:
        raise InputError(
            f"expected version {VERSION} of the gradebook at {shown}, found {version}; use the grader that wrote it"
        )
    Tables.metadata.create_all(connection)  # what was not there yet when this one was made; nothing else is touched


def _reason(error: Exception) -> str:
    """Return what the database said, without the statement and the link to documentation."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]
