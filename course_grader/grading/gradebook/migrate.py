"""Migrate old tables with Alembic, in the transaction that opens their database.

To change tables: change those of SQLAlchemy, write the step into a new file in ``migrations/`` beside them, with the
next number as ``revision`` and the one before it as ``down_revision``, and set ``REVISION``. A step names tables and
columns itself, since those of SQLAlchemy may change again after it. Tests compare what the steps make of the oldest
tables with new ones.
"""

from dataclasses import dataclass
from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection

__all__ = ["Migrations"]


@dataclass(frozen=True)
class Migrations:
    """The steps for the tables of one part of a database.

    Attributes
    ----------
    folder : Path
        Where the steps lie.
    table : str
        Where a database says which it has taken: a table with one column, ``version_num``, as Alembic writes it.
    """

    folder: Path
    table: str

    def lead_to(self, revision: str) -> bool:
        """Tell whether a step leads to this revision: if not, a newer version made it.

        Examples
        --------
        >>> gradebook = Migrations(Path(__file__).parent / "migrations", "alembic_version")
        >>> gradebook.lead_to("2"), gradebook.lead_to("1000")
        (True, False)
        """
        return any(step.revision == revision for step in self._list_steps(self._read(), since="base"))

    def take(self, connection: Connection) -> None:
        """Take the steps not taken yet; none of them stays if the caller's transaction fails."""
        context = MigrationContext.configure(connection, opts={"version_table": self.table})
        scripts = self._read()
        with Operations.context(context):
            for step in self._list_steps(scripts, since=context.get_current_revision() or "base"):
                step.module.upgrade()
                context.stamp(scripts, step.revision)

    def _read(self) -> ScriptDirectory:
        return ScriptDirectory(self.folder, version_locations=[self.folder])

    def _list_steps(self, scripts: ScriptDirectory, *, since: str) -> list[Script]:
        """List the steps after a revision, in their order."""
        return [*scripts.iterate_revisions("head", since)][::-1]
