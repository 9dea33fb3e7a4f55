"""Numbers of steps and seconds that callers ask for, and which of them make sense."""

from math import inf
from numbers import Integral, Real
from typing import Any

from course_lib.errors import InputError

__all__ = ["check_alone", "check_budget", "check_count"]


def check_count(name: str, value: Any, *, least: int, because: str = "") -> None:
    """Refuse what is not a whole number, or too small.

    Examples
    --------
    >>> check_count("repeats", 1, least=2, because="one sample has no spread")
    Traceback (most recent call last):
    course_lib.errors.InputError: repeats must be a whole number, at least 2, but it is 1: one sample has no spread.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        reason = f": {because}" if because else ""
        raise InputError(f"{name} must be a whole number, at least {least}, but it is {value!r}{reason}.")


def check_budget(budget_seconds: Any) -> None:
    """Refuse a time in which nothing can be measured, and one that never ends."""
    if not isinstance(budget_seconds, Real) or not 0 < float(budget_seconds) < inf:
        raise InputError(
            f"budget_seconds must be a time above 0, but it is {budget_seconds!r}. The usual is about 0.5."
        )


def check_alone(distributed: Any) -> None:
    """Refuse to measure where processes wait for each other, given ``torch.distributed``."""
    if distributed.is_available() and distributed.is_initialized() and (count := distributed.get_world_size()) > 1:
        raise InputError(
            f"a step is measured in one process, but {count} train together here: each would run as many steps as fit "
            "into its own time, and wait for the others for ever. Profile the model unwrapped in a process of its own, "
            "or record your loop with trace(...)."
        )
