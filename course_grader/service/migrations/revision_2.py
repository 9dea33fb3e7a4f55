"""Leave the number of the revision to Alembic, which writes its own table."""

from alembic import op

__all__ = ["upgrade"]

revision = "2"
down_revision = None  # what there was before migrations


def upgrade() -> None:
    """Drop the table that had the number; an older service, which looks for it, then finds the tables taken."""
    op.drop_table("service")
