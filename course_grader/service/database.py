"""Open the service's database: the gradebook's tables, the service's, and the queue's, in one PostgreSQL."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, func, insert, inspect, select

from course_grader.grading.gradebook.database import database_url, open_database
from course_grader.service.tables import REVISION, PersonRow, RevisionRow, ServiceTables
from course_lib.errors import InputError
from course_lib.extras import load

if TYPE_CHECKING:
    from procrastinate import App

__all__ = ["COMPARE", "GRADE", "GRADE_QUEUE", "libpq_address", "make_queue", "open_service_database"]

GRADE, COMPARE, GRADE_QUEUE = "grade", "compare", "grading"  # the tasks, and the queue that they wait in
MOST_CONNECTIONS = 4
LOCK = 0x73657276  # of PostgreSQL's advisory locks; another number than the gradebook's


def open_service_database(address: str) -> Engine:
    """Open a database for the service; in an empty one, or in a gradebook, make what is missing.

    Raises
    ------
    InputError
        If it is not PostgreSQL, cannot be opened, holds something else, or was made by a newer version.
    """
    if database_url(address).get_backend_name() != "postgresql":
        raise InputError(
            f"expected postgresql://USER@HOST/DATABASE, found {address}; leave --database out, and the service brings "
            "PostgreSQL along"
        )
    engine = open_database(address)
    try:
        with engine.begin() as connection:
            _make_tables(connection)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _make_tables(connection: Connection) -> None:
    connection.execute(select(func.pg_advisory_xact_lock(LOCK)))  # a service and a worker may start at once
    found = inspect(connection).get_table_names()
    if PersonRow.__tablename__ not in found:
        ServiceTables.metadata.create_all(connection)
        connection.execute(insert(RevisionRow).values(version_num=REVISION))
        # As one string of many statements, which only psycopg's own cursor takes.
        queue_tables = importlib.import_module("procrastinate.schema").SchemaManager.get_schema()
        driver: Any = connection.connection.driver_connection
        driver.execute(queue_tables)
        return
    revision = connection.scalar(select(RevisionRow.version_num)) if RevisionRow.__tablename__ in found else None
    if revision != REVISION:
        _migrate(connection, revision)


def _migrate(connection: Connection, revision: str | None) -> None:
    """Bring older tables up to date; refuse newer ones."""
    from course_grader.grading.gradebook.migrate import Migrations  # Alembic is imported where tables are old

    migrations = Migrations(Path(__file__).parent / "migrations", RevisionRow.__tablename__)
    if revision is not None and not migrations.lead_to(revision):
        raise InputError(
            f"expected version {REVISION} of the service's tables or an older one, found {revision}, of a newer "
            "service; use that one"
        )
    migrations.take(connection)


def libpq_address(engine: Engine) -> str:
    """Return the address of a database as PostgreSQL's own programs take it, with its password."""
    return engine.url.set(drivername="postgresql").render_as_string(hide_password=False)


def make_queue(address: str, *, asynchronous: bool = False) -> "App":
    """Return the queue in the database at ``address``, as libpq takes it: for a worker, or to put jobs in."""
    procrastinate: Any = load("procrastinate", extra="serve")
    kind = procrastinate.PsycopgConnector if asynchronous else procrastinate.SyncPsycopgConnector
    # Few connections: PostgreSQL has a hundred for all workers and the web server, and a worker needs two at a time.
    app: App = procrastinate.App(connector=kind(conninfo=address, min_size=1, max_size=MOST_CONNECTIONS))
    return app
