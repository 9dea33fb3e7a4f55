"""Keep where each learner stands, so that a run reckons those anew who have changed."""

import sqlalchemy as sa
from alembic import op

__all__ = ["upgrade"]

revision = "3"
down_revision = "2"

PAIRS = "SELECT learner, exercise FROM attempts UNION SELECT learner, exercise FROM manual_points"
# S608 is about text from outside: all of this is written here.
EMPTY_ROWS = f"SELECT learner, exercise, 1, 0, '', 0, 0, '', '', '[]', 0, '' FROM ({PAIRS}) AS pairs"  # noqa: S608


def upgrade() -> None:
    """Add the table, with a row for each learner and exercise that is still to be reckoned."""
    collation = "C" if op.get_bind().dialect.name == "postgresql" else None
    op.create_table(
        "standings",
        sa.Column("learner", sa.Text(collation=collation), primary_key=True),
        sa.Column("exercise", sa.Text(collation=collation), primary_key=True),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("changed", "made_from")),
        sa.Column("rules", sa.Text, nullable=False),
        *(sa.Column(name, sa.Double, nullable=False) for name in ("points", "max_points")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("status", "sandbox", "said")),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
    )
    op.execute(f"INSERT INTO standings {EMPTY_ROWS}")
    op.create_index("attempts_by_key", "attempts", ["exercise", "key_hash"])
    op.create_index("attempts_by_time", "attempts", ["exercise", "graded_at"])
