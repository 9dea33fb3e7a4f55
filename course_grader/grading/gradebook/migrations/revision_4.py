"""Keep how long each test ran, so that an instructor sees which is slow; of earlier attempts it is not known."""

import sqlalchemy as sa
from alembic import op

__all__ = ["upgrade"]

revision = "4"
down_revision = "3"


def upgrade() -> None:
    """Add the column."""
    op.add_column("results", sa.Column("seconds", sa.Double))
