"""What the service and its workers say on the standard error: a line for each event, with its time."""

import logging

__all__ = ["log_to_stderr"]


def log_to_stderr() -> None:
    """Log what this course says; of the libraries, warnings."""
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", level=logging.WARNING)
    logging.getLogger("course").setLevel(logging.INFO)
    # What goes wrong in the queue goes wrong for the worker as well, which says it in a line instead of a traceback; so
    # does a job whose end was already written down, since another worker had taken it up: asyncio would print that.
    for name in ("procrastinate", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
