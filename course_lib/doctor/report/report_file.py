"""Write a report to a file, in the form that its name ends with."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from course_lib.errors import InputError

__all__ = ["check_report_path", "write_report"]

ENDINGS = (".html", ".md", ".txt")


def check_report_path(path: object) -> Path:
    """Refuse a path for a report that cannot be one, before a loop runs for a day.

    Examples
    --------
    >>> check_report_path("run.pdf")
    Traceback (most recent call last):
    course_lib.errors.InputError: a report must be called .html, .md or .txt, but got 'run.pdf'. Choose one of these.
    """
    if not isinstance(path, (str, os.PathLike)) or Path(path).suffix not in ENDINGS:
        raise InputError(f"a report must be called .html, .md or .txt, but got {str(path)!r}. Choose one of these.")
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"a report needs a folder that is there, but {path.parent} is not. Make it, or name another.")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"a report needs a file that may be written, but {path} may not. Name another.")
    return path


def write_report(path: str | Path, forms: Mapping[str, Callable[[], str]]) -> Path:
    """Write a report in the form of its ending, and return its path."""
    path = check_report_path(path)
    try:
        path.write_text(forms[path.suffix](), encoding="utf-8")
    except OSError as error:
        raise InputError(f"the report must be written to {path}, but: {error.strerror}. Name another file.") from error
    return path
