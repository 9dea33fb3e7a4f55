"""Migrate an old gradebook with Alembic, in the transaction that opens it.

To change the tables: change ``sql_tables.py``, write the step into a new file in ``migrations/``, with the next number
as ``revision`` and the one before it as ``down_revision``, and set ``REVISION``. A step names tables and columns
itself, since those of ``sql_tables.py`` may change again after it. A test compares what the steps make of the oldest
gradebook with a new one, in both databases.
"""

from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection

__all__ = ["is_known_revision", "migrate"]

STEPS = Path(__file__).parent / "migrations"


def is_known_revision(revision: str) -> bool:
    """Tell whether a step leads to this revision: if not, a newer grader made it.

    Examples
    --------
    >>> is_known_revision("2"), is_known_revision("1000")
    (True, False)
    """
    return any(step.revision == revision for step in _list_steps(_read_steps(), since="base"))


def migrate(connection: Connection) -> None:
    """Take the steps that a gradebook has not taken yet; none of them stays if the caller's transaction fails."""
    context, scripts = MigrationContext.configure(connection), _read_steps()
    with Operations.context(context):
        for step in _list_steps(scripts, since=context.get_current_revision() or "base"):
            step.module.upgrade()
            context.stamp(scripts, step.revision)


def _read_steps() -> ScriptDirectory:
    return ScriptDirectory(STEPS, version_locations=[STEPS])


def _list_steps(scripts: ScriptDirectory, *, since: str) -> list[Script]:
    """List the steps after a revision, in their order."""
    return [*scripts.iterate_revisions("head", since)][::-1]
