"""Check arguments of the profiling functions: counts, time budgets, folders, and that one process runs alone."""

import os
from math import inf
from numbers import Integral, Real
from pathlib import Path
from types import ModuleType

from course_lib.errors import InputError

__all__ = ["check_budget", "check_count", "check_single_process", "make_folder"]


def check_count(name: str, value: object, *, least: int, because: str = "") -> None:
    """Refuse a count that is not a whole number, or too small.

    Examples
    --------
    >>> check_count("repeats", 1, least=2, because="one sample has no spread")
    Traceback (most recent call last):
    course_lib.errors.InputError: repeats must be a whole number, at least 2, but it is 1: one sample has no spread.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        reason = f": {because}" if because else ""
        raise InputError(f"{name} must be a whole number, at least {least}, but it is {value!r}{reason}.")


def check_budget(budget_seconds: object) -> None:
    """Refuse a time budget that is not above 0 and finite."""
    if not isinstance(budget_seconds, Real) or not 0 < float(budget_seconds) < inf:
        raise InputError(
            f"budget_seconds must be a time above 0, but it is {budget_seconds!r}. The usual is about 0.5."
        )


def check_single_process(distributed: ModuleType) -> None:
    """Refuse to measure in distributed training, where processes wait for each other, given ``torch.distributed``."""
    if distributed.is_available() and distributed.is_initialized() and (count := distributed.get_world_size()) > 1:
        raise InputError(
            f"a step must run in one process, but {count} train together here: each would run as many steps as fit "
            "into its own time, and wait for the others for ever. Profile the model unwrapped in a process of its own, "
            "or record your loop with trace(...)."
        )


def make_folder(path: str | Path) -> Path:
    """Create a folder, and check that files can be written to it."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"folder must be a path to write traces to, but it is {path!r}. Pass one such as 'traces'.")
    folder = Path(path)
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"folder must be a folder to write traces to, but {folder} is a file. Name another.")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"folder must be a folder to write traces to, but {folder} cannot be made: {error.strerror}. Name another."
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"folder must be a folder to write traces to, but {folder} may not be written to. Name another."
        )
    return folder
