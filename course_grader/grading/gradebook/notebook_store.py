"""Keep notebooks in the gradebook: compressed, one copy for the same bytes, none larger than may be handed in."""

import zlib

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from course_grader.grading.exercises.hashes import hash_notebook
from course_grader.grading.exercises.submitted_notebook import MAX_BYTES
from course_grader.grading.gradebook.sql_tables import NotebookRow

__all__ = ["keep_notebook", "load_notebook"]


def keep_notebook(session: Session, raw: bytes) -> None:
    """Keep a notebook's bytes, unless they are there; another grader may be keeping the same ones."""
    assert len(raw) <= MAX_BYTES  # read_notebook_bytes refuses larger ones
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    row = insert(NotebookRow).values(hash=hash_notebook(raw), content=zlib.compress(raw))
    session.execute(row.on_conflict_do_nothing())


def load_notebook(session: Session, notebook_hash: str) -> bytes | None:
    """Return the bytes with this hash, or None if they are not kept, or no longer what they were."""
    content = session.scalar(select(NotebookRow.content).where(NotebookRow.hash == notebook_hash))
    try:
        raw = zlib.decompressobj().decompress(content or b"", MAX_BYTES)
    except zlib.error:
        return None
    return raw if hash_notebook(raw) == notebook_hash else None
